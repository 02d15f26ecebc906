import { randomUUID } from 'node:crypto';
import { assertFormat, formatOf } from '../../base/format.ts';
import type { Container } from '@azure/cosmos';
import { failureOf } from '../../cosmos/failure.ts';
import { readItem } from '../../cosmos/read-item.ts';
import { withRetry } from '../../cosmos/retry.ts';
import type { Change } from '../../feed/reading/change.ts';
import { type LetterBodies, LetterBodyDamaged } from './letter-bodies.ts';

/** Where a dead letter's change is stored: in the letter, or if it is larger in documents beside it, or in a blob. */
export interface Kept {
  readonly change?: Change;
  readonly parts?: { readonly name: string; readonly count: number };
  readonly blob?: string;
}

/** The most characters of JSON for a change in its letter: Cosmos DB accepts 2 MB of UTF-8. */
const IN_LETTER = 500_000;
/** A change of more bytes goes to a blob, if there is a storage account. */
const IN_BLOB = 1_000_000;
/** Bytes of a part; base64 adds a third. */
const PART = 1_000_000;

interface LetterPart {
  readonly id: string;
  readonly pk: string;
  readonly kind: 'dead-letter-part';
  /** Base64. */
  readonly bytes: string;
}

/**
 * Stores the changes of dead letters that no source can deliver again, of any size. Parts are written before their letter.
 * Every writer gives its parts a new name, so that removing a letter never removes the parts of another. A crash may leave
 * parts without a letter, but never a letter without its parts.
 */
export class KeptChanges {
  readonly #state: Container;
  readonly #bodies: LetterBodies | undefined;

  constructor(state: Container, bodies?: LetterBodies) {
    this.#state = state;
    this.#bodies = bodies;
  }

  /** Resolves when the parts or the blob are durable. The caller stores the result in the letter. */
  async put(pk: string, change: Change): Promise<Kept> {
    const text = JSON.stringify(change);
    if (text.length <= IN_LETTER) return { change };
    const bytes = Buffer.from(text, 'utf8');
    // A storage account that is down must not stop a feed.
    const blob =
      bytes.length > IN_BLOB
        ? await this.#bodies?.put(JSON.stringify({ ...change, ...formatOf('letterBody') })).catch(() => undefined)
        : undefined;
    if (blob !== undefined) return { blob };
    const parts = { name: randomUUID(), count: Math.ceil(bytes.length / PART) };
    for (let n = 0; n < parts.count; n++) {
      const part: LetterPart = {
        id: partId(parts.name, n),
        pk,
        kind: 'dead-letter-part',
        ...formatOf('deadLetter'),
        bytes: bytes.toString('base64', n * PART, (n + 1) * PART),
      };
      await withRetry(() => this.#state.items.upsert(part), { reads: true });
    }
    return { parts };
  }

  /** Writes the parts of a change into another state container too. A blob is reached from everywhere. */
  async copyTo(other: Container, pk: string, { parts }: Kept): Promise<void> {
    for (let n = 0; n < (parts?.count ?? 0); n++) {
      const part = await readItem<LetterPart>(this.#state.item(partId(parts?.name ?? '', n), pk));
      if (part) await withRetry(() => other.items.upsert(part), { reads: true });
    }
  }

  /** Undefined if there is no stored change, or if a part is missing. @throws LetterBodyDamaged */
  async get(pk: string, { change, parts, blob }: Kept): Promise<Change | undefined> {
    if (blob !== undefined) {
      const text = await this.#bodies?.read(blob);
      return text === undefined ? undefined : parse(blob, text);
    }
    if (!parts) return change;
    const read: Buffer[] = [];
    for (let n = 0; n < parts.count; n++) {
      const item = this.#state.item(partId(parts.name, n), pk);
      const part = await readItem<LetterPart>(item);
      if (!part) return undefined;
      read.push(Buffer.from(part.bytes, 'base64'));
    }
    return JSON.parse(Buffer.concat(read).toString('utf8')) as Change;
  }

  /** Call it when no letter refers to them any more. */
  async remove(pk: string, { parts, blob }: Kept): Promise<void> {
    // A blob that is left behind does no harm.
    if (blob !== undefined) await this.#bodies?.remove(blob).catch(() => undefined);
    for (let n = 0; n < (parts?.count ?? 0); n++) {
      const item = this.#state.item(partId(parts?.name ?? '', n), pk);
      await withRetry(() => item.delete(), { reads: true }).catch((error: unknown) => {
        if (failureOf(error).kind !== 'not-found') throw error;
      });
    }
  }
}

function parse(blob: string, text: string): Change {
  let change: Change & { readonly format?: number };
  try {
    change = JSON.parse(text) as typeof change;
  } catch (error) {
    throw new LetterBodyDamaged(blob, 'it is not valid JSON', error);
  }
  assertFormat('letterBody', change.format, blob);
  return change;
}

const partId = (name: string, n: number): string => `${name}.${n}`;
