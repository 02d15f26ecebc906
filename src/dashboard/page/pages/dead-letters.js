// Changes that could not be applied, by reason; what each says; redrive and discard.
import { placesOf } from '../api.js';
import { act } from '../action.js';
import { bar } from '../bars.js';
import { coded, failure, h, json, liveTable, loading, section } from '../dom.js';
import { clip, count, time } from '../format.js';

export const deadLetters = {
  id: 'dead-letters',
  title: 'Dead letters',
  needs: ['dead-letters list'],
  open(root, context) {
    const [code] = context.rest;
    const body = h('div', {}, loading());
    root.append(body);
    const show = code === undefined || code === '' ? showGroups : showCode;
    const cards = new Map();
    const load = async () => {
      try {
        await show(body, context, code, load, cards);
      } catch (error) {
        body.replaceChildren(failure(error));
      }
    };
    void load();
    let parked;
    return {
      // A change of the number is worth a look; the letters themselves aren't in the stream.
      status(status) {
        const now = placesOf(status)
          .flatMap(({ value }) => value?.projections ?? [])
          .reduce((all, of) => all + of.parked, 0);
        if (parked !== undefined && parked !== now && !document.querySelector('dialog')) void load();
        parked = now;
      },
    };
  },
};

const atPlaces = (result) =>
  placesOf(result).flatMap(({ place, value }) => (value ?? []).map((of) => ({ ...of, place })));
const shardOf = ({ place }) => (place === null ? {} : { shard: place });

async function showGroups(body, context, _, reload) {
  const groups = atPlaces((await context.run('dead-letters list')).result);
  const total = groups.reduce((all, group) => all + group.count, 0);
  const table = liveTable({
    caption: 'By reason',
    empty: 'No dead letters: every change was applied.',
    key: (group) => `${group.place} ${group.code}`,
    columns: [
      {
        title: 'Code',
        word: true,
        cell: (group) => ({
          sign: group.code,
          node: () => h('a', { href: `#/dead-letters/${encodeURIComponent(group.code)}`, text: group.code }),
        }),
      },
      ...(groups.some(({ place }) => place !== null) ? [{ title: 'Place', cell: ({ place }) => place }] : []),
      { title: 'Dead letters', number: true, cell: (group) => count(group.count) },
      {
        title: 'Of all',
        cell: (group) =>
          bar({
            segments: [{ value: group.count, tone: 2 }],
            most: total,
            label: `${count(group.count)} of ${count(total)}`,
          }),
      },
      { title: 'Oldest', moment: true, cell: ({ oldest }) => time(oldest) },
      { title: 'Newest', moment: true, cell: ({ newest }) => time(newest) },
      { title: 'Projections', cell: ({ projections }) => clip(projections.join(', '), 60) },
      { title: 'Message', cell: ({ message }) => clip(message, 200) },
      {
        title: 'Actions',
        cell: (group) => ({
          sign: `${group.code} ${group.count}`,
          node: () =>
            buttons(
              context,
              { code: group.code, ...shardOf(group) },
              `${count(group.count)} dead letters of ${group.code}`,
              reload,
            ),
        }),
      },
    ],
  });
  table.update(groups);
  body.replaceChildren(table.node);
}

/** Redrive and discard of a selection. A reader has neither. */
function buttons(context, input, what, done) {
  const node = h('span', { class: 'buttons' });
  if (context.can('dead-letters redrive'))
    node.append(
      h('button', {
        type: 'button',
        text: 'Redrive',
        'aria-label': `Redrive ${what}`,
        on: {
          click: () =>
            act({ operation: 'dead-letters redrive', input, title: `Redrive ${what}`, confirm: 'Redrive', done }),
        },
      }),
    );
  if (context.can('dead-letters discard'))
    node.append(
      h('button', {
        type: 'button',
        class: 'danger',
        text: 'Discard',
        'aria-label': `Discard ${what}`,
        on: {
          click: () =>
            act({
              operation: 'dead-letters discard',
              input,
              title: `Discard ${what}`,
              confirm: 'Discard',
              destroys: true,
              ask: [{ name: 'reason', label: 'Why are these changes not needed?', required: true }],
              done,
            }),
        },
      }),
    );
  return node;
}

async function showCode(body, context, code, reload, cards) {
  const letters = atPlaces((await context.run('dead-letters list', { code, each: true })).result);
  const shown = letters.slice(0, 200);
  const back = h('p', {}, h('a', { href: '#/dead-letters', text: 'All reasons' }));
  if (letters.length === 0) {
    body.replaceChildren(back, h('p', { class: 'empty', text: `No dead letter has the code ${code} any more.` }));
    return;
  }
  const more =
    letters.length > shown.length
      ? h('p', { class: 'note', text: `The oldest ${count(shown.length)} of ${count(letters.length)}.` })
      : null;
  const focused = document.activeElement;
  body.replaceChildren(
    ...[
      back,
      section(
        `${code}: ${count(letters.length)}`,
        buttons(context, { code }, `all ${count(letters.length)} of ${code}`, reload),
      ),
      more,
      ...shown.map((letter) => cardOf(letter, context, reload, cards)),
    ].filter(Boolean),
  );
  if (body.contains(focused)) focused.focus({ preventScroll: true });
}

/** The card that is shown already, if it says the same: it stays open while others come and go. */
function cardOf(letter, context, reload, cards) {
  const { place, projection, container, key, id } = letter;
  const name = JSON.stringify([place, projection, container, key, id]);
  const sign = JSON.stringify(letter);
  const known = cards.get(name);
  if (known?.sign === sign) return known.node;
  const node = one(letter, context, reload);
  node.open = known?.node.open ?? false;
  cards.set(name, { sign, node });
  return node;
}

function one(letter, context, reload) {
  const { projection, container, id, key, message, hint } = letter;
  const only = { id, key: JSON.stringify(key), only: projection, ...shardOf(letter) };
  return h(
    'details',
    { class: 'card' },
    h(
      'summary',
      {},
      h('strong', { text: `${container}/${clip(id, 60)}` }),
      ` for ${projection}: ${clip(message, 120)}`,
    ),
    h('p', { class: 'bad', text: message }),
    hint ? h('p', { class: 'hint' }, coded(hint)) : null,
    h(
      'p',
      {},
      h('a', {
        href: `#/trace/${[container, JSON.stringify(key), id].map(encodeURIComponent).join('/')}`,
        text: 'Trace this document',
      }),
    ),
    buttons(context, only, `${container}/${clip(id, 60)} for ${projection}`, reload),
    json(letter),
  );
}
