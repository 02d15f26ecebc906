// What all steps of a move work with.
import { mappingOfMove, noMapping } from './spans.ts';
import type { Container } from '@azure/cosmos';
import type { BlobStore } from '../../access/blob-store.ts';
import type { Clock } from '../../base/clock.ts';
import { isObject } from '../../base/json.ts';
import { mapSettled } from '../../base/map-settled.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import type { Meter } from '../../cosmos/budget/charge-meter.ts';
import type { Change } from '../../feed/reading/change.ts';
import { type RangePosition, lsnOf } from '../../feed/reading/position.ts';
import { untilStopped } from '../../feed/tenure/fences.ts';
import type { Mapping, ShardMap } from '../../shards/index.ts';
import { CosmosAccess } from '../../access/cosmos-access.ts';
import { isGuarded } from '../../kinds/embed/fields.ts';
import { Copier } from '../migrate/copy.ts';
import { type Following, follow, untilCopied } from '../migrate/follow.ts';
import { migrateQueryOf } from '../migrate/part.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { operationsError } from '../errors.ts';
import { MovedDocuments, markOf } from './documents.ts';
import { MoveHosts } from './hosts.ts';
import type { ContainerProgress, MoveRecord } from './record.ts';
import { ownerOf } from './record.ts';
import type { MovePlace, MovedContainer } from './side.ts';

export interface MoveTimes {
  /** How old a read may be, milliseconds (ASM-A3). Default 5,000. */
  readonly readLagMs: number;
  /**
   * For how long after the switch late writes may land on the source, milliseconds. Default 150,000: longer than a router
   * uses a mapping, and than its request takes.
   */
  readonly graceMs: number;
  /** How long to wait for routers before writes go on, milliseconds. Default 10,000. */
  readonly silentMs: number;
  /** How long the first try of the switch may hold writes, milliseconds; each further one twice as long. Default 1,000. */
  readonly holdMs: number;
  /** How long to wait for hosts, and for silent routers in all, milliseconds. Default 600,000. */
  readonly patienceMs: number;
}

export interface Moving extends MoveTimes {
  readonly map: ShardMap;
  readonly record: MoveRecord;
  readonly from: MovePlace;
  readonly to: MovePlace;
  readonly containers: readonly MovedContainer[];
  /** The lease container of the hosts that read the shards; undefined: there are none. */
  readonly leases: Container | undefined;
  /** Containers whose documents a pipeline archives, as far as the caller knows. */
  readonly archives: readonly string[];
  /** The blobs of archives. */
  readonly store: (() => Promise<Pick<BlobStore, 'read'>>) | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Counts the requests to both shards. */
  readonly meter: Meter;
  /** Called and awaited between steps, and while it waits. */
  readonly say: (text: string) => void | Promise<void>;
  readonly total: { copied: number; removed: number; renewed: number; cold: number; letters: number };
}

/** Containers that are worked on at a time while writes wait. */
export const SIDE_BY_SIDE = { concurrency: 16 };

export const ownerOptions = ({ record }: Moving) => ({ owner: ownerOf(record.now) });

export const accessTo = ({ signal, meter }: Moving, { database }: MovePlace): CosmosAccess =>
  new CosmosAccess(database, untilStopped(signal), meter);

/** The mapping that has the keys now. */
export async function mappingNow({ map, record }: Moving): Promise<Mapping> {
  const mapping = await mappingOfMove(map, record.now);
  if (mapping) return mapping;
  throw noMapping(map, record.now.keys);
}

export function hostsOf(moving: Moving, place: MovePlace, monitored: Container): MoveHosts | undefined {
  const { leases, clock, signal, patienceMs, say } = moving;
  if (!leases || !place.state) return undefined;
  const { endpoint } = place;
  const waiting = async (text: string): Promise<void> => {
    await moving.record.save();
    await say(`waiting for hosts: ${text}`);
  };
  return new MoveHosts(
    { monitored, endpoint, leases, host: ownerOf(moving.record.now) },
    { clock, signal, patienceMs, state: place.state, waiting },
  );
}

/** Every processor of a shard has acknowledged and applied what its feed shows of the keys now. */
export async function acknowledged(moving: Moving, place: MovePlace): Promise<void> {
  for (const of of moving.containers)
    await hostsOf(moving, place, place.database.container(of.name))?.haveAcknowledged(of);
}

export const progressOf = ({ record }: Moving, { name }: MovedContainer): ContainerProgress => {
  const found = record.now.containers[name];
  if (found) return found;
  throw sharedError('not-found', `The move ${record.now.id} doesn't know the container ${name}`);
};

