// Draws each table of docs/way-of-a-change.md as a picture beside it, a lane a room.
// Usage: node scripts/way-of-a-change.ts; test/docs/way-of-a-change.e2e.test.ts holds tables and pictures to the running code.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const DOCS = join(import.meta.dirname, '../docs');

/** A row of a table: where the change is, and what happens to it there. */
export interface Row {
  /** Below `src/`. */
  readonly file: string;
  readonly name: string;
  readonly what: string;
}

/** The tables of the page by their kind: `## A copy` has those of `copy`. */
export function readWays(markdown: string): Map<string, Row[]> {
  const ways = new Map<string, Row[]>();
  for (const section of markdown.split(/^## An? /m).slice(1)) {
    const kind = /^\w+/.exec(section)?.[0] ?? '';
    const rows = [...section.matchAll(/^\| \d+ \| `([^`]+)` \| `([^`]+)` \| (.+) \|$/gm)];
    ways.set(
      kind,
      rows.map(([, file = '', name = '', what = '']) => ({ file, name, what: what.trim() })),
    );
  }
  return ways;
}

const LANE = 132;
const ROW = 34;
const TOP = 62;
const BOX = { width: 122, height: 26 };
const TEXT = 470;

/** A picture of one table: from the top to the bottom as the change goes. */
export function draw(kind: string, rows: readonly Row[]): string {
  const lanes = [...new Set(rows.map(({ file }) => laneOf(file)))];
  const width = 20 + lanes.length * LANE + TEXT;
  const height = TOP + rows.length * ROW + 16;
  const at = (row: Row, index: number): { x: number; y: number } => ({
    x: 20 + lanes.indexOf(laneOf(row.file)) * LANE + BOX.width / 2,
    y: TOP + index * ROW + BOX.height / 2,
  });
  const heads = lanes.map((lane, index) => {
    const x = 20 + index * LANE;
    return `<rect class="lane${index % 2}" x="${x - 5}" y="12" width="${LANE}" height="${height - 24}" rx="6" /><text class="head" x="${x + BOX.width / 2}" y="36">${lane}</text>`;
  });
  const lines = rows.slice(1).map((row, index) => {
    const [from, to] = [at(rows[index] ?? row, index), at(row, index + 1)];
    const edge = to.x === from.x ? 0 : Math.sign(to.x - from.x) * (BOX.width / 2);
    return edge === 0
      ? `<path class="way" d="M${from.x} ${from.y + BOX.height / 2} V${to.y - BOX.height / 2 - 1}" />`
      : `<path class="way" d="M${from.x + edge} ${from.y} H${to.x} V${to.y - BOX.height / 2 - 1}" />`;
  });
  const boxes = rows.map((row, index) => {
    const { x, y } = at(row, index);
    const name = row.file.split('/').at(-1)?.replace('.ts', '') ?? '';
    const left = 20 + lanes.length * LANE + 6;
    return [
      `<rect class="box" x="${x - BOX.width / 2}" y="${y - BOX.height / 2}" width="${BOX.width}" height="${BOX.height}" rx="5" />`,
      `<text x="${x}" y="${y + 4}">${escape(name)}</text>`,
      `<text class="what" x="${left}" y="${y + 4}"><tspan class="number">${index + 1}</tspan> ${escape(row.what)}</text>`,
    ].join('');
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12.5" role="img" aria-label="The way of a change through a ${kind}: ${rows.map(({ file }) => file).join(', ')}">
<style>.lane0{fill:#f6f8fa}.lane1{fill:#fff}.box{fill:#ddf4ff;stroke:#0969da}text{fill:#1f2328;text-anchor:middle}.head{font-weight:600;fill:#57606a}.what{text-anchor:start}.number{font-weight:600;fill:#0969da}.way{stroke:#57606a;stroke-width:1.6;fill:none;marker-end:url(#tip)}</style>
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="#57606a" /></marker></defs>
<rect width="${width}" height="${height}" fill="#fff" />
${[...heads, ...lines, ...boxes].join('\n')}
</svg>
`;
}

/** `feed/reading`, `engine`: the room, and its floor where it is the feed. */
const laneOf = (file: string): string =>
  file
    .split('/')
    .slice(0, file.startsWith('feed/') ? 2 : 1)
    .join('/');

const escape = (text: string): string =>
  text.replaceAll('`', '').replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** The picture of a table, in `docs/`. */
export const fileOf = (kind: string): string => (kind === 'copy' ? 'way-of-a-change.svg' : `way-of-an-${kind}.svg`);

if (import.meta.main) {
  for (const [kind, rows] of readWays(readFileSync(join(DOCS, 'way-of-a-change.md'), 'utf8')))
    writeFileSync(join(DOCS, fileOf(kind)), draw(kind, rows));
}
