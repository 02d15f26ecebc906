// Late writes that a move has named: both versions, and what an administrator decides about them.
import { assertExact } from '../migrate/copy.ts';
import { canonical } from '../../base/json.ts';
import { systemClock } from '../../base/clock.ts';
import { withoutSystemFields as withoutCosmosFields } from '../../cosmos/system-fields.ts';
import type { Identity } from '../../feed/reading/change.ts';
import { feedWithoutSystemFields as contentOf } from '../../feed/reading/mapper.ts';
import { movedOwn } from '../../kinds/moved.ts';
import { spansOverlap } from '../../shards/keys/spans.ts';
import { shownLocation } from '../../shards/map/documents.ts';
import { mapKeysOf } from '../../shards/map/values.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { operationsError } from '../errors.ts';
import { MovedDocuments, markOf } from './documents.ts';
import { carryLettersOf, dropLetters } from './letters.ts';
import { movingOf } from './move.ts';
import { type MoveOptions, movePlacesOf } from './options.ts';
import { spanOf } from './spans.ts';
import { type Moving, accessTo, acknowledged, progressOf } from './moving.ts';
import { type MoveDocument, MoveRecord, isUnfinished, moveNamed, movesOf, underWay } from './record.ts';
import { type MovedContainer, movedContainers } from './side.ts';

type Stored = Readonly<Record<string, unknown>>;

/** Which version stays: the late one of the source, or what the target has. */
export type Keep = 'source' | 'target';

export interface LateWrite extends Identity {
  readonly move: string;
  /** What each shard has, without fields of the system. Absent: nothing. */
  readonly source?: Stored;
  readonly target?: Stored;
}

/** The named late writes of a move that has ended, with both versions. @throws as `resolveLate` */
export async function lateWrites(options: MoveOptions, id: string): Promise<LateWrite[]> {
  const moving = await openEnded(options, id, (found) => MoveRecord.asRead(found));
  return Promise.all(moving.record.now.parked.map((one) => lateWrite(moving, one)));
}

async function lateWrite(moving: Moving, one: Identity): Promise<LateWrite> {
  const { source, target } = await bothOf(moving, one);
  return {
    ...one,
    move: moving.record.now.id,
    ...(source && { source: contentOf(source) }),
    ...(target && { target: contentOf(target) }),
  };
}

/**
 * Resolves named late writes. With `source` the late version becomes the target's, as no event: the source's hosts had it as
 * one. Then the source's document goes as at the end of a move. When none is left, the keys are no strays any more. What was
 * written meanwhile stays named. Returns what was resolved.
 * @throws MillraceError `not-found`, `under-way`, `move-elsewhere`
 */
export async function resolveLate(
  options: MoveOptions,
  id: string,
  keep: Keep,
  chosen: (one: Identity) => boolean,
): Promise<readonly Identity[]> {
  const { maps, clock = systemClock } = options;
  const moving = await openEnded(options, id, (found) => MoveRecord.resume(maps, found, { clock, force: true }));
  const { record, map, from } = moving;
  const resolved: Identity[] = [];
  for (const one of record.now.parked.filter(chosen)) if (await resolve(moving, one, keep)) resolved.push(one);
  await acknowledged(moving, from);
  for (const one of resolved) {
    if (keep === 'source') await carryLettersOf(moving, containerOf(moving, one.container), one);
    await removeMarker(moving, one);
  }
  const ended = new Set(resolved.map(canonical));
  await dropLetters(moving, from, (one) => ended.has(canonical(one)));
  const left = record.now.parked.filter((one) => !ended.has(canonical(one)));
  if (left.length === 0) await map.clearStrays(from.shard, mapKeysOf(map, record.now));
  await record.save({ parked: left });
  return resolved;
}

/** @throws MillraceError `not-found`, `under-way`, `move-elsewhere` */
async function openEnded(
  options: MoveOptions,
  id: string,
  open: (found: MoveDocument) => MoveRecord | Promise<MoveRecord>,
): Promise<Moving> {
  const { map, maps, signal } = options;
  const moves = await movesOf(maps, map.name, signal);
  const found = moveNamed(moves, id, map.name);
  const busy = moves.find((one) => isUnfinished(one) && spansOverlap(one, found));
  if (busy) throw underWay(busy);
  const places = await movePlacesOf(options, found);
  await assertStillThere(options, found);
  const containers = await movedContainers(map, found, places);
  return movingOf(options, await open(found), places, containers);
}

/** The keys are where the move has brought them. */
async function assertStillThere({ map }: MoveOptions, found: MoveDocument): Promise<void> {
  const away = (await map.inspect()).mappings.find(
    (one) => spansOverlap(spanOf(map, one), found) && one.shard !== found.to,
  );
  if (!away) return;
  const shard = (await map.shards()).find(({ id }) => id === away.shard);
  const where = shard ? shownLocation(shard.location) : away.shard;
  throw operationsError('move-elsewhere', `${away.text} is on ${where} now, not where the move ${found.id} brought it`);
}

function containerOf({ containers, record }: Moving, name: string): MovedContainer {
  const found = containers.find((of) => of.name === name);
  if (found) return found;
  throw sharedError('not-found', `The move ${record.now.id} doesn't know the container ${name}`);
}

async function bothOf(moving: Moving, { container, key, id }: Identity) {
  const of = containerOf(moving, container);
  const sources = new MovedDocuments(of.left, accessTo(moving, moving.from));
  const targets = new MovedDocuments(of.right, accessTo(moving, moving.to));
  const [source, target] = await Promise.all([sources.read(key, id), targets.read(key, id)]);
  return { of, sources, source: source && !markOf(source)?.gone ? source : undefined, target };
}

/** False: one of both was written meanwhile. */
async function resolve(moving: Moving, one: Identity, keep: Keep): Promise<boolean> {
  const { of, sources, source, target } = await bothOf(moving, one);
  // It was deleted by hand, or resolved by a process that died before it stored that.
  if (!source) return true;
  if (keep === 'source' && !(await carry(moving, one, source, target))) return false;
  return sources.markGone(source, { epoch: progressOf(moving, of).epoch ?? 0 });
}

/** The same as a renewed document: newer than what the target's hosts have derived, and no event. */
async function carry(
  moving: Moving,
  { container, key, id }: Identity,
  source: Stored,
  target: Stored | undefined,
): Promise<boolean> {
  const { _mr: own, ...content } = withoutCosmosFields(source);
  if (target && canonical(contentOf(target)) === canonical(contentOf(source))) return true;
  assertExact(container, id, content);
  const body = { ...content, id, _mr: movedOwn(own, {}, contentOf(content)) };
  const write = target
    ? ({ op: 'replace', id, body, ifMatch: String(target['_etag']) } as const)
    : ({ op: 'create', id, body } as const);
  const answer = await accessTo(moving, moving.to).commit(container, key, [write]);
  if (answer.kind === 'refused') throw sharedError('document-refused', `${container} refused ${id}: ${answer.why}`);
  return answer.kind === 'done';
}

async function removeMarker(moving: Moving, { container, key, id }: Identity): Promise<void> {
  const of = containerOf(moving, container);
  const sources = new MovedDocuments(of.left, accessTo(moving, moving.from));
  const marker = await sources.read(key, id);
  if (marker && markOf(marker)?.gone) await sources.remove(marker);
}
