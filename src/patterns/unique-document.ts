import type { Container, PartitionKey } from '@azure/cosmos';
import { MillraceError, UsageError } from '../base/errors.ts';
import { digest, isObject } from '../base/json.ts';
import { once } from '../base/once.ts';
import { type KeyPath, fullKey, splitPath, valueAt } from '../cosmos/paths.ts';
import { withRetry } from '../cosmos/retry.ts';
import type { Refused } from '../cosmos/transact.ts';
import { type Patched, patchWhere } from './conditional.ts';

/** A document as the application has it; of an interface, `{ ...document }`. */
export interface UniqueDocument {
  readonly id: string;
  readonly [field: string]: unknown;
}

/** Which value of which documents is unique. */
export interface UniqueRule {
  /** The documents. */
  readonly container: Container;
  /** Of the constraint: letters, digits and _; part of what is stored. */
  readonly name: string;
  /** Of the value, such as `/email`; text that isn't empty, and no part of the key. */
  readonly path: string;
  /** What counts as the same value, such as `value => value.toLowerCase()`. Must never change. Default: the text itself. */
  readonly normalize?: (value: string) => string;
}

export interface Unique {
  /**
   * Creates a document, or throws without any effect.
   * @throws MillraceError `value-taken`, `document-exists`; UsageError `unique-value-invalid`
   */
  create(document: UniqueDocument): Promise<void>;
  /**
   * Gives a document another value. Its other fields are the application's, by patch, or by a replacement that takes the
   * field `uniqueness` along.
   * @throws MillraceError `value-taken`, `document-missing`, retryable `document-changing`; UsageError `unique-value-invalid`
   */
  change(id: string, key: PartitionKey, value: string): Promise<void>;
  /**
   * Deletes a document and frees its value. Documents must not be deleted in any other way, nor expire. Resolves too where
   * another has deleted it since it was read.
   * @throws MillraceError `document-missing`, retryable `document-changing`
   */
  delete(id: string, key: PartitionKey): Promise<void>;
}

/** What `uniqueness` holds of one constraint. */
export interface Mark {
  /** Of the reservation of the document's value. */
  readonly token: string;
  readonly pending?: Pending;
}

/** What has begun: with `change`, the value before and its reservation's token. */
export type Pending =
  | { readonly kind: 'create' }
  | { readonly kind: 'delete' }
  | { readonly kind: 'change'; readonly value: string; readonly token: string };

export const FIELD = 'uniqueness';

/** The documents of a constraint: how they are read, and where their value and their mark are. */
export class UniqueDocuments {
  readonly container: Container;
  readonly name: string;
  readonly path: string;
  readonly #steps: KeyPath;
  readonly #normalize: (value: string) => string;

  /** @throws UsageError `unique-rule-invalid` */
  constructor({ container, name, path, normalize = (value) => value }: UniqueRule) {
    if (!/^[A-Za-z][A-Za-z0-9_]{0,49}$/.test(name))
      throw invalid(`${JSON.stringify(name)} is no name of a constraint`, 'Use up to 50 letters, digits and _.');
    if (!/^(\/[A-Za-z_][A-Za-z0-9_]*)+$/.test(path) || path === '/id')
      throw invalid(
        `${JSON.stringify(path)} is no path of a unique value`,
        'Write it as /email; ids are unique anyway.',
      );
    this.container = container;
    this.name = name;
    this.path = path;
    this.#steps = splitPath(path);
    this.#normalize = normalize;
  }

