import type { Point, Series } from './series.ts';

const [WIDTH, HEIGHT, COLUMNS] = [230, 190, 4];
const PLOT = { left: 34, top: 34, width: 180, height: 120 };
/** Of a unit of work, ÷ that of the first n. */
const [LEAST, MOST] = [0.01, 10];
const LINES = [
  { of: 'cpuMs', text: 'processor time', colour: '#0969da' },
  { of: 'requests', text: 'requests', colour: '#9a6700' },
  { of: 'charge', text: 'RU', colour: '#1a7f37' },
] as const;

/** A panel a series: cost of a unit of work over n, both axes logarithmic. A flat line grows as its work. */
export function growthPicture(
  series: readonly (Pick<Series, 'title'> & { readonly points: readonly Point[] })[],
): string {
  const rows = Math.ceil((series.length + 1) / COLUMNS);
  const at = (index: number): string =>
    `translate(${(index % COLUMNS) * WIDTH} ${Math.floor(index / COLUMNS) * HEIGHT})`;
  const panels = series.map(({ title, points }, index) => `<g transform="${at(index)}">${panel(title, points)}</g>`);
  const legend = LINES.map(
    ({ text, colour }, n) =>
      `<path d="M34 ${60 + n * 24}h24" stroke="${colour}"/><text x="66" y="${64 + n * 24}">${text}</text>`,
  );
  const said = 'Processor time, requests and RU of a unit of work over n, divided by those of the first n';
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH * COLUMNS} ${HEIGHT * rows}" font-family="system-ui, sans-serif" font-size="11" role="img" aria-label="${said}">`,
    '<style>path, line { fill: none; stroke-width: 2 } line { stroke: #d0d7de; stroke-width: 1 } text { fill: #1f2328 }</style>',
    `<rect width="100%" height="100%" fill="#ffffff"/>`,
    ...panels,
    `<g transform="${at(series.length)}">${legend.join('')}</g>`,
    '</svg>\n',
  ].join('\n');
}

function panel(title: string, points: readonly Point[]): string {
  const { left, top, width, height } = PLOT;
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) return '';
  const span = Math.log(last.n / first.n) || 1;
  const x = (n: number): number => left + (width * Math.log(n / first.n)) / span;
  const y = (ratio: number): number => {
    const within = Math.min(MOST, Math.max(LEAST, ratio));
    return top + height * (1 - Math.log(within / LEAST) / Math.log(MOST / LEAST));
  };
  const grid = [0.01, 0.1, 1, 10].map(
    (ratio) =>
      `<line x1="${left}" x2="${left + width}" y1="${y(ratio)}" y2="${y(ratio)}"/><text x="${left - 5}" y="${y(ratio) + 4}" text-anchor="end">${ratio}</text>`,
  );
  const marks = points.map(
    ({ n }) => `<text x="${x(n).toFixed(0)}" y="${top + height + 15}" text-anchor="middle">${short(n)}</text>`,
  );
  const lines = LINES.map(({ of, colour }) => {
    const way = points.map((point) => `${x(point.n).toFixed(1)} ${y(point[of] / first[of]).toFixed(1)}`).join('L');
    return `<path d="M${way}" stroke="${colour}"/>`;
  });
  return [`<text x="${left}" y="18" font-weight="600">${title}</text>`, ...grid, ...marks, ...lines].join('');
}

const short = (n: number): string => (n >= 1_000 ? `${n / 1_000}k` : String(n));
