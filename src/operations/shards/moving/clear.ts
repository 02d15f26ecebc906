// What a move leaves behind: late writes on the source, and documents that are elsewhere now.
import pMap from 'p-map';
import { canonical } from '../../../base/json.ts';
import type { Change, Identity } from '../../../feed/reading/change.ts';
import { Copier } from '../../containers/copy.ts';
import { follow } from '../../containers/follow.ts';
import { queryOf } from '../../containers/part.ts';
import { fetchAll } from '../../../cosmos/fetch-all.ts';
import { fullKey } from '../../../cosmos/paths.ts';
import type { Shard } from '../../../shards/index.ts';
import type { StoredEntry } from '../../../projections/archive/entries.ts';
import type { MovedMark } from '../../../projections/moved.ts';
import { dropEntries, markCold } from './cold.ts';
import { MovedDocuments, markOf } from './documents.ts';
import { type Moving, accessTo, acknowledged, documentsOf, mappingNow, progressOf, saveProgress } from './moving.ts';
import type { MovePlace, MovedContainer } from './side.ts';

const LOOK_MS = 1_000;

/**
 * Until the grace ends, follows what still lands on the source: a process may have slept between its check and its write.
 * Where the target has the copy as it was, the late version is carried over; else its identity is named.
 */
export async function followLate(moving: Moving): Promise<void> {
  const { record, graceMs, clock, signal, say, readLagMs } = moving;
  const ends = Date.parse(record.now.flippedAt ?? '') + graceMs;
  for (let isOver = false; !isOver;) {
    isOver = clock.now() > ends;
    // The last look is after the grace, and after the lag of replicas.
    if (isOver) await clock.sleep(readLagMs, signal);
    for (const of of moving.containers) await carryOver(moving, of);
    if (isOver) break;
    await record.save();
    await say(`late writes are followed for ${Math.ceil((ends - clock.now()) / 1_000)} s more`);
    await clock.sleep(Math.max(10, Math.min(LOOK_MS, ends - clock.now())), signal);
  }
}

async function carryOver(moving: Moving, of: MovedContainer): Promise<void> {
  const { record, signal, to, total } = moving;
  const known = progressOf(moving, of);
  const progress = { positions: known.positions };
  const rules = { epoch: known.epoch ?? 0 };
  const copier = new Copier(of.left, of.right, accessTo(moving, to), () => Promise.resolve(true), rules);
  let parked: readonly Identity[] = [];
  const copy = async (changes: readonly Change[]): Promise<number> => {
    const late = changes.filter(({ doc }) => !markOf(doc ?? {}));
    const left = await copier.copyLate(late);
    parked = late
      .filter(({ key, id }) => left.includes(JSON.stringify([key, id])))
      .map(({ container, key, id }) => ({ container, key, id }));
    total.copied += late.length - left.length;
    return late.length;
  };
  const after = (): Promise<void> =>
    saveProgress(
      moving,
      of,
      { ...known, positions: progress.positions },
      { parked: merged(record.now.parked, parked) },
    );
  await follow({ from: of.source, part: of.part, copy, after, signal }, progress, { endOrThrow: () => undefined });
}

const merged = (known: readonly Identity[], added: readonly Identity[]): Identity[] => [
  ...new Map([...known, ...added].map((one) => [canonical(one), one])).values(),
];

/**
 * Removes the source's documents, once every processor of it has acknowledged them: first by markers, so that what is
 * derived in the source takes them back, and when these are acknowledged, the markers. Late writes that were named stay.
 */
export async function clearSource(moving: Moving): Promise<void> {
  const { from, record } = moving;
  const named = new Set(record.now.parked.map(canonical));
  const epochOf = (of: MovedContainer): number => progressOf(moving, of).epoch ?? 0;
  await clear(moving, from, {
    named,
    mark: async (of, doc, documents) => {
      if (named.has(canonical(identityOf(of, doc)))) return false;
      return documents.markGone(doc, { epoch: epochOf(of) });
    },
    cold: (of) => ({ epoch: epochOf(of) }),
  });
  if (named.size === 0) await clearStrays(moving, from.shard);
  // Markers of documents that were deleted in the source while they were copied.
  for (const of of moving.containers) await removeMarkers(moving, moving.to, of);
}

/** The same for the copies of a move that is cancelled. They go as just above what they are copies of. */
export async function clearTarget(moving: Moving): Promise<void> {
  const { to } = moving;
  await clear(moving, to, {
    named: new Set(),
    mark: async (_, doc, documents) => {
      const mark = markOf(doc);
      if (mark?.lsn === undefined) return false;
      return documents.markGone(doc, { epoch: mark.epoch ?? 0, lsn: mark.lsn + 0.5 });
    },
    cold: (_, { version: { epoch, lsn } }) => ({ epoch, lsn: lsn + 0.5 }),
  });
  await clearStrays(moving, to.shard);
}

interface Clearing {
  /** What stays. */
  readonly named: ReadonlySet<string>;
  readonly mark: (of: MovedContainer, document: Record<string, unknown>, documents: MovedDocuments) => Promise<boolean>;
  /** The version as which an archived document counts as deleted. */
  readonly cold: (of: MovedContainer, entry: StoredEntry) => Pick<MovedMark, 'epoch' | 'lsn'>;
}

async function clear(moving: Moving, place: MovePlace, { named, mark, cold }: Clearing): Promise<void> {
  const { signal, record, say, total } = moving;
  for (const of of moving.containers) {
    const container = place.database.container(of.name);
    const documents = new MovedDocuments(of.left, accessTo(moving, place));
    const all = documentsOf<Record<string, unknown>>(container, 'SELECT *', of, signal);
    const marked = await pMap(all, (doc) => mark(of, doc, documents), { concurrency: 32 });
    total.removed += marked.filter(Boolean).length;
    await markCold(moving, place, of, { named, as: (entry) => cold(of, entry) });
    await record.save();
    await say(`${total.removed} documents removed`);
  }
  await acknowledged(moving, place);
  for (const of of moving.containers) {
    await dropEntries(moving, place, of, named);
    await removeMarkers(moving, place, of);
  }
}

async function removeMarkers(moving: Moving, place: MovePlace, of: MovedContainer): Promise<void> {
  const { signal } = moving;
  const documents = new MovedDocuments(of.left, accessTo(moving, place));
  const gone = { ...of.part, condition: `${of.part.within} AND c._mr.moved.gone = true` };
  const [query, options] = queryOf('SELECT *', gone);
  const container = place.database.container(of.name);
  const all = fetchAll<Record<string, unknown>>(container, query, signal, options);
  await pMap(all, async (doc) => (markOf(doc)?.gone ? documents.remove(doc) : false), { concurrency: 32 });
}

async function clearStrays(moving: Moving, shard: Shard): Promise<void> {
  const { key, low, high } = await mappingNow(moving);
  await moving.map.clearStrays(shard, {
    ...(key !== undefined && { key }),
    ...(low !== undefined && { low }),
    ...(high !== undefined && { high }),
  });
}

function identityOf({ name, left }: MovedContainer, doc: Record<string, unknown>): Identity {
  const keyed = fullKey(doc, left.keyPaths);
  return { container: name, key: 'key' in keyed ? keyed.key : [], id: String(doc['id']) };
}
