const DATE = /^(\d{4})([-/])(\d\d)\2(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:?\d\d)?)?$/i;

/** Seconds would reach this in the year 5138, milliseconds in 1973. */
export const MILLISECONDS_FROM = 1e11;
/** The first and the last millisecond of what is a date: years have four digits, so that their text sorts by time. */
export const FIRST_DATE = -62_135_596_800_000;
export const LAST_DATE = 253_402_300_799_999;

/** As Date.UTC, which takes the years 0 to 99 for 1900 to 1999. */
export function utc(year: number, month: number, day: number, ...time: readonly number[]): number {
  const [hour = 0, minute = 0, second = 0] = time;
  const date = new Date(0);
  date.setUTCFullYear(year, month, day);
  return date.setUTCHours(hour, minute, second);
}

/**
 * A document's date as milliseconds since 1970. Text: `2001-02-01` or `2001/02/01`, optionally followed by `T` or a blank
 * and a time to the minute, second or fraction, and a zone; the default zone is UTC. A number counts seconds, from 10^11
 * on and below −10^11 milliseconds. Undefined if the value isn't a date of the years 1 to 9999; a 30th of February isn't.
 */
export function parseDate(value: unknown): number | undefined {
  if (typeof value === 'number') {
    return inRange(Math.abs(value) < MILLISECONDS_FROM ? value * 1000 : value);
  }
  const found = typeof value === 'string' ? DATE.exec(value) : null;
  if (!found) return undefined;
  const [, year, , month, day, hour = '0', minute = '0', second = '0', fraction = '', zone = 'Z'] = found;
  const parts = [Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second)] as const;
  const ms = utc(...parts);
  const date = new Date(ms);
  const back = [
    date.getUTCFullYear(),
    date.getUTCMonth(),
    date.getUTCDate(),
    date.getUTCHours(),
    date.getUTCMinutes(),
    date.getUTCSeconds(),
  ];
  if (back.some((part, index) => part !== parts[index])) return undefined;
  return inRange(ms + Math.floor(Number(`0.${fraction || '0'}`) * 1000) - offset(zone));
}

const inRange = (ms: number): number | undefined => (ms >= FIRST_DATE && ms <= LAST_DATE ? ms : undefined);

function offset(zone: string): number {
  const [, sign, hours, minutes] = /^([+-])(\d\d):?(\d\d)$/.exec(zone) ?? [];
  if (sign === undefined) return 0;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}
