// Who reads what: the hosts, the ranges that they read now, and the leases; pause, resume, and rewind with a confirmation.
import { actButton, act } from '../action.js';
import { placesOf } from '../api.js';
import { badge, h, liveTable, section, toProjection, when } from '../dom.js';
import { catchUpOf, hostsOf, rangesOf, sourcesOf, sumOf } from '../figures.js';
import { count, duration, lag, plural, rate } from '../format.js';
import { keySpace } from '../key-space.js';
import { listed } from '../listed.js';

export const feeds = {
  id: 'feeds',
  title: 'Feeds',
  needs: ['leases list', 'status'],
  open(root, context) {
    const hosts = liveTable({
      caption: 'Hosts',
      empty: 'No host owns a lease: no host runs.',
      key: ({ name }) => name,
      columns: [
        { title: 'Host', cell: ({ owner }) => owner },
        { title: 'Leases', number: true, cell: (of) => count(of.leases) },
        {
          title: 'Changes applied',
          number: true,
          cell: ({ status: of }) => (of ? count(sumOf(of.projections.map(({ changes }) => changes)) ?? 0) : '–'),
        },
        { title: 'Version', cell: ({ status: of }) => of?.version ?? '–' },
        { title: 'Up since', moment: true, cell: ({ status: of }) => when(of?.startedAt) },
        { title: 'Last report', moment: true, cell: ({ status: of }) => when(of?.at) },
      ],
    });
    const ranges = liveTable({
      caption: 'Ranges that are read',
      empty: 'No host reports a range yet. A host reports itself some seconds after its start.',
      key: ({ name }) => name,
      columns: [
        { title: 'Feed', word: true, cell: ({ container }) => container },
        { title: 'Range', cell: ({ lease }) => lease },
        { title: 'Host', cell: ({ owner }) => owner },
        {
          title: 'Changes/s',
          number: true,
          cell: ({ container, lease }) => rate(context.speeds.reading(container, lease)),
        },
        { title: 'Lag', number: true, cell: (of) => count(of.lag) },
        { title: 'State', cell: ({ verdict: { word, tone } }) => badge(word, tone) },
        {
          title: 'Page in hand',
          cell: ({ inHand }) => (inHand ? `${plural(inHand.changes, 'change')}, ${inHand.seconds}\u00a0s` : '–'),
        },
        {
          title: 'Last rejection',
          cell: ({ rejection }) =>
            rejection
              ? { sign: rejection.at, node: () => h('span', {}, when(rejection.at).node(), ` ${rejection.why}`) }
              : '–',
        },
      ],
    });
    root.append(hosts.node, ranges.node);
    leases.open(root, context);
    return {
      status(status) {
        hosts.update(hostsOf(status));
        const ages = new Map(sourcesOf(status).map(({ name, lag: of }) => [name, of.known ? of.ageMs : null]));
        ranges.update(
          rangesOf(status).map((of) => {
            const known = { known: of.lag !== null, changes: of.lag, ageMs: ages.get(of.container) ?? null };
            return { ...of, verdict: catchUpOf({ lag: known }, [of]) };
          }),
        );
      },
    };
  },
};

const leases = listed({
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
    const asked = context.rest[0]?.split('/').at(-1);
    const sections = groups.map((of) => ({
      container: of[0].container,
      node: group(nameOf(of[0]), of, readers.get(of[0].container) ?? [], context, load),
    }));
    const wanted = sections.find(({ container }) => container === asked);
    if (wanted) requestAnimationFrame(() => wanted.node.scrollIntoView());
    return [keySpace(groups.map((of) => ({ name: nameOf(of[0]), rows: of }))), ...sections.map(({ node }) => node)];
  },
});

/** Bounds without the zeros at their ends, which say nothing. */
const shortened = (range) => range?.split('-').map(withoutZeros).join('-') ?? 'unknown';

function withoutZeros(bound) {
  let end = bound.length;
  while (end > 2 && bound.slice(end - 2, end) === '00') end -= 2;
  return bound.slice(0, end);
}

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
    h(
      'p',
      { class: 'buttons' },
      container === null || place !== null ? null : buttons(container, readers, context, load),
      readers.length === 0
        ? null
        : h('span', {}, 'Read by ', ...readers.flatMap((of) => [toProjection(of).node(), ' '])),
    ),
    table.node,
  );
}

function buttons(container, readers, context, load) {
  const [first] = readers;
  const paused = placesOf(context.status)
    .flatMap(({ value }) => value?.paused ?? [])
    .find(({ name }) => readers.includes(name));
  return [
    paused
      ? actButton(context, {
          operation: 'projections resume',
          input: { name: paused.name },
          text: `Resume ${paused.name}`,
          confirm: 'Resume',
          what: `, which reads ${container}`,
          title: `Resume ${paused.name}`,
          done: load,
        })
      : first !== undefined
        ? actButton(context, {
            operation: 'projections pause',
            input: { name: first },
            confirm: 'Pause',
            what: `what reads ${container}`,
            title: `Pause ${first}, and with it what reads ${container}`,
            ask: [{ name: 'reason', label: 'Why?', required: true }],
            done: load,
          })
        : null,
    context.can('leases rewind')
      ? h('button', {
          type: 'button',
          class: 'danger',
          text: 'Rewind',
          'aria-label': `Rewind the leases of ${container}`,
          on: { click: () => askRewind(container, load) },
        })
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
      h('p', {
        text: 'Changes after the position are delivered again. The next step says whether hosts must be stopped.',
      }),
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