/** Stores the progress of one container, with what else has changed. */
export const saveProgress = (
  { record }: Moving,
  { name }: MovedContainer,
  progress: ContainerProgress,
  more: Parameters<MoveRecord['save']>[0] = {},
): Promise<void> => record.save({ ...more, containers: { [name]: progress } });

/** Writes copies that count as the versions that they are copied from, until they are renewed after the switch. */
export function copierOf(moving: Moving, of: MovedContainer): Copier {
  return new Copier(of.left, of.right, accessTo(moving, moving.to), () => Promise.resolve(true), {
    epoch: progressOf(moving, of).epoch ?? 0,
  });
}

/** Copies on from the stored position, until nothing comes any more. Resolves with the number of changes. */
export async function copyOn(
  moving: Moving,
  of: MovedContainer,
  until: 'near' | { readonly endOrThrow: () => void; readonly once?: boolean },
): Promise<number> {
  const { signal, total, say, from } = moving;
  const known = progressOf(moving, of);
  const copier = copierOf(moving, of);
  const sources = new MovedDocuments(of.left, accessTo(moving, from));
  const progress = { positions: known.positions };
  const following: Following = {
    from: await of.feed(),
    part: of.part,
    copy: async (changes) => {
      const due = await mapSettled(
        changes,
        async (change) => ((await isCopied(of, known, change, sources)) ? change : undefined),
        {
          concurrency: 32,
        },
      );
      const copied = due.filter((change) => change !== undefined);
      total.renewed += changes.length - copied.length;
      return copier.copy(copied);
    },
    after: async (copied) => {
      total.copied += copied;
      const now = { ...known, positions: progress.positions };
      // Nothing is stored while writes wait that need not be.
      if (until === 'near') await saveProgress(moving, of, now);
      else await moving.record.saveSoon({ [of.name]: now });
      await say(`${total.copied} documents copied`);
    },
    signal,
  };
  if (until === 'near' || until.once) return follow(following, progress, until);
  return untilCopied(following, progress, until.endOrThrow);
}

/**
 * Whether a version is copied as it is. One that is a copy itself first gets a version of its own, which the feed shows
 * next: what is derived in the target may have seen the version of which it is a copy, and that it went.
 */
async function isCopied(
  { hashOf }: MovedContainer,
  { renews }: ContainerProgress,
  { key, version, doc = {} }: Change,
  sources: MovedDocuments,
): Promise<boolean> {
  const { _mr: own } = doc;
  if (isObject(own) && own['archived'] !== undefined) throw isLeaving(String(doc['id']));
  const mark = markOf(doc);
  if (mark?.gone) return false;
  if (mark?.epoch === undefined && !isBefore(renews, hashOf(key), version.lsn)) return true;
  await sources.renew(doc);
  return false;
}

export const isBefore = (positions: readonly RangePosition[], hash: string, lsn: number): boolean =>
  positions.some(({ range, position }) => range.min <= hash && hash < range.max && lsn <= lsnOf(position));

export const isLeaving = (what: string): Error =>
  operationsError('move-leaving', `The document ${what} is on its way to the archive`);

/** Source documents of the keys in a container, by what `select` asks of them. */
export const documentsOf = <T>(container: Container, select: string, { part }: MovedContainer, signal: AbortSignal) => {
  const [query, options] = migrateQueryOf(select, part);
  return fetchAll<T>(container, query, signal, options);
};

export async function countOf(container: Container, of: MovedContainer, signal: AbortSignal): Promise<number> {
  for await (const count of documentsOf<number>(container, 'SELECT VALUE COUNT(1)', of, signal)) return count;
  return 0;
}

/** The documents of the keys on both sides, by container. */
export const countsOf = ({
  containers,
  signal,
}: Moving): Promise<{ readonly source: number; readonly target: number }[]> =>
  mapSettled(
    containers,
    async (of) => {
      const [source, target] = await Promise.all([countOf(of.source, of, signal), countOf(of.target, of, signal)]);
      return { source, target };
    },
    SIDE_BY_SIDE,
  );

/** How many source documents have fields that an embed has written. */
export async function countEmbedded(container: Container, of: MovedContainer, signal: AbortSignal): Promise<number> {
  const marked = { ...of, part: { ...of.part, condition: `${of.part.condition} AND IS_DEFINED(c._mr)` } };
  let count = 0;
  for await (const own of documentsOf<unknown>(container, 'SELECT VALUE c._mr', marked, signal))
    count += Number(isGuarded(own));
  return count;
}
