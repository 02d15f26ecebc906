/**
 * When a lease was written, milliseconds since 1970. Reads .NET's ISO 8601 with seven fractional digits, Java's Instant,
 * old Java's form with a zone in brackets, and seconds since 1970 as in `_ts`. Undefined for any other form.
 */
export function parseTimestamp(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value * 1000 : undefined;
  if (typeof value !== 'string') return undefined;
  const text = value.trim().replace(/\[[^[\]]*\]$/, '');
  if (/^\d{9,11}$/.test(text)) return Number(text) * 1000;
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text)) return undefined;
  // Without a zone .NET and Java mean UTC, but JavaScript means local time.
  const at = Date.parse(/(Z|[+-]\d\d:?\d\d)$/i.test(text) ? text : `${text}Z`);
  return Number.isNaN(at) ? undefined : at;
}
