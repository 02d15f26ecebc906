const ISO = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,7})?(Z|[+-]\d\d:\d\d)?$/;

/**
 * Writes the dates of a document as the Functions host does, whose Newtonsoft.Json parses and formats them: without zeros
 * at the end of a fraction, and with offsets converted to the machine's (UTC).
 */
export function rewriteDates(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rewriteDates);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, rewriteDates(member)]));
  if (typeof value !== 'string') return value;
  const [, whole, fraction = '', zone = ''] = ISO.exec(value) ?? [];
  if (whole === undefined) return value;
  const trimmed = fraction.replace(/(?<!0)\.?0+$/, '');
  if (zone === '' || zone === 'Z') return `${whole}${trimmed}${zone}`;
  const at = new Date(value);
  return Number.isNaN(at.getTime()) ? value : `${at.toISOString().slice(0, 19)}${trimmed}+00:00`;
}
