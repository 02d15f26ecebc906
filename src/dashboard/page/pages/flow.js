// Sources → projections → sinks, with the rate of each projection.
import { placesOf } from '../api.js';
import { failure, h, loading, setText, svg } from '../dom.js';
import { clip, lag, rate } from '../format.js';

const WIDTH = 960;
const ROW = 64;
const BOX = { width: 240, height: 48 };
const COLUMNS = [0, (WIDTH - BOX.width) / 2, WIDTH - BOX.width];

export const flow = {
  id: 'flow',
  title: 'Flow',
  needs: ['projections list', 'status'],
  open(root, context) {
    const body = h('div', {}, loading());
    root.append(body);
    let drawn;
    void (async () => {
      try {
        const { result } = await context.run('projections list');
        const rows = placesOf(result).flatMap(({ value }) => value ?? []);
        const unique = [...new Map(rows.map((row) => [row.id, row])).values()];
        if (unique.length === 0)
          body.replaceChildren(h('p', { class: 'empty', text: 'The pipeline declares no projection.' }));
        else {
          drawn = draw(unique);
          body.replaceChildren(
            h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'The drawing' }, drawn.node),
            drawn.list,
          );
          if (context.status) drawn.update(context.status, context.speeds);
        }
      } catch (error) {
        body.replaceChildren(failure(error));
      }
    })();
    return { status: (status) => drawn?.update(status, context.speeds) };
  },
};

const containerOf = (name) => name.split('/')[0];

function draw(rows) {
  const sources = [
    ...new Set(
      rows.flatMap(({ from, with: more }) => [from, ...more.map((one) => one.split(': ').at(-1))]).filter(Boolean),
    ),
  ];
  const sinks = [...new Set(rows.map(({ into }) => into || 'its own code'))];
  const height = Math.max(sources.length, rows.length, sinks.length) * ROW;
  const place = (list, at) => ((at + 0.5) * height) / list.length - BOX.height / 2;
  const sourceNotes = new Map();
  const notes = new Map();
  const lines = rows.flatMap((row, at) => {
    const y = place(rows, at) + BOX.height / 2;
    const reads = [row.from, ...row.with.map((one) => one.split(': ').at(-1))].filter(Boolean);
    return [
      ...reads.map((from) =>
        line(COLUMNS[0] + BOX.width, place(sources, sources.indexOf(from)) + BOX.height / 2, COLUMNS[1], y),
      ),
      line(
        COLUMNS[1] + BOX.width,
        y,
        COLUMNS[2],
        place(sinks, sinks.indexOf(row.into || 'its own code')) + BOX.height / 2,
        row.id,
      ),
    ];
  });
  const node = svg(
    'svg',
    {
      viewBox: `0 0 ${WIDTH} ${height}`,
      class: 'flow',
      role: 'img',
      'aria-label':
        'Sources, the projections that read them, and the sinks that they write; the list below says the same',
    },
    ...lines.map(({ node: path }) => path),
    ...sources.map((name, at) =>
      box(COLUMNS[0], place(sources, at), name, 'source', (note) => sourceNotes.set(name, note)),
    ),
    ...rows.map((row, at) => box(COLUMNS[1], place(rows, at), row.id, 'projection', (note) => notes.set(row.id, note))),
    ...sinks.map((name, at) => box(COLUMNS[2], place(sinks, at), name, 'sink')),
  );
  const said = new Map();
  const list = h(
    'ul',
    { class: 'plain' },
    rows.map((row) => {
      const speed = h('span', { class: 'note', text: '' });
      said.set(row.id, speed);
      return h(
        'li',
        {},
        h('a', { href: `#/projections/${encodeURIComponent(row.id.split('@')[0])}`, text: row.id }),
        ` (${row.kind}): ${row.from} → ${row.into || 'its own code'} `,
        speed,
      );
    }),
  );
  const update = (status, speeds) => {
    const lags = new Map(
      placesOf(status).flatMap(({ value }) => (value?.sources ?? []).map((of) => [of.container, of.lag])),
    );
    const states = new Map(
      placesOf(status).flatMap(({ value }) => (value?.projections ?? []).map((of) => [of.id, of])),
    );
    for (const [name, note] of sourceNotes)
      setText(note, lags.has(containerOf(name)) ? `lag ${lag(lags.get(containerOf(name)))}` : ' ');
    for (const [id, note] of notes) {
      const of = states.get(id);
      const text = [`${rate(speeds.of(id))}/s`, of?.state, of?.parked ? `${of.parked} parked` : '']
        .filter(Boolean)
        .join(', ');
      setText(note, text);
      setText(said.get(id), text);
    }
    for (const { id, node: path } of lines) if (id) path.classList.toggle('moves', (speeds.of(id) ?? 0) > 0);
  };
  return { node, list, update };
}

function line(x1, y1, x2, y2, id) {
  const middle = (x1 + x2) / 2;
  return { id, node: svg('path', { d: `M${x1} ${y1} C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`, class: 'way' }) };
}

function box(x, y, name, kind, keep) {
  const note = svg('text', { x: x + 12, y: y + 38, class: 'note', text: ' ' });
  keep?.(note);
  return svg(
    'g',
    { class: kind },
    svg('title', { text: name }),
    svg('rect', { x, y, width: BOX.width, height: BOX.height, rx: 8 }),
    svg('text', { x: x + 12, y: y + (keep ? 20 : 29), class: 'name', text: clip(name, 28) }),
    note,
  );
}
