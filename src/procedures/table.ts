import { styleText } from 'node:util';

/** Columns of the terminal that texts are made for. Without a terminal they are whole, and have no colours. */
let terminal = Infinity;

/** Makes tables fit the width of a terminal, and texts have colours, from now on in this process. */
export const forTerminal = (columns: number): void => void (terminal = columns);

/** A text with a colour, if it is for a terminal that shows it. */
export const styled = (format: Parameters<typeof styleText>[0], text: string): string =>
  terminal === Infinity ? text : styleText(format, text, { stream: process.stdout });

/** Rows as aligned columns; numbers to the right, with a separator for thousands. The cells of wide columns are wrapped. */
export function textTable(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const cells = [head, ...rows.map((row) => row.map(cell))];
  const right = head.map((_, column) => rows.length > 0 && rows.every((row) => typeof row[column] === 'number'));
  const widest = (column: number, of = cells): number => Math.max(...of.map((row) => (row[column] ?? '').length));
  const widths = narrowed(
    head.map((_, column) => widest(column)),
    // A number isn't wrapped, but what stands above it is.
    right.map((isNumber, column) => (isNumber ? widest(column, cells.slice(1)) : NARROWEST)),
  );
  return cells
    .flatMap((row, at) => {
      const wrapped = widths.map((width, column) => wrap(row[column] ?? '', width));
      const lines = Array.from({ length: Math.max(...wrapped.map(({ length }) => length)) }, (_, line) =>
        widths
          .map((width, column) => {
            const text = wrapped[column]?.[line] ?? '';
            return right[column] ? text.padStart(width) : text.padEnd(width);
          })
          .join('  ')
          .trimEnd(),
      );
      return at === 0 ? lines.map((line) => styled('bold', line)) : lines;
    })
    .join('\n');
}

/** A column of texts isn't made narrower than this. */
const NARROWEST = 5;

/** The widths of columns that fit the terminal: the widest give way. As they are, if even the `least` don't fit. */
function narrowed(widths: readonly number[], least: readonly number[]): readonly number[] {
  const next = [...widths];
  for (let over = next.reduce((sum, width) => sum + width + 2, -2) - terminal; over > 0; over--) {
    const [widest] = [...next.keys()].filter((at) => next[at]! > least[at]!).toSorted((a, b) => next[b]! - next[a]!);
    if (widest === undefined) return widths;
    next[widest]! -= 1;
  }
  return next;
}

/** Lines of at most so many characters, cut after a space or a slash where there is one. */
function wrap(text: string, width: number): string[] {
  if (text.length <= width) return [text];
  const space = text.lastIndexOf(' ', width);
  const cut = space > 0 ? space : text.lastIndexOf('/', width - 1) + 1 || width;
  return [text.slice(0, cut), ...wrap(text.slice(cut).trimStart(), width)];
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

/** How long ago something was, from its time as ISO 8601: `5 min ago`; nothing for none. */
export const agoText = (at: string | null | undefined): string =>
  at == null ? '' : `${ageText((Date.now() - Date.parse(at)) / 1_000)} ago`;

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
