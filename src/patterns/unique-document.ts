import type { Container, PartitionKey } from '@azure/cosmos';
import type { MillraceError, UsageError } from '../base/errors.ts';
import { assertFormat, formatOf } from '../base/format.ts';
import { digest, isObject } from '../base/json.ts';
import { once } from '../base/once.ts';
import { type KeyPath, fullKey, splitPath, valueAtPath } from '../cosmos/paths.ts';
import { withRetry } from '../cosmos/retry.ts';
import type { Refused } from '../cosmos/transact.ts';
import { type Patched, patchWhere } from './conditional.ts';
import { patternsError } from './errors.ts';
import { sharedError } from '../base/shared-errors.ts';

/** A document of the application; if its type is an interface, pass `{ ...document }`. */
export interface UniqueDocument {
  readonly id: string;
  readonly [field: string]: unknown;
}

/** Which value of which documents is unique. */
export interface UniqueRule {
  /** The container of the documents. */
  readonly container: Container;
  /** The constraint's name: letters, digits and _. It is part of the stored documents. */
  readonly name: string;
  /** The path of the value, such as `/email`. The value is text that isn't empty, and no part of the partition key. */
  readonly path: string;
  /** Values with one result are equal: `value => value.toLowerCase()`. Must never change. Default: the text itself. */
  readonly normalize?: (value: string) => string;
}

export interface Unique {
  /**
   * Creates a document, or throws without any effect.
   * @throws MillraceError `value-taken`, `exists`; UsageError `option-invalid`
   */
  create(document: UniqueDocument): Promise<void>;
  /**
   * Gives a document another value. The application changes its other fields, by patch or by a replacement that keeps
   * the field `uniqueness`.
   * @throws MillraceError `value-taken`, `not-found`, retryable `contended`; UsageError `option-invalid`
   */
  change(id: string, key: PartitionKey, value: string): Promise<void>;
  /**
   * Deletes a document and frees its value. Documents must not be deleted in any other way, and must not expire. Also
   * resolves if another writer has deleted the document meanwhile.
   * @throws MillraceError `not-found`, retryable `contended`
   */
  delete(id: string, key: PartitionKey): Promise<void>;
}

/** The entry of one constraint in the field `uniqueness`. */
export interface Mark {
  /** The token of the reservation of the document's value. */
  readonly token: string;
  readonly pending?: Pending;
}

/** Work that has begun; for `change` with the former value and the token of its reservation. */
export type Pending =
  | { readonly kind: 'create' }
  | { readonly kind: 'delete' }
  | { readonly kind: 'change'; readonly value: string; readonly token: string };

export const FIELD = 'uniqueness';

/** Reads the documents of a constraint, and finds their value and their mark. */
export class UniqueDocuments {
  readonly container: Container;
  readonly name: string;
  readonly path: string;
  readonly #steps: KeyPath;
  readonly #normalize: (value: string) => string;

  /** @throws UsageError `option-invalid` */
  constructor({ container, name, path, normalize = (value) => value }: UniqueRule) {
    if (!/^[A-Za-z][A-Za-z0-9_]{0,49}$/.test(name))
      throw invalid(
        `${JSON.stringify(name)} is not a valid name of a constraint`,
        'Use up to 50 letters, digits and _; begin with a letter.',
      );
    if (!/^(\/[A-Za-z_][A-Za-z0-9_]*)+$/.test(path) || path === '/id')
      throw invalid(
        `${JSON.stringify(path)} can't be the path of a unique value`,
        'Give a path such as /email. Ids are unique without a constraint.',
      );
    this.container = container;
    this.name = name;
    this.path = path;
    this.#steps = splitPath(path);
    this.#normalize = normalize;
  }

