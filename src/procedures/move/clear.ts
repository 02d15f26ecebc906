// What a move leaves behind: late writes on the source, and documents that are elsewhere now.
import pMap from 'p-map';
import { canonical } from '../../base/json.ts';
import type { Change, Identity } from '../../feed/reading/change.ts';
import { feedWithoutSystemFields as contentOf } from '../../feed/reading/mapper.ts';
import { isByEmbed } from '../../kinds/embed/fields.ts';
import { follow } from '../migrate/follow.ts';
import { migrateQueryOf } from '../migrate/part.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { storedKey } from '../../cosmos/paths.ts';
import type { Shard } from '../../shards/index.ts';
import type { StoredEntry } from '../../kinds/archive/entries.ts';
import type { MovedMark } from '../../kinds/moved.ts';
import { dropEntries, markCold } from './cold.ts';
import { MovedDocuments, markOf } from './documents.ts';
import { dropLetters } from './letters.ts';
import {
  type Moving,
  accessTo,
  acknowledged,
  copierOf,
  countOf,
  documentsOf,
  mappingNow,
  progressOf,
  saveProgress,
} from './moving.ts';
import type { MovePlace, MovedContainer } from './side.ts';

type Stored = Record<string, unknown>;

const LOOK_MS = 1_000;

/**
 * Until the grace ends, follows what still lands on the source: a process may have slept between its check and its write.
 * Where the target has the copy as it was, the late version is carried over; else its identity is named.
 */
export async function followLate(moving: Moving): Promise<void> {
  const { record, graceMs, clock, signal, say, readLagMs } = moving;
  const ends = Date.parse(record.now.switchedAt ?? '') + graceMs;
  for (let isOver = false; !isOver;) {
    isOver = clock.now() > ends;
    // The last look is after the grace, and after the lag of replicas.
    if (isOver) await clock.sleep(readLagMs, signal);
    for (const of of moving.containers) await carryOver(moving, of);
    // After the look: a sink of all shards may show a write that landed after the last copying, and before the switch. A copy
    // that is renewed before that is carried over would hide it.
    await renewAhead(moving);
    if (isOver) break;
    await record.save();
    await say(`late writes are followed for ${Math.ceil((ends - clock.now()) / 1_000)} s more`);
    await clock.sleep(Math.max(10, Math.min(LOOK_MS, ends - clock.now())), signal);
  }
}

/**
 * The map gives the keys to the target for good. A copy keeps its mark in what an application reads and writes back, so
 * one that is changed, and changed back, would count as the old version again (MOVE-V36). As a version of the target it is
 * newer than what came before. And embeds write into it from now on.
 */
async function renewAhead(moving: Moving): Promise<void> {
  for (const of of moving.containers) {
    const documents = new MovedDocuments(of.right, accessTo(moving, moving.to));
    const renewed = await eachMarked(moving, moving.to, of, 'ahead', async (doc) => {
      const mark = markOf(doc);
      if (!mark?.ahead) return false;
      const { digest: _, epoch: __, ahead: ___, ...rest } = mark;
      await moving.record.saveSoon({});
      return documents.renew(doc, rest);
    });
    moving.total.renewed += renewed;
  }
}

async function carryOver(moving: Moving, of: MovedContainer): Promise<void> {
  const { record, signal, total } = moving;
  const known = progressOf(moving, of);
  const progress = { positions: known.positions };
  const copier = copierOf(moving, of);
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
  const from = await of.feed();
  await follow({ from, part: of.part, copy, after, signal }, progress, { endOrThrow: () => undefined });
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
      const identity = identityOf(of, doc);
      if (named.has(canonical(identity))) return false;
      return markGone(documents, identity, doc, { epoch: epochOf(of) });
    },
    cold: (of) => ({ epoch: epochOf(of) }),
  });
  if (named.size === 0) await clearStrays(moving, from.shard);
  // Markers of documents that were deleted in the source while they were copied.
  for (const of of moving.containers) await removeMarkers(moving, moving.to, of);
}

/** If an embed has written the document since it was read, as it is now. */
async function markGone(
  documents: MovedDocuments,
  { key, id }: Identity,
  doc: Record<string, unknown>,
  as: Pick<MovedMark, 'epoch'>,
): Promise<boolean> {
  for (let found: typeof doc | undefined = doc; found;) {
    if (await documents.markGone(found, as)) return true;
    found = await documents.read(key, id);
    if (!found || !isByEmbed(found['_mr'], contentOf(found))) return false;
  }
  return false;
}

/**
 * The same for the copies of a move that is cancelled. They go as just above what they are copies of. Until the grace ends,
 * what a slow process of the move still writes goes too.
 */
export async function clearTarget(moving: Moving, graceMs: number): Promise<void> {
  const { to, clock, record, signal, say } = moving;
  const clearing: Clearing = {
    named: new Set(),
    mark: async (_, doc, documents) => {
      const mark = markOf(doc);
      if (mark?.lsn === undefined) return false;
      return documents.markGone(doc, { epoch: mark.epoch ?? 0, lsn: mark.lsn + 0.5 });
    },
    cold: (_, { version: { epoch, lsn } }) => ({ epoch, lsn: lsn + 0.5 }),
  };
  const ends = clock.now() + graceMs;
  await clear(moving, to, clearing);
  while (clock.now() < ends) {
    await record.save();
    await say(`late copies are removed for ${Math.ceil((ends - clock.now()) / 1_000)} s more`);
    await clock.sleep(Math.max(10, Math.min(LOOK_MS, ends - clock.now())), signal);
    const counts = await Promise.all(moving.containers.map((of) => countOf(of.target, of, signal)));
    if (counts.some((count) => count > 0)) await clear(moving, to, clearing);
  }
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
  // Where nothing was, hosts that stand still aren't waited for.
  if (await hasMarkers(moving, place)) await acknowledged(moving, place);
  await dropLetters(moving, place, (one) => !named.has(canonical(one)));
  for (const of of moving.containers) {
    await dropEntries(moving, place, of, named);
    await removeMarkers(moving, place, of);
  }
}

async function removeMarkers(moving: Moving, place: MovePlace, of: MovedContainer): Promise<void> {
  const documents = new MovedDocuments(of.left, accessTo(moving, place));
  await eachMarked(moving, place, of, 'gone', async (doc) => (markOf(doc)?.gone ? documents.remove(doc) : false));
}

async function hasMarkers(moving: Moving, place: MovePlace): Promise<boolean> {
  for (const of of moving.containers)
    for await (const _ of markedOf(moving, place, of, 'SELECT TOP 1 c.id', 'gone')) return true;
  return false;
}

/** Resolves with the number of documents for which `work` says true, among those whose mark has `flag`. */
async function eachMarked(
  moving: Moving,
  place: MovePlace,
  of: MovedContainer,
  flag: 'gone' | 'ahead',
  work: (document: Stored) => Promise<boolean>,
): Promise<number> {
  const all = markedOf(moving, place, of, 'SELECT *', flag);
  return (await pMap(all, work, { concurrency: 32 })).filter(Boolean).length;
}

/** The documents of the keys whose mark has a flag. */
function markedOf(
  { signal }: Moving,
  { database }: MovePlace,
  of: MovedContainer,
  select: string,
  flag: 'gone' | 'ahead',
): AsyncIterable<Stored> {
  const marked = { ...of.part, condition: `${of.part.within} AND c._mr.moved.${flag} = true` };
  const [query, options] = migrateQueryOf(select, marked);
  return fetchAll<Stored>(database.container(of.name), query, signal, options);
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
  return { container: name, key: storedKey(doc, left.keyPaths), id: String(doc['id']) };
}
