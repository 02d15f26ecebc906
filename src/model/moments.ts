// Text that is a moment, as JSON writes it, and the same moment as PostgreSQL's timestamptz holds it.

const MOMENT = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(Z|[+-]\d{2}:?\d{2})$/;

/** Whether an example's value says that its field is a moment in UTC. */
export const isUtcMoment = (value: unknown): boolean =>
  typeof value === 'string' && value.endsWith('Z') && typeof momentOf(value) === 'object';

/**
 * The moment as UTC text with six decimals of a second; otherwise why it isn't one that timestamptz holds exactly. The
 * offset of the text isn't kept: it says where, not when.
 */
export function momentOf(value: string): { readonly utc: string } | string {
  const parts = MOMENT.exec(value);
  if (!parts) return 'is no date with a time and a time zone (ISO 8601, such as 2026-03-01T10:15:00Z)';
  const [, year = '', month, day, hour, minute, second = '00', fraction = '', zone = 'Z'] = parts;
  if (/[1-9]/.test(fraction.slice(6))) return 'has more than six decimals of a second, which timestamptz doesn’t hold';
  const text = `${year}-${month}-${day}T${hour}:${minute}:${second}Z`;
  const ms = Date.parse(text);
  // Date.parse takes 31 February for 3 March, and 24:00 for the next day.
  if (!Number.isFinite(ms) || `${new Date(ms).toISOString().slice(0, 19)}Z` !== text)
    return 'is a date that doesn’t exist';
  const offset = zone === 'Z' ? 0 : offsetOf(zone);
  if (offset === undefined) return 'has a time zone that doesn’t exist';
  const moment = new Date(ms - offset * 60_000).toISOString();
  if (!/^\d{4}-/.test(moment) || moment.startsWith('0000')) return 'is out of the range of years 1 to 9999';
  return { utc: `${moment.slice(0, 19)}.${fraction.slice(0, 6).padEnd(6, '0')}Z` };
}

/** Minutes. */
function offsetOf(zone: string): number | undefined {
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(-2))];
  if (hours > 15 || minutes > 59) return undefined;
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}

/** Why a text is no date of a calendar; undefined: it is one. */
export function wrongDay(value: string): string | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(value)) return 'is no date such as 2026-03-01';
  const ms = Date.parse(`${value}T00:00:00Z`);
  if (!Number.isFinite(ms) || new Date(ms).toISOString().slice(0, 10) !== value) return 'is a date that doesn’t exist';
  return value.startsWith('0000') ? 'is out of the range of years 1 to 9999' : undefined;
}
