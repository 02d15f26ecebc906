import { randomUUID } from 'node:crypto';
import type { Container } from '@azure/cosmos';
import { failureOf } from '../cosmos/failure.ts';
import { withRetry } from '../cosmos/retry.ts';
import type { Change } from '../feed/change.ts';

/** Where a letter's change is: in the letter, or, where it is larger, in documents beside it. */
export interface Kept {
  readonly change?: Change;
  readonly parts?: { readonly name: string; readonly count: number };
}

/** Characters of JSON up to which a change is kept in its letter: Cosmos DB takes 2 MB of UTF-8. */
const IN_LETTER = 500_000;
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

  constructor(state: Container) {
    this.#state = state;
  }

  /** Resolves when the change is durable but for what goes into the letter. */
  async put(pk: string, change: Change): Promise<Kept> {
    const text = JSON.stringify(change);
    if (text.length <= IN_LETTER) return { change };
    const bytes = Buffer.from(text, 'utf8');
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

  /** Undefined where nothing is kept, or somebody took a part away. */
  async get(pk: string, { change, parts }: Kept): Promise<Change | undefined> {
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
  async remove(pk: string, { parts }: Kept): Promise<void> {
    for (let n = 0; n < (parts?.count ?? 0); n++) {
      const item = this.#state.item(partId(parts?.name ?? '', n), pk);
      await withRetry(() => item.delete(), { reads: true }).catch((error: unknown) => {
        if (failureOf(error).kind !== 'not-found') throw error;
      });
    }
  }
}

const partId = (name: string, n: number): string => `${name}.${n}`;
