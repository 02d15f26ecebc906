// Sources → projections → sinks, with the rate of each projection.
import { placesOf } from '../api.js';
import { failure, h, loading, setText } from '../dom.js';
import { drawing } from '../drawing.js';
import { lagOf, rangesOf, sumOf } from '../figures.js';
import { count, lag, plural, rate } from '../format.js';

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
            h('div', { class: 'drawn', tabindex: '0', role: 'group', 'aria-label': 'The drawing' }, drawn.node),
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
const intoOf = ({ into }) => into || 'its own code';
const readsOf = ({ from, with: more }) => [from, ...more.map((one) => one.split(': ').at(-1))].filter(Boolean);

/** Of a container of the global place, which every shard reads for itself, hosts alone know the lag. */
function lagText(status, container) {
  const of = placesOf(status).some(({ value }) => value?.sources?.some((source) => source.container === container));
  if (of) return `lag ${lag(lagOf(status, container) ?? { known: false })}`;
  const left = sumOf(
    rangesOf(status)
      .filter((range) => range.container.split('/').at(-1) === container)
      .map((range) => range.lag),
  );
  if (left === null) return ' ';
  return left === 0 ? 'lag none' : `lag ${plural(left, 'change')}`;
}

function draw(rows) {
  const sourceNotes = new Map();
  const notes = new Map();
  const ways = new Map();
  const said = new Map();
  const source = (name) => ({
    key: `source ${name}`,
    column: 0,
    title: name,
    texts: [
      { text: name, class: 'name' },
      { text: ' ', class: 'note', keep: (node) => sourceNotes.set(name, node) },
    ],
  });
  const projection = ({ id, kind }) => ({
    key: id,
    column: 1,
    class: 'projection',
    title: `${id} (${kind})`,
    texts: [
      { text: id, class: 'name' },
      { text: ' ', class: 'note', keep: (node) => notes.set(id, node) },
    ],
  });
  const sink = (name) => ({ key: `sink ${name}`, column: 2, title: name, texts: [{ text: name, class: 'name' }] });
  const lines = rows.flatMap((row) => [
    ...readsOf(row).map((from) => ({ from: `source ${from}`, to: row.id, title: `${row.id} reads ${from}` })),
    {
      from: row.id,
      to: `sink ${intoOf(row)}`,
      title: `${row.id} writes ${intoOf(row)}`,
      keep: (node) => ways.set(row.id, node),
    },
  ]);
  const node = drawing({
    name: 'Sources, the projections that read them, and the sinks that they write; the list below says the same',
    boxes: [
      ...[...new Set(rows.flatMap(readsOf))].map(source),
      ...rows.map(projection),
      ...[...new Set(rows.map(intoOf))].map(sink),
    ],
    lines,
  });
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
        ` (${row.kind}): ${row.from} → ${intoOf(row)} `,
        speed,
      );
    }),
  );
  const update = (status, speeds) => {
    const states = Map.groupBy(
      placesOf(status).flatMap(({ value }) => value?.projections ?? []),
      ({ id }) => id,
    );
    for (const [name, note] of sourceNotes) setText(note, lagText(status, containerOf(name)));
    for (const [id, note] of notes) {
      const of = states.get(id) ?? [];
      const parked = sumOf(of.map((one) => one.parked)) ?? 0;
      const text = [
        `${rate(speeds.of(id))}/s`,
        ...new Set(of.map(({ state }) => state)),
        parked > 0 ? `${count(parked)} parked` : '',
      ]
        .filter(Boolean)
        .join(', ');
      setText(note, text);
      note.parentNode.classList.toggle('troubled', parked > 0);
      setText(said.get(id), text);
    }
    for (const [id, way] of ways) way.classList.toggle('moves', (speeds.of(id) ?? 0) > 0);
  };
  return { node, list, update };
}
