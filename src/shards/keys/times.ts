import type { KeyCodec } from './codec.ts';
import { keyCodeOf, numberOf } from './integers.ts';

// Times have ticks of 100 ns, which a `Date` can't hold. A bigint is a number of ticks: since 0001-01-01T00:00:00Z, as in
// .NET, or of the duration.

const SECOND = 10_000_000n;
const DAY = 86_400n * SECOND;
/** Ticks from 0001-01-01 to 1970-01-01. */
const TO_1970 = 621_355_968_000_000_000n;
/** The ticks of 10000-01-01, which is no time any more. */
const END = 3_155_378_976_000_000_000n;
const MAX = (1n << 63n) - 1n;

const POINT = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,7}))?(Z|[+-]\d\d:\d\d)$/;
const SPAN = /^(-)?(?:(\d{1,8})\.)?(\d\d):(\d\d):(\d\d)(?:\.(\d{1,7}))?$/;

const fraction = (digits = ''): bigint => BigInt(digits.padEnd(7, '0'));
const two = (number: bigint): string => number.toString().padStart(2, '0');

const inRange = (ticks: bigint | undefined): string | undefined =>
  ticks !== undefined && ticks >= 0n && ticks < END ? keyCodeOf(ticks, 64) : undefined;

function pointOf(value: unknown, zones: boolean): bigint | undefined {
  if (typeof value === 'bigint') return value;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? undefined : ticksOf(value.getTime());
  const [, seconds = '', digits, zone = ''] = typeof value === 'string' ? (POINT.exec(value) ?? []) : [];
  if (seconds === '' || (zone !== 'Z' && !zones)) return undefined;
  const ms = Date.parse(`${seconds}Z`);
  // `Date.parse` takes the 30th of February for the 2nd of March.
  if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 19) !== seconds) return undefined;
  const offset = offsetOf(zone);
  return offset === undefined ? undefined : ticksOf(ms) + fraction(digits) - offset;
}

const ticksOf = (ms: number): bigint => BigInt(ms) * 10_000n + TO_1970;

/** .NET knows offsets up to 14 hours. */
function offsetOf(zone: string): bigint | undefined {
  if (zone === 'Z') return 0n;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4, 6));
  if (minutes > 14 * 60 || Number(zone.slice(4, 6)) > 59) return undefined;
  return BigInt(zone.startsWith('-') ? -minutes : minutes) * 60n * SECOND;
}

const pointText = (code: string): string => {
  const ticks = numberOf(code, 64);
  const seconds = new Date(Number((ticks - (ticks % SECOND) - TO_1970) / 10_000n)).toISOString().slice(0, 19);
  return `${seconds}.${(ticks % SECOND).toString().padStart(7, '0')}`;
};

/** A time in UTC. A time without a zone is refused: each machine would read another one. */
export const dateTime: KeyCodec = {
  encode: (value) => inRange(pointOf(value, false)),
  toJson: (code) => `${pointText(code)}Z`,
  accepts: 'a Date, text in UTC such as 2026-03-01T00:00:00.1234567Z, or ticks of 100 ns since the year 1 as bigint',
};

/** Two texts of one moment are one key, whatever their offsets, so documents have it in UTC. */
export const dateTimeOffset: KeyCodec = {
  encode: (value) => inRange(pointOf(value, true)),
  toJson: (code) => `${pointText(code)}+00:00`,
  accepts: 'a Date, text with an offset such as 2026-03-01T00:00:00+01:00, or ticks in UTC as bigint',
};

/** In documents as `d.hh:mm:ss.fffffff`, with all parts. */
export const keyDuration: KeyCodec = {
  encode: (value) => {
    const ticks = typeof value === 'bigint' ? value : spanOf(value);
    return ticks !== undefined && ticks <= MAX && ticks >= -MAX - 1n ? keyCodeOf(ticks, 64) : undefined;
  },
  toJson: (code) => {
    const ticks = numberOf(code, 64);
    const whole = ticks < 0n ? -ticks : ticks;
    const seconds = whole / SECOND;
    const clock = [(seconds / 3_600n) % 24n, (seconds / 60n) % 60n, seconds % 60n].map(two).join(':');
    return `${ticks < 0n ? '-' : ''}${whole / DAY}.${clock}.${(whole % SECOND).toString().padStart(7, '0')}`;
  },
  accepts: 'text such as 1.02:03:04.5678901 (days, hours, minutes, seconds), or ticks of 100 ns as bigint',
};

function spanOf(value: unknown): bigint | undefined {
  const found = typeof value === 'string' ? SPAN.exec(value) : null;
  if (!found) return undefined;
  const [, minus, days = '0', hours = '', minutes = '', seconds = '', digits] = found;
  if (Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59) return undefined;
  const clock = (BigInt(hours) * 60n + BigInt(minutes)) * 60n + BigInt(seconds);
  const ticks = BigInt(days) * DAY + clock * SECOND + fraction(digits);
  return minus === undefined ? ticks : -ticks;
}
