// Which shard has which keys, at one moment. docs/SPEC-routing.md says why the headers are read twice.
import type { Clock } from '../../base/clock.ts';
import { mapSettled } from '../../base/map-settled.ts';
import { shardsError } from '../errors.ts';
import type { LocalHeader } from '../map/documents.ts';
import type { KeySpan } from '../keys/spans.ts';

/** What a query leaves out in one shard. */
export interface ShardState {
  /** Of the local map. */
  readonly generation: number;
  readonly strays: readonly KeySpan[];
}

export interface SnapshotOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** How many headers are read at the same time. */
  readonly concurrency: number;
}

const ROUNDS = 40;
const PAUSE_MS = 50;

/**
 * The states of all shards at one moment, by their ids. `list` names the shards of the map now, `header` reads a local
 * map's header, and resolves with undefined for a shard that is left out.
 * @throws MillraceError `shard-map-changing`, `strays-unknown`
 */
export async function snapshotOf<S extends { readonly id: string }>(
  list: () => Promise<readonly S[]>,
  header: (shard: S) => Promise<LocalHeader | undefined>,
  { clock, signal, concurrency }: SnapshotOptions,
): Promise<{ readonly shards: readonly S[]; readonly states: ReadonlyMap<string, ShardState> }> {
  let shards = await list();
  for (let round = 0; round < ROUNDS; round++) {
    const before = await headersOf(shards, header, concurrency);
    // At the moment of this reading every shard was as it is found before and after it.
    const now = await list();
    if (isSameList(shards, now)) {
      const after = await headersOf(shards, header, concurrency);
      if (isSameState(before, after) && isWhole(after)) return { shards, states: statesOf(after) };
    }
    shards = now;
    await clock.sleep(PAUSE_MS, signal);
  }
  throw shardsError('shard-map-changing', 'The shard map changed during every attempt to read it');
}

type Headers = ReadonlyMap<string, LocalHeader>;

async function headersOf<S extends { readonly id: string }>(
  shards: readonly S[],
  header: (shard: S) => Promise<LocalHeader | undefined>,
  concurrency: number,
): Promise<Headers> {
  const read = await mapSettled(shards, async (shard) => [shard.id, await header(shard)] as const, { concurrency });
  return new Map(read.flatMap(([id, found]) => (found ? [[id, found] as const] : [])));
}

const isSameList = (one: readonly { readonly id: string }[], other: readonly { readonly id: string }[]): boolean =>
  one.length === other.length && other.every(({ id }) => one.some((shard) => shard.id === id));

const isSameState = (before: Headers, after: Headers): boolean =>
  before.size === after.size &&
  [...after].every(([id, { generation, created }]) => {
    const found = before.get(id);
    return found?.generation === generation && found.created === created;
  });

/** No operation has changed one of its shards and not yet another. */
const isWhole = (headers: Headers): boolean =>
  [...headers.values()].every(({ generation, shards = [] }) =>
    shards.every((id) => (headers.get(id)?.generation ?? generation) >= generation),
  );

function statesOf(headers: Headers): ReadonlyMap<string, ShardState> {
  const states = new Map<string, ShardState>();
  for (const [id, { generation, strays = [], pk }] of headers) {
    if (strays === 'unknown')
      throw shardsError('strays-unknown', `The local map ${pk} lists no strays: it had too many`);
    states.set(id, { generation, strays });
  }
  return states;
}