  /** @throws UsageError `unique-value-invalid` */
  valueOf(document: unknown): string {
    return this.checked(valueAt(document, this.#steps));
  }

  checked(value: unknown): string {
    if (typeof value === 'string' && this.#normalize(value) !== '') return value;
    throw new UsageError('unique-value-invalid', `${JSON.stringify(value)} at ${this.path} can't be unique`, {
      mend: 'Give text that is not empty.',
    });
  }

  /** Of the document that stands for a value. */
  reservationId(value: string): string {
    return digest([this.name, this.#normalize(value)]);
  }

  sameValue(a: string, b: string): boolean {
    return this.#normalize(a) === this.#normalize(b);
  }

  markOf(document: unknown): Mark | undefined {
    const mark = valueAt(document, [FIELD, this.name]);
    return isObject(mark) && typeof mark['token'] === 'string' ? (mark as unknown as Mark) : undefined;
  }

  marked<T extends UniqueDocument>(document: T, mark: Mark): T {
    const others = isObject(document[FIELD]) ? document[FIELD] : {};
    return { ...document, [FIELD]: { ...others, [this.name]: mark } };
  }

  /** The full key of a document that isn't stored yet. */
  async keyOf(document: UniqueDocument): Promise<(string | number | boolean | null)[]> {
    const keyed = fullKey(document, await this.keyPaths());
    if ('key' in keyed) return keyed.key;
    throw new UsageError('document-key-missing', `The document has no value at ${keyed.missing}, part of its key`, {
      mend: `Give it ${keyed.missing.slice(1)}.`,
    });
  }

  readonly keyPaths = once(async (): Promise<readonly KeyPath[]> => {
    const { resource } = await withRetry(() => this.container.read(), { reads: true });
    const paths = (resource?.partitionKey?.paths ?? []).map(splitPath);
    if (!paths.some((path) => path.join('/') === this.#steps.join('/'))) return paths;
    throw invalid(`${this.path} is part of the key of ${this.container.id}, and can't change`, 'Name another value.');
  });

  async read(id: string, key: PartitionKey): Promise<UniqueDocument | undefined> {
    const { resource } = await withRetry(() => this.container.item(id, key).read<UniqueDocument>(), { reads: true });
    return resource;
  }

  /**
   * A document with its mark, as old as a read may be; with `present` as it is now, which costs a write. That it isn't
   * there, or has no mark, is said by a write alone.
   * @throws MillraceError `document-missing`; `document-unmarked` where this constraint never made it
   */
  async readMarked(id: string, key: PartitionKey, present: boolean) {
    const read = present ? undefined : await this.read(id, key);
    const document = this.markOf(read) ? read : await this.#present(id, key);
    const mark = this.markOf(document);
    if (document && mark) return { document, mark, value: this.valueOf(document) };
    throw new MillraceError('document-unmarked', `${this.container.id}/${id} has no ${FIELD}.${this.name}`, {
      mend: `Create documents by the constraint ${this.name}, and keep their field ${FIELD} when you replace them.`,
    });
  }

  /** Whether a document has a token now, and is pending as given: asked by a patch that changes nothing. */
  ask(id: string, key: PartitionKey, token: string, pending?: Pending['kind']): Promise<Patched<UniqueDocument>> {
    const operation = { op: 'set' as const, path: `/${FIELD}/${this.name}/token`, value: token };
    const where = pending
      ? `${this.isPending(token)} AND ${this.#mark}["pending"]["kind"] = "${pending}"`
      : this.hasToken(token);
    return patchWhere(this.container.item(id, key), where, [operation]);
  }

  /** The document as it is now; undefined where it has no mark. The trace that this leaves goes with the next mark. */
  async #present(id: string, key: PartitionKey): Promise<UniqueDocument | undefined> {
    const operation = { op: 'set' as const, path: `/${FIELD}/${this.name}/asked`, value: true };
    const where = `IS_DEFINED(${this.#mark}["token"])`;
    const patched = await patchWhere<UniqueDocument>(this.container.item(id, key), where, [operation]);
    if ('done' in patched) return patched.done;
    if (patched.refused === 'precondition') return undefined;
    throw new MillraceError('document-missing', `${this.container.id} has no document ${id}`);
  }

  taken(value: string, why = 'belongs to another document', retryable = false): MillraceError {
    const mend = retryable ? 'Ask again in a moment.' : 'Choose another value.';
    return new MillraceError('value-taken', `${this.name} ${JSON.stringify(value)} ${why}`, { retryable, mend });
  }

  /** A patch condition; tokens are UUIDs, so nothing needs to be quoted. */
  hasToken(token: string): string {
    return `${this.#mark}["token"] = "${token}"`;
  }

  isPending(token: string): string {
    return `${this.hasToken(token)} AND IS_DEFINED(${this.#mark}["pending"])`;
  }

  isSettled(token: string): string {
    return `${this.hasToken(token)} AND NOT IS_DEFINED(${this.#mark}["pending"])`;
  }

  /** Text as it is, not normalised. */
  says(value: string): string {
    return `c${this.#steps.map((step) => `["${step}"]`).join('')} = ${JSON.stringify(value)}`;
  }

  get #mark(): string {
    return `c["${FIELD}"]["${this.name}"]`;
  }
}

const invalid = (message: string, mend: string): UsageError => new UsageError('unique-rule-invalid', message, { mend });

export const changing = (id: string): MillraceError =>
  new MillraceError('document-changing', `Somebody else is changing or deleting ${id}`, {
    retryable: true,
    mend: 'Read it again and decide anew.',
  });

export const refusedBatch = (cause: Refused): MillraceError =>
  new MillraceError('document-refused', `Cosmos DB refused the transaction with ${cause.code}`, {
    cause,
    mend: 'Check the size of the document, its id, and the rights of the identity.',
  });
