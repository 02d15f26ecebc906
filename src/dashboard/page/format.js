// Figures as texts. An unknown figure is a dash, never a zero.

export const count = (value) => (typeof value === 'number' ? value.toLocaleString('en-US') : '–');

/** `1 change`, `2 changes`. */
export const plural = (value, noun) => `${count(value)} ${noun}${value === 1 ? '' : 's'}`;

export function rate(value) {
  if (typeof value !== 'number') return '–';
  return value.toLocaleString('en-US', { maximumFractionDigits: value < 10 ? 1 : 0 });
}

/** Seconds as the largest two units. */
export function duration(seconds) {
  if (typeof seconds !== 'number' || !Number.isFinite(seconds)) return '–';
  if (seconds < 1) return seconds <= 0 ? '0\u00a0s' : 'under 1\u00a0s';
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [Math.floor(seconds) % 60, 's'],
  ];
  const first = parts.findIndex(([value]) => value > 0);
  return (
    parts
      .slice(first, first + 2)
      .filter(([value]) => value > 0)
      // A number and its unit stay on one line.
      .map(([value, unit]) => `${value}\u00a0${unit}`)
      .join(' ')
  );
}

export function bytes(value) {
  if (typeof value !== 'number') return '–';
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  const at = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(value) / 3));
  return `${(value / 1000 ** at).toLocaleString('en-US', { maximumFractionDigits: at === 0 ? 0 : 1 })}\u00a0${units[at]}`;
}

/** ISO 8601 without parts of a second. */
export const time = (iso) => (typeof iso === 'string' ? `${iso.slice(0, 19).replace('T', ' ')}Z` : '–');

/** `6 min ago`, `in 2 h`: one unit, so that it seldom changes while it is read. */
export function ago(iso, now = Date.now()) {
  if (typeof iso !== 'string') return '–';
  const seconds = (now - Date.parse(iso)) / 1000;
  const [text] = duration(Math.max(1, Math.abs(seconds))).split(' ');
  return seconds < -1 ? `in ${text}` : `${text} ago`;
}

/** A lease's or a source's lag. */
export function lag(value) {
  if (!value) return '–';
  if (!value.known) return 'unknown';
  if (value.changes === 0) return 'none';
  const left = plural(value.changes, 'change');
  return value.ageMs === null ? left : `${left}, ${duration(value.ageMs / 1000)}`;
}

export const clip = (text, most = 80) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
