// Sources → projections → sinks as a drawing, with the rate of each projection.
import { placesOf } from './api.js';
import { h, setText } from './dom.js';
import { drawing } from './drawing.js';
import { lagOf, sourcesOf, sumOf } from './figures.js';
import { count, lag, rate } from './format.js';

/** As rows of `projections list`. A sweep moves documents to blobs and is no work of hosts. */
export const archivesOf = (status) =>
  placesOf(status)
    .flatMap(({ value }) => value?.archives ?? [])
    .map(({ id, from }) => ({ id, kind: 'archive', from, with: [], into: 'blobs', state: 'swept', place: null }));

const containerOf = (name) => name.split('/')[0];
export const intoOf = ({ into }) => into || 'its own code';
const readsOf = ({ from, with: more }) => [from, ...more.map((one) => one.split(': ').at(-1))].filter(Boolean);

function lagText(status, container) {
  if (!sourcesOf(status).some((source) => source.container === container)) return ' ';
  return `lag ${lag(lagOf(status, container) ?? { known: false })}`;
}

/** `rows`: of `projections list`, and archives. */
export function flowOf(rows) {
  const sourceNotes = new Map();
  const notes = new Map();
  const ways = new Map();
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
    name: 'Sources, the projections that read them, and the sinks that they write; the table below says the same',
    boxes: [
      ...[...new Set(rows.flatMap(readsOf))].map(source),
      ...rows.map(projection),
      ...[...new Set(rows.map(intoOf))].map(sink),
    ],
    lines,
  });
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
    }
    for (const [id, way] of ways) way.classList.toggle('moves', (speeds.of(id) ?? 0) > 0);
  };
  const around = h('div', { class: 'drawn', tabindex: '0', role: 'group', 'aria-label': 'The drawing' }, node);
  return { node: around, update };
}
