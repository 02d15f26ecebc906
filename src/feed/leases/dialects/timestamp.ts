/**
 * When a lease was written, milliseconds since 1970: .NET's ISO 8601 with seven fractional digits, Java's Instant, older
 * Java's with a zone in brackets, or seconds since 1970 as in `_ts`. Undefined where it is none of these.
 */
export function parseTimestamp(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value * 1000 : undefined;
  if (typeof value !== 'string') return undefined;
  const text = value.trim().replace(/\[[^\]]*\]$/, '');
  if (/^\d{9,11}$/.test(text)) return Number(text) * 1000;
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text)) return undefined;
  // Without a zone .NET and Java mean UTC; JavaScript would take it for local time.
  const at = Date.parse(/(Z|[+-]\d\d:?\d\d)$/i.test(text) ? text : `${text}Z`);
  return Number.isNaN(at) ? undefined : at;
}
