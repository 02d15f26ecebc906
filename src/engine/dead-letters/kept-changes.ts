import { randomUUID } from 'node:crypto';
import type { Container } from '@azure/cosmos';
import { failureOf } from '../../cosmos/failure.ts';
import { withRetry } from '../../cosmos/retry.ts';
import type { Change } from '../../feed/reading/change.ts';
import { type LetterBodies, LetterBodyDamaged } from './letter-bodies.ts';

/** Where a letter's change is: in the letter, or, where it is larger, in documents beside it, or in a blob. */
export interface Kept {
  readonly change?: Change;
  readonly parts?: { readonly name: string; readonly count: number };
  readonly blob?: string;
}

/** Characters of JSON up to which a change is kept in its letter: Cosmos DB takes 2 MB of UTF-8. */
const IN_LETTER = 500_000;
/** Bytes from which on a blob holds it, where there is a storage account. */
const IN_BLOB = 1_000_000;
/** Bytes of a part, which are a third more as base64. */
const PART = 1_000_000;

interface Part {
  readonly id: string;
  readonly pk: string;
  readonly kind: 'dead-letter-part';
  /** Base64. */
  readonly bytes: string;
}

/**
 * The changes that dead letters keep, of whatever size: nobody could be asked for them again. Parts are written before
 * their letter and have a name of their own for every writer, so whoever takes one letter away takes no other's parts. A
 * crash in between leaves parts that no letter names, and never a letter without its parts.
 */
export class KeptChanges {
  readonly #state: Container;
  readonly #bodies: LetterBodies | undefined;

  constructor(state: Container, bodies?: LetterBodies) {
    this.#state = state;
    this.#bodies = bodies;
  }

  /** Resolves when the change is durable but for what goes into the letter. */
  async put(pk: string, change: Change): Promise<Kept> {
    const text = JSON.stringify(change);
    if (text.length <= IN_LETTER) return { change };
    const bytes = Buffer.from(text, 'utf8');
    // A storage account that is away must not hold a feed up.
    const blob = bytes.length > IN_BLOB ? await this.#bodies?.put(text).catch(() => undefined) : undefined;
    if (blob !== undefined) return { blob };
    const parts = { name: randomUUID(), count: Math.ceil(bytes.length / PART) };
    for (let n = 0; n < parts.count; n++) {
      const part: Part = {
        id: partId(parts.name, n),
        pk,
        kind: 'dead-letter-part',
        bytes: bytes.toString('base64', n * PART, (n + 1) * PART),
      };
      await withRetry(() => this.#state.items.upsert(part), { reads: true });
    }
    return { parts };
  }

  /** Undefined where nothing is kept, or somebody took a part away. @throws LetterBodyDamaged */
  async get(pk: string, { change, parts, blob }: Kept): Promise<Change | undefined> {
    if (blob !== undefined) {
      const text = await this.#bodies?.read(blob);
      return text === undefined ? undefined : parse(blob, text);
    }
    if (!parts) return change;
    const read: Buffer[] = [];
    for (let n = 0; n < parts.count; n++) {
      const item = this.#state.item(partId(parts.name, n), pk);
      const { resource } = await withRetry(() => item.read<Part>(), { reads: true });
      if (!resource) return undefined;
      read.push(Buffer.from(resource.bytes, 'base64'));
    }
    return JSON.parse(Buffer.concat(read).toString('utf8')) as Change;
  }

  /** For when no letter names them any more. */
  async remove(pk: string, { parts, blob }: Kept): Promise<void> {
    // One that is left behind does no harm.
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
  try {
    return JSON.parse(text) as Change;
  } catch (error) {
    throw new LetterBodyDamaged(blob, 'it holds no JSON', error);
  }
}

const partId = (name: string, n: number): string => `${name}.${n}`;
