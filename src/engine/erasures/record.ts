import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { Container } from '@azure/cosmos';
import { formatOf } from '../../base/format.ts';
import { canonical } from '../../base/json.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { readItem } from '../../cosmos/read-item.ts';
import { rewrite } from '../../cosmos/compare-and-swap.ts';
import { engineError } from '../errors.ts';

/** One tenant that is being erased, or was erased. It never has the tenant's id. */
export interface ErasureRecord {
  /** A random UUID. */
  readonly id: string;
  /** 16 random bytes in hex. */
  readonly salt: string;
  /** SHA-256 of salt and tenant, in hex. */
  readonly digest: string;
  /** When it began by the clock of the process that began it, ISO 8601 UTC. */
  readonly at: string;
  /**
   * `stopping`: some host may still apply what it read before (`stop.ts`). `removing`: none does. `erased`: a search found
   * nothing. The changes of the tenant are held back in all three.
   */
  readonly state: 'stopping' | 'removing' | 'erased';
}

interface Stored {
  readonly id: string;
  readonly pk: typeof PARTITION;
  readonly type: 'millrace.erasures';
  readonly records: readonly ErasureRecord[];
}

const PARTITION = 'erasures';
/** The bytes of all records at which no other one begins. Cosmos DB stores 2 MB. */
const MOST_BYTES = 1_000_000;

/**
 * The erasures of a pipeline: one document, changed only under its ETag, so that a host reads all of them by one point
 * read. A host may read it late, as the views (ASM-A3).
 */
export class ErasureRecords {
  readonly #state: Container;
  readonly #pipeline: string;

  constructor(state: Container, pipeline: string) {
    this.#state = state;
    this.#pipeline = pipeline;
  }

  /** @throws FormatUnreadable */
  async read(): Promise<readonly ErasureRecord[]> {
    return (await readItem<Stored>(this.#state.item(this.#pipeline, PARTITION)))?.records ?? [];
  }

  /**
   * Begins the erasure of a tenant. Resolves with its record once that is durable. A tenant that has a record keeps it.
   * `now`: milliseconds since 1970. @throws MillraceError `erasures-full`
   */
  async begin(tenant: string, now: number): Promise<ErasureRecord> {
    const records = await this.#write((stored) => {
      if (erasing(stored, tenant)) return stored;
      // One salt for all records: then a host computes one digest for each tenant, not one for each record.
      const salt = stored[0]?.salt ?? randomBytes(16).toString('hex');
      const digest = digestOf(salt, tenant);
      const at = new Date(now).toISOString();
      const more = [...stored, { id: randomUUID(), salt, digest, at, state: 'stopping' as const }];
      if (JSON.stringify(more).length > MOST_BYTES)
        throw engineError('erasures-full', `The pipeline ${this.#pipeline} has ${stored.length} records of erasures`);
      return more;
    });
    const record = erasing(records, tenant);
    if (!record) throw gone('of this tenant');
    return record;
  }

  /**
   * Changes one record. `next` gets it as it is stored, and is called again if another process was faster. Resolves with
   * the stored record. @throws MillraceError `erasure-gone`
   */
  async update(id: string, next: (record: ErasureRecord) => ErasureRecord): Promise<ErasureRecord> {
    const records = await this.#write((stored) => {
      const before = stored.find((one) => one.id === id);
      if (!before) throw gone(id);
      const after = next(before);
      return after === before ? stored : stored.map((one) => (one === before ? after : one));
    });
    const record = records.find((one) => one.id === id);
    if (!record) throw gone(id);
    return record;
  }

  /** Removes a record: the tenant comes back, and its changes are applied again. False: there was none. */
  async remove(id: string): Promise<boolean> {
    let found = false;
    await this.#write((stored) => {
      const rest = stored.filter((one) => one.id !== id);
      found = rest.length < stored.length;
      return found ? rest : stored;
    });
    return found;
  }

  async #write(
    next: (records: readonly ErasureRecord[]) => readonly ErasureRecord[],
  ): Promise<readonly ErasureRecord[]> {
    const at = { id: this.#pipeline, pk: PARTITION } as const;
    const { after } = await rewrite(this.#state, at, (stored: Stored | undefined): Stored | undefined => {
      const before = stored?.records ?? [];
      const records = next(before);
      if (records === before) return stored;
      return { ...at, type: 'millrace.erasures', ...formatOf('erasures'), records };
    });
    return after?.records ?? [];
  }
}

/** The erasures of all pipelines that have not ended. For work that knows containers, and no pipeline. */
export async function erasuresUnderWay(state: Container, signal: AbortSignal): Promise<ErasureRecord[]> {
  const found: ErasureRecord[] = [];
  const all = `SELECT * FROM c WHERE c.pk = '${PARTITION}'`;
  for await (const { records } of fetchAll<Stored>(state, all, signal, { partitionKey: PARTITION }))
    found.push(...records.filter((one) => one.state !== 'erased'));
  return found;
}

const gone = (which: string): Error => engineError('erasure-gone', `The record of the erasure ${which} was removed`);

/** How a record names a tenant. */
export const digestOf = (salt: string, tenant: string): string =>
  createHash('sha256')
    .update(canonical([salt, tenant]))
    .digest('hex');

/** The record of a tenant that is being erased, or was erased. */
export function erasing(records: readonly ErasureRecord[], tenant: string): ErasureRecord | undefined {
  const digests = new Map<string, string>();
  return records.find(({ salt, digest }) => {
    const own = digests.get(salt) ?? digestOf(salt, tenant);
    digests.set(salt, own);
    return own === digest;
  });
}
