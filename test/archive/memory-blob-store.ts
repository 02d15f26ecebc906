import { setImmediate as turn } from 'node:timers/promises';
import type { ErasableStore, HoldingStore, StoredBlob } from '../../src/access/blob-store.ts';
import { Crash, type Zombies } from '../kinds/history.ts';
import type { Random } from '../support/random.ts';

/** Blobs in memory, as consistent as Blob Storage is. */
export class MemoryBlobStore implements HoldingStore {
  readonly blobs = new Map<string, StoredBlob>();
  /** Blobs under a legal hold. */
  readonly held = new Set<string>();
  /** Blobs that are kept until a time, milliseconds. */
  readonly retained = new Map<string, { readonly until: number; readonly locked: boolean }>();
  #etag = 0;

  async put(name: string, bytes: Uint8Array, ifMatch: string | null): Promise<boolean> {
    await turn();
    if (this.held.has(name) || this.#isRetained(name, Date.now())) return false;
    if ((this.blobs.get(name)?.etag ?? null) !== ifMatch) return false;
    this.blobs.set(name, { bytes, etag: `"${(this.#etag += 1)}"` });
    return true;
  }

  async read(name: string): Promise<StoredBlob | undefined> {
    await turn();
    return this.blobs.get(name);
  }

  async *list(prefix: string): AsyncGenerator<string> {
    for (const name of [...this.blobs.keys()].toSorted()) {
      await turn();
      if (name.startsWith(prefix) && this.blobs.has(name)) yield name;
    }
  }

  listEver = (prefix: string): AsyncIterable<string> => this.list(prefix);

  readEver = (name: string): Promise<StoredBlob | undefined> => this.read(name);

  async hold(name: string, held: boolean): Promise<boolean> {
    await turn();
    if (!this.blobs.has(name)) return false;
    if (held) this.held.add(name);
    else this.held.delete(name);
    return true;
  }

  async canHold(): Promise<boolean> {
    await turn();
    return true;
  }

  async *listHeld(prefix: string): AsyncGenerator<string> {
    for await (const name of this.list(prefix)) if (this.held.has(name)) yield name;
  }

  async retain(name: string, until: Date, locked: boolean): Promise<void> {
    await turn();
    const known = this.retained.get(name);
    if (known?.locked && known.until > until.getTime()) throw new Error('a locked time can only become longer');
    this.retained.set(name, { until: until.getTime(), locked });
  }

  async *listRetained(prefix: string, now: number): AsyncGenerator<string> {
    for await (const name of this.list(prefix)) if (this.#isRetained(name, now)) yield name;
  }

  #isRetained(name: string, now: number): boolean {
    return (this.retained.get(name)?.until ?? 0) > now;
  }

  async remove(name: string): Promise<'removed' | 'held'> {
    await turn();
    if (this.held.has(name) || this.#isRetained(name, Date.now())) return 'held';
    this.blobs.delete(name);
    return 'removed';
  }
}

/** Crashes and long sleeps between any two calls, uploads torn by a crash, and answers that were lost. */
export function faultyStore(inner: ErasableStore, random: Random, zombies: Zombies): ErasableStore {
  const point = async (): Promise<void> => {
    for (let turns = random.int(3); turns > 0; turns--) await turn();
    if (random.chance(0.03)) throw new Crash('crashed');
    if (random.chance(0.04)) await zombies.sleep();
  };
  return {
    list: (prefix) => inner.list(prefix),
    listEver: (prefix) => inner.listEver(prefix),
    readEver: (name) => inner.readEver(name),
    remove: async (name) => {
      await point();
      const outcome = await inner.remove(name);
      await point();
      return outcome;
    },
    read: async (name) => {
      await point();
      return inner.read(name);
    },
    put: async (name, bytes, ifMatch) => {
      await point();
      // A manifest is one request; only a staged upload can be cut off.
      if (name.endsWith('.gz') && random.chance(0.05)) {
        await inner.put(name, bytes.subarray(0, bytes.length >> 1), ifMatch);
        throw new Crash('crashed');
      }
      const done = await inner.put(name, bytes, ifMatch);
      await point();
      return done && !random.chance(0.05);
    },
  };
}
