// A model as one SVG: columns of boxes from left to right, a curve for each projection. It needs no script and no font.
import { clipped, escaped } from '../html/charts.ts';
import type { Mark, Marks } from '../about.ts';
import type { Box, Graph, Line } from './graph.ts';

const [WIDTH, GAP, PAD, ROW, APART] = [250, 170, 12, 18, 26];

const STYLE = `.model { color-scheme: light dark; --ink: #1d1f23; --faint: #656a73; --edge: #3b6fb6; --box: #fff; --bad: #b3261e; --warn: #8a5a00; }
@media (prefers-color-scheme: dark) { .model { --ink: #e8e9eb; --faint: #9aa1ab; --edge: #6f9fe0; --box: #1d2024; --bad: #ff9d94; --warn: #f0c36a; } }
.model text { font: 12.5px system-ui, sans-serif; fill: var(--ink); } .model .name { font-weight: 650; } .model .faint { fill: var(--faint); }
.model rect { fill: var(--box); stroke: var(--faint); } .model .derived { stroke: var(--edge); stroke-dasharray: 4; }
.model path { fill: none; stroke: var(--edge); stroke-width: 1.4; } .model .joined { stroke-dasharray: 2 4; } .model marker path { fill: var(--edge); }
.model .over { paint-order: stroke; stroke: var(--box); stroke-width: 4; stroke-linejoin: round; }
.model .marked { stroke-width: 2; } .model .marked.error { stroke: var(--bad); } .model .marked.warning { stroke: var(--warn); } .model .mark { font-weight: 650; } .model .mark.error { fill: var(--bad); } .model .mark.warning { fill: var(--warn); }`;

interface Placed extends Box {
  readonly x: number;
  readonly y: number;
  readonly height: number;
}

const NO_MARKS: Marks = { containers: new Map(), projections: new Map() };

/**
 * `alone`: as a file. Inside HTML a drawing needs no address of its language. `marks`: findings, each with a link to the
 * first of its box or curve.
 */
export function svgOf(graph: Graph, alone: boolean, marks = NO_MARKS): string {
  const placed = place(graph, marks);
  const all = [...placed.values()];
  const width = Math.max(0, ...all.map(({ x }) => x + WIDTH)) + PAD;
  const height = Math.max(0, ...all.map((box) => box.y + box.height)) + PAD;
  const curves = graph.lines.map((line) => curve(line, graph.lines, placed, marks.projections.get(line.name)));
  return `<svg class="model"${alone ? ' xmlns="http://www.w3.org/2000/svg"' : ''} viewBox="0 0 ${width} ${height}" role="${marks.containers.size + marks.projections.size > 0 ? 'group' : 'img'}" aria-label="${escaped(`Containers and projections of ${graph.title}`)}" style="min-width:${width}px;max-width:${Math.ceil(1.5 * width)}px"><style>${STYLE}</style><defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8Z"/></marker></defs>${curves.map(([path]) => path).join('')}${curves.map(([, label]) => label).join('')}${all.map((box) => drawn(box, marks.containers.get(box.name))).join('')}</svg>`;
}

function place({ boxes, lines }: Graph, { containers }: Marks): Map<string, Placed> {
  const below = new Map<number, number>();
  return new Map(
    boxes.map((box) => {
      const y = below.get(box.column) ?? PAD;
      const arriving = lines.filter(({ to }) => to === box.name).length;
      const height = Math.max(
        2 * PAD + ROW * (linesOf(box).length + (containers.has(box.name) ? 1 : 0)),
        ROW * (arriving + 1),
      );
      below.set(box.column, y + height + APART);
      return [box.name, { ...box, x: PAD + box.column * (WIDTH + GAP), y, height }];
    }),
  );
}

const linesOf = ({ name, key, types }: Box): readonly (readonly [text: string, style: string])[] => [
  [name, 'name'],
  ...(key === undefined ? [] : [[key, 'faint'] as const]),
  ...types.map((type) => [type, ''] as const),
];

const linked = (mark: Mark, text: string): string => `<a href="#finding-${mark.first + 1}">${text}</a>`;

function drawn(box: Placed, mark: Mark | undefined): string {
  const { x, y, height, derived } = box;
  const lines = [...linesOf(box), ...(mark ? [[`▲ ${mark.text}`, `mark ${mark.severity}`] as const] : [])];
  const texts = lines.map(([text, style], at) => {
    const line = `<text class="${style}" x="${x + PAD}" y="${y + PAD + ROW * (at + 0.75)}">${escaped(clipped(text, WIDTH))}</text>`;
    return mark && at === lines.length - 1 ? linked(mark, line) : line;
  });
  return `<g><title>${escaped(box.name)}</title><rect class="${[derived ? 'derived' : '', mark ? `marked ${mark.severity}` : ''].filter(Boolean).join(' ')}" x="${x}" y="${y}" width="${WIDTH}" height="${height}" rx="8"/>${texts.join('')}</g>`;
}

/** Where a line meets its box: all lines of one side are spread over its height. */
function meets(line: Line, all: readonly Line[], { y, height }: Placed): number {
  return y + (height * (all.indexOf(line) + 1)) / (all.length + 1);
}

function curve(
  line: Line,
  lines: readonly Line[],
  placed: ReadonlyMap<string, Placed>,
  mark: Mark | undefined,
): readonly [path: string, label: string] {
  const { from, to, name, kind, joined } = line;
  const [one, other] = [placed.get(from), placed.get(to)];
  if (!one || !other) return ['', ''];
  const leaving = lines.filter((of) => of.from === from);
  const arriving = lines.filter((of) => of.to === to);
  const [x1, y1] = [one.x + WIDTH, meets(line, leaving, one)];
  const [x2, y2] = [other.x, meets(line, arriving, other)];
  // To the same column or back, a curve leaves on the right and comes in from the left as well.
  const bend = x2 > x1 ? (x2 - x1) / 2 : WIDTH / 2;
  const label = `<text class="over ${mark ? `mark ${mark.severity}` : 'faint'}" text-anchor="end" x="${x2 - 12}" y="${(y2 - 5).toFixed(1)}">${escaped(clipped(mark ? `▲ ${name}` : name, GAP))}</text>`;
  const text = joined ? '' : mark ? linked(mark, label) : label;
  const title = `<title>${escaped(`${name}: ${kind} from ${from} to ${to}${mark ? `; ${mark.text}` : ''}`)}</title>`;
  // Labels come after all curves, so that none crosses them.
  const path = `<g>${title}<path${joined ? ' class="joined"' : ''} marker-end="url(#tip)" d="M${x1} ${y1.toFixed(1)}C${x1 + bend} ${y1.toFixed(1)} ${x2 - bend} ${y2.toFixed(1)} ${x2} ${y2.toFixed(1)}"/></g>`;
  return [path, text === '' ? '' : `<g>${title}${text}</g>`];
}
