import { sharedError } from '../base/shared-errors.ts';
import { FIRST_DATE, parseDate, utc } from './date.ts';

const DAY_MS = 86_400_000;

export type WindowUnit = 'hour' | 'day' | 'week' | 'month' | 'year';

/**
 * The calendar window that a moment falls into, as text that sorts by time: `2026-11-21T14+01:00`, `2026-11-21`,
 * `2026-W47` (ISO 8601), `2026-11`, `2026`. An hour carries its offset, because the hour in which a clock goes back
 * occurs twice (these two sort in reverse order).
 * `at`: an ISO 8601 date, or seconds or milliseconds since 1970; `timeZone`: an IANA name.
 * @throws MillraceError `value-invalid`: Millrace parks the change
 */
export function timeWindow(at: string | number, unit: WindowUnit, timeZone = 'UTC'): string {
  const ms = parseDate(at);
  if (ms === undefined) {
    throw sharedError('value-invalid', `${JSON.stringify(at)} isn't a date, so it has no ${unit}`, {
      hint: 'Pass ISO 8601 text, or seconds or milliseconds since 1970. Or leave the document out with `where`.',
    });
  }
  const local = localTime(ms, timeZone);
  // The last day may be one of a year with five digits there, whose text would come before all others.
  if (local.year.length > 4)
    throw sharedError('value-invalid', `${JSON.stringify(at)} is in the year ${local.year} in ${timeZone}`, {
      hint: 'Leave the document out with `where`.',
    });
  if (unit === 'year') return local.year;
  if (unit === 'month') return `${local.year}-${local.month}`;
  const date = `${local.year}-${local.month}-${local.day}`;
  if (unit === 'day') return date;
  if (unit === 'hour') return `${date}T${local.hour}${local.offset}`;
  return isoWeek(Number(local.year), Number(local.month), Number(local.day));
}

interface LocalTime {
  readonly year: string;
  readonly month: string;
  readonly day: string;
  readonly hour: string;
  /** `+01:00` */
  readonly offset: string;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function localTime(ms: number, timeZone: string): LocalTime {
  const parts = Object.fromEntries(
    formatOf(timeZone)
      .formatToParts(ms)
      .map(({ type, value }) => [type, value]),
  );
  const { year = '', month = '', day = '', hour = '', timeZoneName = '' } = parts;
  // The day before the year 1 is in the year 1 before Christ, which ISO 8601 calls 0000.
  const isBefore = month === '12' && ms < FIRST_DATE + DAY_MS;
  return {
    year: isBefore ? '0000' : year.padStart(4, '0'),
    month,
    day,
    hour,
    offset: timeZoneName.replace('GMT', '') || '+00:00',
  };
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known) return known;
  try {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      calendar: 'iso8601',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      timeZoneName: 'longOffset',
    });
    formats.set(timeZone, format);
    return format;
  } catch (cause) {
    throw sharedError('value-invalid', `There is no time zone ${JSON.stringify(timeZone)}`, {
      hint: 'Use a name of the IANA time zone database, such as `Europe/Berlin`.',
      cause,
    });
  }
}

/** Weeks begin on Monday; a week belongs to the year of its Thursday, so week 1 has the year's first Thursday. */
function isoWeek(year: number, month: number, day: number): string {
  const date = new Date(utc(year, month - 1, day));
  const thursday = new Date(date.getTime() + (4 - (date.getUTCDay() || 7)) * DAY_MS);
  const first = utc(thursday.getUTCFullYear(), 0, 1);
  const week = Math.floor((thursday.getTime() - first) / DAY_MS / 7) + 1;
  return `${String(thursday.getUTCFullYear()).padStart(4, '0')}-W${String(week).padStart(2, '0')}`;
}
