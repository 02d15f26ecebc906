// Boxes in columns and curves between them, as SVG: the flow of a pipeline and the containers of a model.
import { svg } from './dom.js';
import { clip } from './format.js';

const WIDEST = 310;
const NARROWEST = 140;
/** Of a character, at most: of a name, which is bold, and of a smaller text. Fonts of systems differ; this is DejaVu's, a wide one. */
const [CHARACTER, SMALLER] = [10.2, 7.5];
const PAD = 12;
/** Between columns: room for a curve, and for the names of curves. */
const GAP = 110;
const NAMED_GAP = 150;
const ROW = 19;
const APART = 16;
/** Characters of a name that a box has room for, and a curve. */
const MOST_IN_BOX = 28;
const MOST_ON_CURVE = 20;

/**
 * `boxes`: { key, column, texts, class, title }, of which a text is { text, class, keep(node) }. `lines`: { from, to, text,
 * tone (the class of the text), class, title, keep(node) } by the keys of boxes. `name`: what the drawing shows, for who can't see it.
 */
export function drawing({ name, boxes, lines }) {
  const widths = boxes.flatMap(({ texts }) =>
    texts.map(({ text, class: of }) => 2 * PAD + text.length * (of === 'note' ? SMALLER : CHARACTER)),
  );
  const wide = Math.min(WIDEST, Math.max(NARROWEST, ...widths));
  const placed = place(boxes, wide, lines.some(({ text }) => text) ? NAMED_GAP : GAP);
  const all = [...placed.values()];
  const width = Math.max(0, ...all.map(({ x }) => x + wide)) + 1;
  const height = Math.max(0, ...all.map(({ y, height: of }) => y + of)) + 1;
  const ways = lines.flatMap((line) => curve(line, lines, placed));
  const node = svg(
    'svg',
    { viewBox: `0 0 ${width} ${height}`, class: 'drawing', role: 'img', 'aria-label': name },
    ways.map(({ path }) => path),
    ways.map(({ text }) => text),
    all.map(box),
  );
  // Where the screen is narrower its texts stay readable, and it scrolls.
  node.style.setProperty('--natural', `${width}px`);
  return node;
}

/** Each column spreads its boxes over the height of the highest one. */
function place(boxes, wide, gap) {
  const columns = [...Map.groupBy(boxes, ({ column }) => column).entries()];
  const sized = columns.map(([column, of]) => {
    const heights = of.map(({ texts }) => 2 * PAD + ROW * texts.length);
    return { column, of, heights, high: heights.reduce((all, one) => all + one, 0) };
  });
  const height = Math.max(...sized.map(({ of, high }) => high + APART * of.length));
  return new Map(
    sized.flatMap(({ column, of, heights, high }) => {
      const apart = (height - high) / of.length;
      let y = 1 - apart / 2;
      return of.map((one, at) => {
        const top = y + apart;
        y = top + heights[at];
        return [one.key, { ...one, x: 1 + column * (wide + gap), y: top, wide, height: heights[at] }];
      });
    }),
  );
}

function box({ x, y, wide, height, texts, class: names = '', title }) {
  return svg(
    'g',
    { class: `box ${names}` },
    svg('title', { text: title }),
    svg('rect', { x, y, width: wide, height, rx: 8 }),
    texts.map(({ text, class: of = '', keep }, at) => {
      const node = svg('text', {
        class: of,
        x: x + PAD,
        y: y + PAD + ROW * (at + 0.75),
        text: clip(text, MOST_IN_BOX),
      });
      keep?.(node);
      return node;
    }),
  );
}

/** Lines of one side of a box are spread over its height, in the order of their other ends, so that few cross. */
function meets(line, lines, side, placed) {
  const other = side === 'from' ? 'to' : 'from';
  const of = lines
    .filter((one) => one[side] === line[side] && placed.has(one[other]))
    .toSorted((a, b) => placed.get(a[other]).y - placed.get(b[other]).y);
  const { y, height } = placed.get(line[side]);
  return y + (height * (of.indexOf(line) + 1)) / (of.length + 1);
}

function curve(line, lines, placed) {
  const [one, other] = [placed.get(line.from), placed.get(line.to)];
  if (!one || !other) return [];
  const [x1, y1] = [one.x + one.wide, meets(line, lines, 'from', placed)];
  const [x2, y2] = [other.x, meets(line, lines, 'to', placed)];
  // To the same column or back, a curve leaves on the right and comes in from the left as well.
  const bend = x2 > x1 ? (x2 - x1) / 2 : GAP / 2;
  const path = svg(
    'path',
    { class: `way ${line.class ?? ''}`, d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}` },
    svg('title', { text: line.title }),
  );
  line.keep?.(path);
  const text = line.text
    ? svg('text', { class: `of-line ${line.tone ?? ''}`, x: x2 - 6, y: y2 - 6, text: clip(line.text, MOST_ON_CURVE) })
    : null;
  return [{ path, text }];
}
