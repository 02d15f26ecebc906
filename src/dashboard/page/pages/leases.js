// Who reads which range of the key space; pause, resume, and rewind with a confirmation.
import { placesOf } from '../api.js';
import { act } from '../action.js';
import { badge, h, liveTable, section } from '../dom.js';
import { keySpace } from '../key-space.js';
import { listed } from '../listed.js';
import { catchUp, count, duration, lag, rate } from '../format.js';

export const leases = listed({
  id: 'leases',
  title: 'Leases',
  operation: 'leases list',
  about: 'Each lease is a range of partition keys that one host reads at a time.',
  show: async (rows, context, load) => {
    if (rows.length === 0) return [h('p', { class: 'empty', text: 'No lease yet: no host has started.' })];
    const groups = [...Map.groupBy(rows, ({ place, prefix }) => `${place ?? ''} ${prefix}`).values()];
    const readers = await readersOf(context);
    const shards = new Map(rows.filter(({ place }) => place).map(({ place, prefix }) => [databaseOf(prefix), place]));
    const nameOf = ({ place, container, prefix }) => {
      const [, reader] = /\.at-([^.]+)\./.exec(prefix) ?? [];
      return `${place ? `${place}: ` : ''}${container ?? prefix}${reader ? ` for ${shards.get(reader) ?? reader}` : ''}`;
    };
    return [
      keySpace(groups.map((of) => ({ name: nameOf(of[0]), rows: of }))),
      ...groups.map((of) => group(nameOf(of[0]), of, readers.get(of[0].container) ?? [], context, load)),
    ];
  },
});

/** Bounds without the zeros at their ends, which say nothing. */
const shortened = (range) => range?.replaceAll(/(?<=[\dA-F]{2})(?:00)+(?=-|$)/gi, '') ?? 'unknown';

/** A prefix ends with the account's host, the database's rid and the container's, which `_` parts. */
const databaseOf = (prefix) => prefix.split('_').at(-2);

/** By container the projections that read its feed. They wait together, so a pause of one pauses all of them. */
async function readersOf(context) {
  if (!context.can('projections list')) return new Map();
  const { result } = await context.run('projections list');
  const rows = placesOf(result).flatMap(({ value }) => value ?? []);
  const reads = rows.flatMap(({ id, from, with: more }) =>
    [from, ...more.map((one) => one.split(': ').at(-1))]
      .filter(Boolean)
      .map((source) => ({ container: source.split('/')[0], name: id.split('@')[0] })),
  );
  return new Map(
    [...Map.groupBy(reads, ({ container }) => container)].map(([container, of]) => [
      container,
      [...new Set(of.map(({ name }) => name))],
    ]),
  );
}

function group(name, rows, readers, context, load) {
  const [{ container, place, prefix }] = rows;
  const table = liveTable({
    caption: `Leases of ${container ?? prefix}`,
    empty: '',
    key: ({ token }) => token,
    columns: [
      { title: 'Token', cell: ({ token }) => token },
      { title: 'Range', cell: ({ range }) => shortened(range) },
      { title: 'Owner', cell: ({ owner, state }) => owner ?? (state === 'unexplained' ? '–' : 'free') },
      { title: 'Position', cell: ({ position }) => position?.replaceAll('"', '') ?? '–' },
      { title: 'Written', cell: ({ age }) => (age === null ? '–' : `${duration(age)} ago`) },
      { title: 'Lag', cell: (row) => lag(row.lag) },
      { title: 'Changes/s', number: true, cell: ({ rates }) => rate(rates?.handledPerSecond) },
      { title: 'Catches up in', cell: ({ rates }) => catchUp(rates?.catchUp) },
      {
        title: 'State',
        cell: ({ state }) =>
          badge(state, ['owned', 'live', 'free', 'idle', 'reading'].includes(state) ? 'good' : 'warn'),
      },
      { title: 'Why', cell: ({ why }) => why },
    ],
  });
  table.update(rows);
  return section(
    `${name} (${count(rows.length)})`,
    container === null || place !== null
      ? null
      : h('p', { class: 'buttons' }, buttons(container, readers, context, load)),
    table.node,
  );
}

function buttons(container, readers, context, load) {
  const [first] = readers;
  const paused = placesOf(context.status)
    .flatMap(({ value }) => value?.paused ?? [])
    .find(({ name }) => readers.includes(name));
  const button = (text, what, click, danger = false) =>
    h('button', {
      type: 'button',
      class: danger ? 'danger' : '',
      text,
      'aria-label': `${text} ${what}`,
      on: { click },
    });
  return [
    paused && context.can('projections resume')
      ? button(`Resume ${paused.name}`, `, which reads ${container}`, () =>
          act({
            operation: 'projections resume',
            input: { name: paused.name },
            title: `Resume ${paused.name}`,
            confirm: 'Resume',
            done: load,
          }),
        )
      : null,
    !paused && first !== undefined && context.can('projections pause')
      ? button('Pause', `what reads ${container}`, () =>
          act({
            operation: 'projections pause',
            input: { name: first },
            title: `Pause ${first}, and with it what reads ${container}`,
            confirm: 'Pause',
            ask: [{ name: 'reason', label: 'Why?', required: true }],
            done: load,
          }),
        )
      : null,
    context.can('leases rewind')
      ? button('Rewind', `the leases of ${container}`, () => askRewind(container, load), true)
      : null,
  ];
}

function askRewind(container, done) {
  const to = h('input', {
    name: 'to',
    required: true,
    autocomplete: 'off',
  });
  const submit = (event) => {
    event.preventDefault();
    dialog.close();
    act({
      operation: 'leases rewind',
      input: { container, to: to.value.trim() },
      title: `Rewind the leases of ${container} to ${to.value.trim()}`,
      confirm: 'Rewind',
      done,
    });
  };
  const dialog = h(
    'dialog',
    { 'aria-label': `Rewind ${container}`, on: { close: () => dialog.remove() } },
    h(
      'form',
      { on: { submit } },
      h('h2', { text: `Rewind ${container}` }),
      h('p', { text: 'Its hosts must be stopped. Changes after the position are delivered again.' }),
      h('label', {}, 'To beginning, or to a time such as 2026-06-03T12:00:00Z', to),
      h(
        'p',
        { class: 'buttons' },
        h('button', { type: 'button', class: 'quiet', text: 'Cancel', on: { click: () => dialog.close() } }),
        h('button', { class: 'primary', text: 'See what it would do' }),
      ),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
}
