import { fn as plain, isNumber } from './fn.ts';
import type { Fn } from './fn.ts';

/** The cost of reading and writing a date. */
const DATE_STEPS = 700;
const fn = (least: number, most: number, call: Fn['call']): Fn =>
  plain(least, most, (args, tools) => {
    tools.meter.work(DATE_STEPS);
    return call(args, tools);
  });

// Dates are ISO 8601 texts in UTC with seven digits of a second, as the service writes them. Ticks are 100 ns, counted
// from 1970 (ASM-E60).

const TICKS_PER_MS = 10_000;
const LAST_MS = 253_402_300_799_999;
const FIRST_MS = -62_135_596_800_000;

const whole = (value: unknown): value is number => Number.isSafeInteger(value);

/** Names of the parts, with the milliseconds of those whose length is fixed. */
const PARTS: Readonly<Record<string, { readonly name: string; readonly ms?: number }>> = Object.fromEntries(
  (
    [
      ['year', 'yyyy', 'yy'],
      ['month', 'mm', 'm'],
      ['day', 'dd', 'd'],
      ['hour', 'hh'],
      ['minute', 'mi', 'n'],
      ['second', 'ss', 's'],
      ['millisecond', 'ms'],
      ['microsecond', 'mcs'],
      ['nanosecond', 'ns'],
    ] as const
  ).flatMap(([name, ...short]) => {
    const ms = { day: 86_400_000, hour: 3_600_000, minute: 60_000, second: 1000, millisecond: 1 }[name as string];
    const known = { name, ...(ms === undefined ? {} : { ms }) };
    return [name, ...short].map((each) => [each, known]);
  }),
);

const partOf = (value: unknown): { readonly name: string; readonly ms?: number } | undefined =>
  typeof value === 'string' && Object.hasOwn(PARTS, value.toLowerCase()) ? PARTS[value.toLowerCase()] : undefined;

/** Milliseconds and the 100 ns below them. */
interface Instant {
  readonly ms: number;
  readonly rest: number;
}

function parse(value: unknown): Instant | undefined {
  if (typeof value !== 'string') return undefined;
  const found = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.(\d{1,7}))?)?Z?)?$/.exec(value);
  const ms = Date.parse(value.endsWith('Z') || !value.includes('T') ? value : `${value}Z`);
  if (!found || Number.isNaN(ms)) return undefined;
  return { ms, rest: Number((found[1] ?? '').padEnd(7, '0').slice(3)) };
}

function print({ ms, rest }: Instant): string | undefined {
  const carried = ms + Math.floor(rest / TICKS_PER_MS);
  if (!(carried >= FIRST_MS && carried <= LAST_MS)) return undefined;
  const below = ((rest % TICKS_PER_MS) + TICKS_PER_MS) % TICKS_PER_MS;
  return new Date(carried).toISOString().replace('Z', `${String(below).padStart(4, '0')}Z`);
}

/** The service has 64 bits for it; a double holds every second tick only from 1998 on. */
const ticksOf = ({ ms, rest }: Instant): number => Number(BigInt(ms) * BigInt(TICKS_PER_MS) + BigInt(rest));

function add(name: unknown, count: unknown, date: unknown): string | undefined {
  const found = partOf(name);
  const at = parse(date);
  if (!found || !at || !whole(count)) return undefined;
  if (found.ms !== undefined) return print({ ms: at.ms + count * found.ms, rest: at.rest });
  if (found.name === 'microsecond') return print({ ms: at.ms, rest: at.rest + count * 10 });
  if (found.name === 'nanosecond') return print({ ms: at.ms, rest: at.rest + Math.trunc(count / 100) });
  const moved = new Date(at.ms);
  const day = moved.getUTCDate();
  moved.setUTCDate(1);
  if (found.name === 'year') moved.setUTCFullYear(moved.getUTCFullYear() + count);
  else moved.setUTCMonth(moved.getUTCMonth() + count);
  // A day that a shorter month lacks becomes its last day.
  const last = new Date(Date.UTC(moved.getUTCFullYear(), moved.getUTCMonth() + 1, 0)).getUTCDate();
  moved.setUTCDate(Math.min(day, last));
  return print({ ms: moved.getTime(), rest: at.rest });
}

