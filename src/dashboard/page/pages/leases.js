// Who reads which range of the key space; rewind with a confirmation.
import { act } from '../action.js';
import { badge, h, liveTable, section, svg } from '../dom.js';
import { listed } from '../listed.js';
import { catchUp, count, duration, lag, rate } from '../format.js';

export const leases = listed({
  id: 'leases',
  title: 'Leases',
  operation: 'leases list',
  about: 'Each lease is a range of partition keys that one host reads at a time.',
  show: (rows, context, load) =>
    rows.length === 0
      ? [h('p', { class: 'empty', text: 'No lease yet: no host has started.' })]
      : [...Map.groupBy(rows, ({ place, prefix }) => `${place ?? ''} ${prefix}`).values()].map((of) =>
          group(of, context, load),
        ),
});

function group(rows, context, load) {
  const [{ container, place, prefix }] = rows;
  const table = liveTable({
    caption: `Leases of ${container ?? prefix}`,
    empty: '',
    key: ({ token }) => token,
    columns: [
      { title: 'Token', cell: ({ token }) => token },
      { title: 'Range', cell: ({ range }) => range ?? 'unknown' },
      { title: 'Owner', cell: ({ owner, state }) => owner ?? (state === 'unexplained' ? '–' : 'free') },
      { title: 'Position', cell: ({ position }) => position ?? '–' },
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
  const rewind =
    context.can('leases rewind') && container !== null && place === null
      ? h('button', {
          type: 'button',
          class: 'danger',
          text: 'Rewind',
          'aria-label': `Rewind the leases of ${container}`,
          on: { click: () => askRewind(container, load) },
        })
      : null;
  return section(
    `${place ? `${place}: ` : ''}${container ?? prefix} (${count(rows.length)})`,
    keySpace(rows),
    h('p', { class: 'buttons' }, rewind),
    table.node,
  );
}

function askRewind(container, done) {
  const to = h('input', {
    name: 'to',
    required: true,
    placeholder: '2026-06-03T12:00:00Z or beginning',
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
      h('label', {}, 'To', to),
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

/** The ranges side by side on the key space, in the colour of their state. */
function keySpace(rows) {
  const known = rows.flatMap(({ range, token, owner, state }) => {
    const [min = '', max = ''] = (range ?? '').split('-');
    return range === null ? [] : [{ token, owner, state, from: fraction(min), to: fraction(max) }];
  });
  if (known.length === 0) return null;
  return svg(
    'svg',
    {
      viewBox: '0 0 1000 40',
      class: 'keys',
      role: 'img',
      'aria-label': `${known.length} ranges on the key space, ${known.filter(({ owner }) => owner === null).length} of them free`,
      preserveAspectRatio: 'none',
    },
    ...known.map(({ token, owner, from, to }) =>
      svg(
        'rect',
        {
          x: 1000 * from + 1,
          y: 4,
          width: Math.max(1, 1000 * (to - from) - 2),
          height: 32,
          class: owner === null ? 'free' : 'owned',
        },
        svg('title', { text: `${token}: ${owner ?? 'free'}` }),
      ),
    ),
  );
}

/** Where a bound, in hexadecimal, lies between 00 and FF. */
const fraction = (bound) => Math.min(1, Number.parseInt(bound.padEnd(8, '0').slice(0, 8), 16) / 0xffffffff) || 0;
