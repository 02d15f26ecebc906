// What the keys of a shard have: documents and bytes by the shard, and RU by what hosts report.
import type { Database } from '@azure/cosmos';
import { UsageError } from '../../../base/errors.ts';
import { fetchAll } from '../../../cosmos/fetch-all.ts';
import { mapSettled } from '../../../base/map-settled.ts';
import { keyJson } from '../../../shards/keys/key-type.ts';
import type { ShardMap } from '../../../shards/index.ts';
import { SAMPLE, countsBy, sampledBytes } from '../../tenants/sizes.ts';
import { codeOf, propertyOf } from '../moving/keyed-part.ts';
import { definitionOf } from '../moving/side.ts';

export interface MeasuredKey {
  readonly code: string;
  readonly documents: number;
  /** Estimated from documents that were read. */
  readonly bytes: number;
  /** The containers in which the key is one logical partition, with its bytes there. */
  readonly partitions: readonly { readonly container: string; readonly bytes: number }[];
}

export interface MeasuredShard {
  /** In the order of their codes. */
  readonly keys: readonly MeasuredKey[];
  /** Documents of the sharded containers that have no key of the map's type. */
  readonly withoutKey: number;
  /** Sharded containers that the database doesn't have. */
  readonly missing: readonly string[];
  /** Parts of keys that were estimated by the mean of the keys with the most documents. */
  readonly byMean: number;
}

/** Keys of a container of which documents are read, those with the most. */
const READ_KEYS = 100;
const AT_ONCE = 8;

export async function measureShard(
  map: Pick<ShardMap, 'keyType' | 'schema'>,
  database: Database,
  { signal, most = READ_KEYS }: { readonly signal: AbortSignal; readonly most?: number },
): Promise<MeasuredShard> {
  const all = new Map<
    string,
    { documents: number; bytes: number; partitions: { container: string; bytes: number }[] }
  >();
  let [withoutKey, byMean] = [0, 0];
  const missing: string[] = [];
  for (const [name, path] of Object.entries(map.schema.sharded)) {
    const container = database.container(name);
    const found = await definitionOf(container).catch((error: unknown) => {
      if (error instanceof UsageError && error.code === 'container-missing') return undefined;
      throw error;
    });
    if (!found) {
      missing.push(name);
      continue;
    }
    const property = propertyOf(path);
    const counts = new Map<string, number>();
    for await (const { found: value, documents } of countsBy(container, property, signal)) {
      const code = codeOf(map, value);
      if (code === undefined) withoutKey += documents;
      else counts.set(code, documents);
    }
    const isPartition = found.side.keyPaths.length === 1;
    const largest = [...counts].toSorted(([, a], [, b]) => b - a).slice(0, most);
    const read = await mapSettled(
      largest,
      async ([code, documents]) => {
        const key = keyJson(map.keyType, code);
        const query = {
          query: `SELECT TOP ${SAMPLE} * FROM c WHERE ${property} = @key`,
          parameters: [{ name: '@key', value: key }],
        };
        const within = isPartition ? { partitionKey: key } : {};
        const some = fetchAll<object>(container, query, signal, { ...within, anyFormat: true });
        return [code, documents * (await sampledBytes(some)).mean] as const;
      },
      { concurrency: AT_ONCE },
    );
    const sizes = new Map(read);
    const mean = sum(sizes.values()) / Math.max(1, sum(largest.map(([, documents]) => documents)));
    for (const [code, documents] of counts) {
      const own = sizes.get(code);
      if (own === undefined) byMean += 1;
      const bytes = Math.round(own ?? documents * mean);
      const key = all.get(code) ?? { documents: 0, bytes: 0, partitions: [] };
      all.set(code, {
        documents: key.documents + documents,
        bytes: key.bytes + bytes,
        partitions: isPartition ? [...key.partitions, { container: name, bytes }] : key.partitions,
      });
    }
  }
  const keys = [...all].map(([code, key]) => ({ code, ...key })).toSorted((a, b) => (a.code < b.code ? -1 : 1));
  return { keys, withoutKey, byMean, missing };
}

const sum = (numbers: Iterable<number>): number => [...numbers].reduce((all, one) => all + one, 0);