/** How many boundaries of the part are between the two times. */
function diff(name: unknown, from: unknown, to: unknown): number | undefined {
  const found = partOf(name);
  const [a, b] = [parse(from), parse(to)];
  if (!found || !a || !b) return undefined;
  const [x, y] = [new Date(a.ms), new Date(b.ms)];
  if (found.name === 'year') return y.getUTCFullYear() - x.getUTCFullYear();
  if (found.name === 'month') {
    return (y.getUTCFullYear() - x.getUTCFullYear()) * 12 + y.getUTCMonth() - x.getUTCMonth();
  }
  if (found.ms !== undefined) return Math.floor(b.ms / found.ms) - Math.floor(a.ms / found.ms);
  const ticks = (b.ms - a.ms) * TICKS_PER_MS + b.rest - a.rest;
  return found.name === 'microsecond' ? Math.trunc(ticks / 10) : ticks * 100;
}

function bin(date: unknown, name: unknown, size: unknown, origin: unknown): string | undefined {
  const at = parse(date);
  const found = partOf(name);
  const start = parse(origin);
  if (!at || !found || !start || !whole(size) || size <= 0 || found.ms === undefined) return undefined;
  const step = found.ms * size;
  return print({ ms: start.ms + Math.floor((at.ms - start.ms) / step) * step, rest: start.rest });
}

function fromParts(parts: readonly unknown[]): string | undefined {
  const [year, month, day, hour = 0, minute = 0, second = 0, fraction = 0] = parts;
  if (!whole(year) || !whole(month) || !whole(day) || !whole(hour) || !whole(minute) || !whole(second))
    return undefined;
  if (!whole(fraction) || fraction < 0 || fraction > 9_999_999 || year < 1 || year > 9999) return undefined;
  const text = [month, day, hour, minute, second].map((value) => String(value).padStart(2, '0'));
  const iso = `${String(year).padStart(4, '0')}-${text[0]}-${text[1]}T${text[2]}:${text[3]}:${text[4]}.${String(fraction).padStart(7, '0')}Z`;
  const at = parse(iso);
  // `Date` reads a 31st of February as a day in March.
  return at && print(at) === iso ? iso : undefined;
}

function part(name: unknown, date: unknown): number | undefined {
  const found = partOf(name);
  const at = parse(date);
  if (!found || !at) return undefined;
  const [day = '', time = ''] = new Date(at.ms).toISOString().split('T');
  const [year, month, dayOfMonth] = day.split('-');
  const [hour, minute, second] = time.split(/[:.]/);
  const ticks = (((at.ms % 1000) + 1000) % 1000) * TICKS_PER_MS + at.rest;
  const values: Record<string, number> = {
    year: Number(year),
    month: Number(month),
    day: Number(dayOfMonth),
    hour: Number(hour),
    minute: Number(minute),
    second: Number(second),
    millisecond: Math.floor(ticks / TICKS_PER_MS),
    microsecond: Math.floor(ticks / 10),
    nanosecond: ticks * 100,
  };
  return values[found.name];
}

const instant = (ms: number): Instant => ({ ms: Math.floor(ms), rest: 0 });

export const DATE_FUNCTIONS: Readonly<Record<string, Fn>> = {
  GETCURRENTDATETIME: fn(0, 0, (_, { now }) => print(instant(now()))),
  GETCURRENTDATETIMESTATIC: fn(0, 0, (_, { began }) => print(instant(began))),
  GETCURRENTTIMESTAMP: fn(0, 0, (_, { now }) => instant(now()).ms),
  GETCURRENTTIMESTAMPSTATIC: fn(0, 0, (_, { began }) => instant(began).ms),
  GETCURRENTTICKS: fn(0, 0, (_, { now }) => ticksOf(instant(now()))),
  GETCURRENTTICKSSTATIC: fn(0, 0, (_, { began }) => ticksOf(instant(began))),
  DATETIMEADD: fn(3, 3, ([name, count, date]) => add(name, count, date)),
  DATETIMEDIFF: fn(3, 3, ([name, from, to]) => diff(name, from, to)),
  DATETIMEBIN: fn(2, 4, ([date, name, size = 1, origin = '1970-01-01T00:00:00.0000000Z']) =>
    bin(date, name, size, origin),
  ),
  DATETIMEFROMPARTS: fn(3, 7, fromParts),
  DATETIMEPART: fn(2, 2, ([name, date]) => part(name, date)),
  DATETIMETOTICKS: fn(1, 1, ([date]) => {
    const at = parse(date);
    return at && ticksOf(at);
  }),
  DATETIMETOTIMESTAMP: fn(1, 1, ([date]) => parse(date)?.ms),
  TICKSTODATETIME: fn(1, 1, ([ticks]) => {
    if (!isNumber(ticks) || !Number.isInteger(ticks)) return undefined;
    return print({ ms: Math.trunc(ticks / TICKS_PER_MS), rest: ticks % TICKS_PER_MS });
  }),
  TIMESTAMPTODATETIME: fn(1, 1, ([ms]) => (whole(ms) ? print({ ms, rest: 0 }) : undefined)),
};
