// Shards by time: a shard for each day, month or year, mapped before it begins. All times are UTC.
import { sharedError } from '../../base/shared-errors.ts';
import { messageOf } from '../../base/errors.ts';
import { shardsError } from '../errors.ts';
import { type KeyValue, encodeKey } from '../keys/key-type.ts';
import { type ShardLocation, isSameLocation, shownLocation } from './documents.ts';
import type { ShardMap } from './shard-map.ts';
import type { Shard } from './values.ts';

export type MapPeriod = 'day' | 'month' | 'year';

/** Declares the shards of a range map whose keys are times. Nothing of it is stored: each call brings it. */
export interface ShardSchedule {
  readonly every: MapPeriod;
  /** How many periods after the current one are to be mapped, 1 to 60. */
  readonly ahead: number;
  /**
   * Where the shard of a period is. In the name of the database `{yyyy}`, `{mm}` and `{dd}` stand for the period's first
   * day: `orders-{yyyy}-{mm}`. Each period has a database of its own.
   */
  readonly location: ShardLocation;
}

/** A period of a schedule, and whether its keys are mapped. */
export interface ScheduledPeriod {
  readonly from: Date;
  /** The first moment after it. */
  readonly to: Date;
  readonly location: ShardLocation;
  /** `created`: this call mapped keys of it. `missing`: keys of it are not mapped, because of `problem`. */
  readonly state: 'mapped' | 'created' | 'missing';
  readonly problem?: Error;
}

type Planned = Pick<ScheduledPeriod, 'from' | 'to' | 'location'>;

/** Keys that no mapping has, `[low, high)`. */
interface Gap {
  readonly low: KeyValue;
  readonly high: KeyValue;
}

/** Gaps that one call fills in a period. More mean that other processes take mappings away at the same time. */
const ROUNDS = 100;

/** What another process may have done between reading the map and changing it. */
const OVERTAKEN: ReadonlySet<unknown> = new Set(['exists', 'stale', 'keys-mapped']);

/**
 * Maps the keys of the current period and of those ahead to the shards at the schedule's locations, and creates the shards
 * that the map doesn't have. Keys that are mapped stay as they are, whatever shard has them. Call it from a timer, as often
 * as you like and in several processes: a later call does what an earlier one has left.
 *
 * A period that can't be mapped, mostly because its database doesn't exist yet, is returned with its problem, and is a
 * warning of the process. Once the period has begun it is an error, after all others were mapped.
 * @throws UsageError `option-invalid`; MillraceError `scheduled-shard-missing`
 */
export async function ensureScheduled(map: ShardMap, schedule: ShardSchedule, now: Date): Promise<ScheduledPeriod[]> {
  assertSchedule(map, schedule, now);
  const periods: ScheduledPeriod[] = [];
  for (const period of periodsOf(schedule, now)) {
    try {
      periods.push({ ...period, state: await ensured(map, period) });
    } catch (error) {
      periods.push({ ...period, state: 'missing', problem: asError(error) });
    }
  }
  const missing = periods.filter(({ state }) => state === 'missing');
  const begun = missing.find(({ from }) => from <= now);
  if (begun) throw shardsError('scheduled-shard-missing', problemText(map, begun), { cause: begun.problem });
  for (const period of missing)
    process.emitWarning(problemText(map, period), { type: 'MillraceWarning', code: 'scheduled-shard-missing' });
  return periods;
}

/** The current period, and those ahead. */
export function periodsOf({ every, ahead, location }: ShardSchedule, now: Date): Planned[] {
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  const begin = (step: number): Date => {
    // `Date.UTC` takes years below 100 for those of the 20th century.
    const date = new Date(0);
    if (every === 'day') date.setUTCFullYear(year, month, day + step);
    else if (every === 'month') date.setUTCFullYear(year, month + step, 1);
    else date.setUTCFullYear(year + step, 0, 1);
    return date;
  };
  return Array.from({ length: ahead + 1 }, (_, step) => {
    const from = begin(step);
    return { from, to: begin(step + 1), location: { ...location, database: databaseAt(location.database, from) } };
  });
}

function databaseAt(template: string, from: Date): string {
  const [yyyy = '', mm = '', dd = ''] = from.toISOString().slice(0, 10).split('-');
  return template.replaceAll('{yyyy}', yyyy).replaceAll('{mm}', mm).replaceAll('{dd}', dd);
}

async function ensured(map: ShardMap, period: Planned): Promise<'mapped' | 'created'> {
  for (let round = 0; round < ROUNDS; round++) {
    const gap = await gapIn(map, period);
    if (!gap) return round === 0 ? 'mapped' : 'created';
    try {
      await map.createMapping({ shard: await shardAt(map, period.location), ...gap });
    } catch (error) {
      if (!OVERTAKEN.has((error as { code?: unknown }).code)) throw error;
    }
  }
  throw sharedError('contended', `Other processes removed mappings of ${map.name} in every round`);
}

/** The first keys of a period that no mapping has. */
async function gapIn(map: ShardMap, { from, to }: Planned): Promise<Gap | undefined> {
  const codeOf = (key: KeyValue): string => encodeKey(map.keyType, key);
  let low: KeyValue = from;
  for (const mapping of await map.mappings({ low: from, high: to })) {
    if (mapping.low !== undefined && codeOf(low) < codeOf(mapping.low)) return { low, high: mapping.low };
    if (mapping.high === undefined) return undefined;
    low = mapping.high;
  }
  return codeOf(low) < codeOf(to) ? { low, high: to } : undefined;
}

async function shardAt(map: ShardMap, location: ShardLocation): Promise<Shard> {
  const known = (await map.shards()).find((shard) => isSameLocation(shard.location, location));
  return known ?? map.createShard(location);
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(messageOf(error)));

const problemText = (map: ShardMap, { from, location, problem }: ScheduledPeriod): string =>
  `The period of ${map.name} from ${from.toISOString()} has keys without a shard: ${shownLocation(location)}: ${problem?.message}`;

/** What a template must have, so that no two periods have one database. */
const PLACES: Readonly<Record<MapPeriod, readonly string[]>> = {
  day: ['{yyyy}', '{mm}', '{dd}'],
  month: ['{yyyy}', '{mm}'],
  year: ['{yyyy}'],
};
const MOST_AHEAD = 60;
/** Ends before the last periods that a key can have. */
const LAST_YEAR = 9_900;

/** @throws UsageError `option-invalid` */
export function assertSchedule(map: ShardMap, { every, ahead, location }: ShardSchedule, now: Date): void {
  const invalid = (message: string): Error =>
    sharedError('option-invalid', message, {
      hint: 'Correct the value that the message names. A schedule needs a range map of dateTime or dateTimeOffset.',
    });
  if (map.kind !== 'range' || !['dateTime', 'dateTimeOffset'].includes(map.keyType))
    throw invalid(`${map.name} is a ${map.kind} map of ${map.keyType}, and a schedule needs a range map of times`);
  if (!Object.hasOwn(PLACES, every)) throw invalid(`${every as string} is not a period: day, month or year`);
  if (!Number.isInteger(ahead) || ahead < 1 || ahead > MOST_AHEAD)
    throw invalid(`A schedule is 1 to ${MOST_AHEAD} periods ahead, not ${ahead}`);
  const place = PLACES[every].find((one) => !location.database.includes(one));
  if (place !== undefined) throw invalid(`The database ${location.database} of every ${every} needs ${place}`);
  const year = now.getUTCFullYear();
  if (!(year >= 1 && year <= LAST_YEAR)) throw invalid(`${String(now)} is not a time from the year 1 to ${LAST_YEAR}`);
}