  /** @throws UsageError `option-invalid` */
  valueOf(document: unknown): string {
    return this.checked(valueAtPath(document, this.#steps));
  }

  checked(value: unknown): string {
    if (typeof value === 'string' && this.#normalize(value) !== '') return value;
    throw sharedError('option-invalid', `The value at ${this.path} is ${JSON.stringify(value)}`);
  }

  /** The id of the reservation of a value. */
  reservationId(value: string): string {
    return digest([this.name, this.#normalize(value)]);
  }

  sameValue(a: string, b: string): boolean {
    return this.#normalize(a) === this.#normalize(b);
  }

  markOf(document: unknown): Mark | undefined {
    const mark = valueAtPath(document, [FIELD, this.name]);
    if (!isObject(mark) || typeof mark['token'] !== 'string') return undefined;
    assertFormat('uniqueness', mark['format'], this.name);
    return mark as unknown as Mark;
  }

  marked<T extends UniqueDocument>(document: T, mark: Mark): T {
    const others = isObject(document[FIELD]) ? document[FIELD] : {};
    return { ...document, [FIELD]: { ...others, [this.name]: { ...mark, ...formatOf('uniqueness') } } };
  }

  /** The full partition key of a document that isn't stored yet. */
  async keyOf(document: UniqueDocument): Promise<(string | number | boolean | null)[]> {
    const keyed = fullKey(document, await this.keyPaths());
    if ('key' in keyed) return keyed.key;
    const what = `The document has no value at ${keyed.missing}, which is part of its partition key`;
    throw sharedError('option-invalid', what, { hint: 'Give the document every field of the partition key.' });
  }

  readonly keyPaths = once(async (): Promise<readonly KeyPath[]> => {
    const { resource } = await withRetry(() => this.container.read(), { reads: true });
    const paths = (resource?.partitionKey?.paths ?? []).map(splitPath);
    if (!paths.some((path) => path.join('/') === this.#steps.join('/'))) return paths;
    throw invalid(
      `${this.path} is part of the partition key of ${this.container.id} and can't change`,
      'Name another field.',
    );
  });

  async read(id: string, key: PartitionKey): Promise<UniqueDocument | undefined> {
    const { resource } = await withRetry(() => this.container.item(id, key).read<UniqueDocument>(), { reads: true });
    return resource;
  }

  /**
   * A document with its mark. The read may be stale; with `present` it returns the current document, which costs a
   * write. If the read finds no document or no mark, it writes too, since only a write is sure.
   * @throws MillraceError `not-found`; `document-unmarked` if this constraint did not create the document
   */
  async readMarked(id: string, key: PartitionKey, present: boolean) {
    const read = present ? undefined : await this.read(id, key);
    const document = this.markOf(read) ? read : await this.#present(id, key);
    const mark = this.markOf(document);
    if (document && mark) return { document, mark, value: this.valueOf(document) };
    throw patternsError('document-unmarked', `${this.container.id}/${id} has no ${FIELD}.${this.name}`, {
      hint: `Create documents with the constraint ${this.name}, and keep their field ${FIELD} when you replace them.`,
    });
  }

  /** Asks, by a patch that changes nothing, whether a document has a token now, and is pending with that kind. */
  ask(id: string, key: PartitionKey, token: string, pending?: Pending['kind']): Promise<Patched<UniqueDocument>> {
    const operation = { op: 'set' as const, path: `/${FIELD}/${this.name}/token`, value: token };
    const where = pending ? this.isPending(token, pending) : this.hasToken(token);
    return patchWhere(this.container.item(id, key), where, [operation]);
  }

  /** The current document; undefined if it has no mark. Sets a field `asked` in the mark; the next mark removes it. */
  async #present(id: string, key: PartitionKey): Promise<UniqueDocument | undefined> {
    const operation = { op: 'set' as const, path: `/${FIELD}/${this.name}/asked`, value: true };
    const where = `IS_DEFINED(${this.#mark}["token"])`;
    const patched = await patchWhere<UniqueDocument>(this.container.item(id, key), where, [operation]);
    if ('done' in patched) return patched.done;
    if (patched.refused === 'precondition') return undefined;
    throw sharedError('not-found', `${this.container.id} has no document ${id}`, {
      hint: 'Check the id and the partition key. Another process may have deleted the document.',
    });
  }

  taken(value: string, why = 'belongs to another document', retryable = false): MillraceError {
    const hint = retryable ? 'Repeat the call in a moment.' : 'Choose another value.';
    return patternsError('value-taken', `${this.name} ${JSON.stringify(value)} ${why}`, { retryable, hint });
  }

  /** A patch condition; tokens are UUIDs, so nothing needs to be quoted. */
  hasToken(token: string): string {
    return `${this.#mark}["token"] = "${token}"`;
  }

  /** A deletion goes on with the token that a creation or a change has left, so the token alone doesn't say what is pending. */
  isPending(token: string, kind: Pending['kind']): string {
    return `${this.hasToken(token)} AND ${this.#mark}["pending"]["kind"] = "${kind}"`;
  }

  isSettled(token: string): string {
    return `${this.hasToken(token)} AND NOT IS_DEFINED(${this.#mark}["pending"])`;
  }

  /** A condition on the value itself, not normalised. */
  says(value: string): string {
    return `c${this.#steps.map((step) => `["${step}"]`).join('')} = ${JSON.stringify(value)}`;
  }

  get #mark(): string {
    return `c["${FIELD}"]["${this.name}"]`;
  }
}

const invalid = (message: string, hint: string): UsageError => sharedError('option-invalid', message, { hint });

export const changing = (id: string): MillraceError =>
  sharedError('contended', `Another writer is changing or deleting ${id}`, {
    hint: 'Read the document again, and repeat the call if it is still right.',
  });

export const refusedBatch = (cause: Refused): MillraceError =>
  sharedError('document-refused', `Cosmos DB refused the transactional batch with ${cause.code}`, {
    cause,
    hint: 'Check the size of the document, its id, and the rights of the identity.',
  });
