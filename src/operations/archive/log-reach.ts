import { archiveError } from '../../archive/errors.ts';
import { acknowledgedBy } from '../../archive/gate.ts';
import type { Archive } from '../../archive/types.ts';
import { logBegan } from '../../archive/version-log.ts';
import type { MillraceError } from '../../base/errors.ts';
import { type FeedRange, sayRange } from '../../cosmos/ranges.ts';
import { parseDate } from '../../definition/date.ts';
import { backlogOf } from '../../engine/backlog/registered.ts';
import type { ChangeSource } from '../../feed/reading/source.ts';
import { type Parts, openFeed } from '../../runtime/open-feed.ts';
import { openShardMap } from '../../runtime/shard-map.ts';
import { shownLocation } from '../../shards/map/documents.ts';
import { operationsError } from '../errors.ts';
import type { ArchivePlace } from './open-together.ts';

/**
 * The time, if the log of an archive is whole up to it: it began before, hosts have read every range up to it, and nothing
 * written until then is set aside (ARC-V5).
 * @throws UsageError `input-invalid`, `log-out-of-reach`, and MillraceError `log-behind`
 */
export async function reachable({ spec, store }: Archive, { time, places, parts, signal }: Reached): Promise<number> {
  const at = parseDate(time);
  if (at === undefined)
    throw operationsError('input-invalid', `${JSON.stringify(time)} is not a date`, {
      hint: 'Write it as 2026-06-03 or 2026-06-03T12:00:00Z.',
    });
  const said = new Date(at).toISOString();
  if (at > Date.now()) throw archiveError('log-out-of-reach', `${said} is in the future`);
  const from = await logBegan(store, spec);
  if (from === undefined)
    throw archiveError('log-out-of-reach', `The version log of ${spec.name} has not begun`, {
      hint: `Start the hosts, then run \`millrace archive sweep\`: it begins the log. One with \`--within\` begins it in as many runs as it takes.${isSharded(places) ? ' Over shards it begins when every shard of the map was swept; a detached one can’t be.' : ''}`,
    });
  if (at < from)
    throw archiveError(
      'log-out-of-reach',
      `${said} is before ${new Date(from).toISOString()}, from when on the version log of ${spec.name} is whole`,
    );
  const behind = (what: string): MillraceError => archiveError('log-behind', `${what} up to ${said}`);
  if (isSharded(places)) {
    const lost = (await (await openShardMap(parts)).shards()).find(({ detached }) => detached);
    if (lost)
      throw archiveError(
        'log-behind',
        `Shard ${shownLocation(lost.location)} is detached, so hosts have not read it up to ${said}`,
        {
          hint: 'Attach it (`millrace shards attach`) and let the hosts read, or delete it from the map.',
        },
      );
  }
  for (const place of places) await assertRead(place, at, behind, signal);
  return at;
}

export interface Reached {
  readonly time: string;
  /** Where the documents are. */
  readonly places: readonly ArchivePlace[];
  /** Of the whole pipeline. */
  readonly parts: Parts;
  readonly signal: AbortSignal;
}

const isSharded = (places: readonly ArchivePlace[]): boolean =>
  places.some(({ loaded }) => loaded.pipeline.part?.place === 'shard');

/** In one place: hosts have read its feed up to the time, and nothing written until then is set aside. */
async function assertRead(
  { archive: { source, feed }, shard, ...parts }: ArchivePlace,
  at: number,
  behind: (what: string) => MillraceError,
  signal: AbortSignal,
): Promise<void> {
  const { source: reader, leases } = await openFeed(parts, source, { host: 'archive' });
  const name = shard === undefined ? source.name : `${shard}/${source.name}`;
  const notRead = (range: FeedRange): MillraceError =>
    behind(`Hosts have not read range ${sayRange(range)} of ${name}`);
  // Positions before the backlog: what a position has passed is then in the log, or still in a queue that is read here.
  const positions = await leases.list();
  for (const range of await feed.ranges()) if (acknowledgedBy(positions, range) === undefined) throw notRead(range);
  for (const { range, position = '' } of positions)
    if (await hasUntil(reader, { range, position, at, signal })) throw notRead(range);
  const backlog = backlogOf(
    parts.services.place.state,
    { pipeline: parts.loaded.pipeline.name, source: source.name },
    signal,
  );
  for await (const items of backlog.changes()) {
    const first = items.find((item) => item.at <= at);
    if (first)
      throw behind(`Changes of ${name} are set aside, such as that of ${first.id}, and hosts have not applied them`);
  }
}

/** Whether the feed shows a change after the position that was written until `at`. Pages may show none, and have a next. */
async function hasUntil(
  reader: Pick<ChangeSource, 'read'>,
  { range, position, at, signal }: { range: FeedRange; position: string; at: number; signal: AbortSignal },
): Promise<boolean> {
  for (let from = position; ;) {
    const { changes, next } = await reader.read(range, from, signal);
    if (changes.some((change) => change.at <= at)) return true;
    if (changes.length > 0 || next === from) return false;
    from = next;
  }
}
