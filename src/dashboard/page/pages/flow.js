// Sources → projections → sinks, with the rate of each projection.
import { placesOf } from '../api.js';
import { failure, h, loading, setText } from '../dom.js';
import { drawing } from '../drawing.js';
import { lagOf, sourcesOf, sumOf } from '../figures.js';
import { count, lag, rate } from '../format.js';

export const flow = {
  id: 'flow',
  title: 'Flow',
  needs: ['projections list', 'status'],
  open(root, context) {
    const body = h('div', {}, loading());
    root.append(body);
    let rows;
    let drawn;
    // The archives come with the status. Drawing them later would move what is there.
    const show = (archives) => {
      const all = rows && [...new Map([...rows, ...archives].map((row) => [row.id, row])).values()];
      if (drawn || !all) return;
      if (all.length === 0) {
        body.replaceChildren(h('p', { class: 'empty', text: 'The pipeline declares no projection.' }));
        return;
      }
      drawn = draw(all);
      body.replaceChildren(
        h('div', { class: 'drawn', tabindex: '0', role: 'group', 'aria-label': 'The drawing' }, drawn.node),
        drawn.list,
      );
    };
    const status = (of) => {
      show(archivesOf(of));
      drawn?.update(of, context.speeds);
    };
    let unknown = false;
    void (async () => {
      try {
        const { result } = await context.run('projections list');
        rows = placesOf(result).flatMap(({ value }) => value ?? []);
        if (context.status) status(context.status);
        else if (unknown) show([]);
      } catch (error) {
        body.replaceChildren(failure(error));
      }
    })();
    return {
      status,
      unreadable: (error) => {
        if (error.code === 'dashboard-starting') return;
        unknown = true;
        show([]);
      },
    };
  },
};

/** As rows of `projections list`. A sweep moves documents to blobs and is no work of hosts. */
const archivesOf = (status) =>
  placesOf(status)
    .flatMap(({ value }) => value?.archives ?? [])
    .map(({ id, from }) => ({ id, kind: 'archive', from, with: [], into: 'blobs' }));

const containerOf = (name) => name.split('/')[0];
const intoOf = ({ into }) => into || 'its own code';
const readsOf = ({ from, with: more }) => [from, ...more.map((one) => one.split(': ').at(-1))].filter(Boolean);

const hrefOf = ({ id, kind }) =>
  kind === 'archive' ? '#/archive' : `#/projections/${encodeURIComponent(id.split('@')[0])}`;

function lagText(status, container) {
  if (!sourcesOf(status).some((source) => source.container === container)) return ' ';
  return `lag ${lag(lagOf(status, container) ?? { known: false })}`;
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
      kind === 'archive'
        ? { text: 'archive, by sweeps', class: 'note' }
        : { text: ' ', class: 'note', keep: (node) => notes.set(id, node) },
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
        h('a', { href: hrefOf(row), text: row.id }),
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
