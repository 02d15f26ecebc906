/** Rows as aligned columns; numbers to the right, with a separator for thousands. */
export function textTable(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const cells = [head, ...rows.map((row) => row.map(cell))];
  const widths = head.map((_, column) => Math.max(...cells.map((row) => (row[column] ?? '').length)));
  const right = head.map((_, column) => rows.length > 0 && rows.every((row) => typeof row[column] === 'number'));
  return cells
    .map((row) =>
      row
        .map((text, column) => (right[column] ? text.padStart(widths[column] ?? 0) : text.padEnd(widths[column] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

const cell = (value: string | number): string =>
  typeof value === 'number' ? value.toLocaleString('en-US', { maximumFractionDigits: 2 }) : value;

/** `1 change`, `2 changes`. */
export const plural = (count: number, word: string): string =>
  `${count.toLocaleString('en-US')} ${word}${count === 1 ? '' : 's'}`;

/** The beginning of a text that is too long for its column. */
export const clip = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** A time for people: `12 s`, `5 min`, `3 h`, `4 d`. */
export function ageText(seconds: number): string {
  const [of, unit] = AGES.find(([least]) => seconds >= least) ?? [1, 's'];
  return `${Math.max(0, Math.floor(seconds / of))} ${unit}`;
}

const AGES = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
] as const;

/** How long a feed takes to catch up, seconds; null: not known. */
export const catchUpText = (catchUp: number | 'never' | null): string =>
  catchUp === null ? '' : catchUp === 'never' ? 'never at this rate' : `${catchUp.toLocaleString('en-US')} s`;

/** Bytes for people: `340 B`, `1.2 KB`, `57 MB`; decimal, like the Azure portal. */
export function size(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let left = bytes;
  let unit = 0;
  for (; left >= 999.5 && unit < units.length - 1; unit++) left /= 1000;
  return `${unit > 0 && left < 9.95 ? left.toFixed(1) : Math.round(left)} ${units[unit] ?? ''}`;
}
