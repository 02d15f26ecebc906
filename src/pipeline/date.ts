const DATE = /^(\d{4})([-/])(\d\d)\2(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:?\d\d)?)?$/i;

/** Seconds would reach this in the year 5138, milliseconds in 1973. */
const MILLISECONDS_FROM = 1e11;

/**
 * A document's date as milliseconds since 1970. Text: `2001-02-01` or `2001/02/01`, optionally followed by `T` or a blank
 * and a time to the minute, second or fraction, and a zone; the default zone is UTC. A number counts seconds, from 10^11
 * on milliseconds. Undefined if the value isn't a date; a 30th of February isn't.
 */
export function parseDate(value: unknown): number | undefined {
  if (typeof value === 'number') {
    if (!Number.isFinite(value) || value < 0 || value > 8.64e15) return undefined;
    return value < MILLISECONDS_FROM ? value * 1000 : value;
  }
  const found = typeof value === 'string' ? DATE.exec(value) : null;
  if (!found) return undefined;
  const [, year, , month, day, hour = '0', minute = '0', second = '0', fraction = '', zone = 'Z'] = found;
  const parts = [Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second)] as const;
  const ms = Date.UTC(...parts);
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
  return ms + Math.floor(Number(`0.${fraction || '0'}`) * 1000) - offset(zone);
}

function offset(zone: string): number {
  const [, sign, hours, minutes] = /^([+-])(\d\d):?(\d\d)$/.exec(zone) ?? [];
  if (sign === undefined) return 0;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}
