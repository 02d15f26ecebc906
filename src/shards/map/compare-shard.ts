import { MillraceError } from '../../base/errors.ts';
import { type MapDifference, mapDifferencesOf } from './differences.ts';
import type { MapHeader, OperationDocument } from './documents.ts';
import { assertFacts, unfitIn } from './forms.ts';
import type { Whole } from './header-guarded-partition.ts';
import { type LocalMaps, lost } from './local-maps.ts';
import { type MapPlan, type Operations, operationsOf } from './operations.ts';
import { shardIn } from './plans.ts';

interface Comparing {
  readonly header: MapHeader;
  readonly operations: Operations;
  readonly locals: LocalMaps;
  readonly whole: () => Promise<Whole<MapHeader>>;
  /** Runs an operation on the map. */
  readonly run: (plan: () => MapPlan) => Promise<Pick<OperationDocument, 'at'>>;
}

/** Compares the map with the local map of a shard, within an operation that changes nothing. docs/SPEC-shards.md */
export async function compareShard(
  shard: string,
  { header: map, operations, locals, whole: read, run }: Comparing,
): Promise<MapDifference[]> {
  const lostAs = async (why: string): Promise<MapDifference[]> => [
    { shard, lost: why, stored: { generation: (await read()).header.generation } },
  ];
  for (;;) {
    const document = shardIn(await operations.settled(), shard);
    if (!document || document.detached) return [];
    const { location, version } = document;
    const header = await locals.header(location, shard);
    if (!header) return lostAs(lost(location).message);
    assertFacts(map, location, header);
    await operations.raise(header.generation);
    // An operation that changes nothing: its generation in the local map says how fresh a reading is.
    const { at } = await run(() => ({ removes: [], adds: [], shards: [shard] }));
    const whole = await read();
    // A shard that was detached meanwhile hasn't taken the operation.
    if (shardIn(whole, shard)?.version !== version) continue;
    const local = await locals.wholeFrom(location, shard, at).catch(damage);
    if (typeof local === 'string') return lostAs(local);
    const isLater = operationsOf(whole).some((other) => other.shards.includes(shard) && other.at > at);
    if (local.header.generation !== at || isLater) continue;
    const unfit = unfitIn(whole.header, document, local);
    return unfit === undefined ? mapDifferencesOf(whole, document, local) : lostAs(unfit);
  }
}

/** What is damaged in a local map. */
function damage(error: unknown): string {
  if (error instanceof MillraceError && error.code === 'shard-map-damaged') return error.message;
  throw error;
}
