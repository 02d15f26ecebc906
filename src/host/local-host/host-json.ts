const ISO = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,7})?(Z|[+-]\d\d:\d\d)?$/;

/**
 * A document's dates as the Functions host hands them on: Newtonsoft.Json reads them and writes them in its own way.
 * Zeros at the end of a fraction go, offsets become those of the machine (UTC).
 */
export function rewriteDates(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rewriteDates);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, rewriteDates(member)]));
  if (typeof value !== 'string') return value;
  const [, whole, fraction = '', zone = ''] = ISO.exec(value) ?? [];
  if (whole === undefined) return value;
  const trimmed = fraction.replace(/\.?0+$/, '');
  if (zone === '' || zone === 'Z') return `${whole}${trimmed}${zone}`;
  const at = new Date(value);
  return Number.isNaN(at.getTime()) ? value : `${at.toISOString().slice(0, 19)}${trimmed}+00:00`;
}
