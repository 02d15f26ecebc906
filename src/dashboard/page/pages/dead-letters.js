// Changes that could not be applied: why, since when and of which tenant, each beside its document; redrive and discard.
import { actButton } from '../action.js';
import { placesOf } from '../api.js';
import { bar } from '../bars.js';
import { coded, failure, h, json, link, liveTable, loading, toDocument, toProjection, when } from '../dom.js';
import { clip, count, plural } from '../format.js';

const MOST_SHOWN = 200;
const TIMES = [
  ['', 'Any time'],
  ['1', 'The last hour'],
  ['24', 'The last day'],
  ['168', 'The last week'],
];

export const deadLetters = {
  id: 'dead-letters',
  title: 'Dead letters',
  needs: ['dead-letters list'],
  open(root, context) {
    const [code] = context.rest;
    const search = h('input', { type: 'search', name: 'search', on: { input: () => draw() } });
    const choice = (name) => h('select', { name, on: { change: () => load() } });
    const [tenant, since] = [choice('tenant'), choice('since')];
    since.append(...TIMES.map(([hours, text]) => h('option', { value: hours, text })));
    tenant.append(h('option', { value: '', text: 'All tenants' }));
    const ofTenant = h('label', { hidden: true }, 'Tenant', tenant);
    const groups = groupTable();
    const [body, all, buttons] = [
      h('div', {}, loading()),
      h('input', { type: 'checkbox' }),
      h('span', { class: 'buttons' }),
    ];
    const cards = new Map();
    const selected = new Set();
    let found = { letters: [], groups: [] };
    let filter = {};

    const matching = () => {
      const text = search.value.trim().toLowerCase();
      return found.letters.filter((letter) => JSON.stringify(letter).toLowerCase().includes(text));
    };
    const choose = () => {
      const shown = matching().slice(0, MOST_SHOWN);
      const chosen = found.letters.filter((letter) => selected.has(nameOf(letter)));
      all.checked = shown.length > 0 && shown.every((letter) => selected.has(nameOf(letter)));
      const [inputs, what] =
        chosen.length > 0
          ? [chosen.map(inputOf), `${count(chosen.length)} selected`]
          : search.value.trim() === ''
            ? [inputsOfAll(found, code, filter), 'all']
            : [shown.map(inputOf), `${count(shown.length)} found`];
      buttons.replaceChildren(...actions(context, inputs, what, load));
    };
    all.addEventListener('change', () => {
      for (const letter of matching().slice(0, MOST_SHOWN)) {
        if (all.checked) selected.add(nameOf(letter));
        else selected.delete(nameOf(letter));
      }
      draw();
    });
    const draw = () => {
      const matched = matching();
      const shown = matched.slice(0, MOST_SHOWN);
      const focused = document.activeElement;
      const empty = found.letters.length === 0 ? 'No dead letters: every change was applied.' : 'None is like this.';
      const mine = shown.map((letter) => cardOf(letter, context, load, cards, selected, choose));
      for (const card of mine) card.querySelector('input').checked = selected.has(card.dataset.name);
      body.replaceChildren(
        ...(shown.length === 0
          ? [h('p', { class: 'empty', text: empty })]
          : [h('p', { class: 'buttons' }, h('label', { class: 'check' }, all, ' Select all that are shown'), buttons)]),
        ...(matched.length > shown.length
          ? [h('p', { class: 'note', text: `The oldest ${count(shown.length)} of ${count(matched.length)}.` })]
          : []),
        ...mine,
      );
      if (body.contains(focused)) focused.focus({ preventScroll: true });
      choose();
    };
    const load = async () => {
      const from = new Date(Date.now() - 3_600_000 * Number(since.value)).toISOString();
      filter = { ...(tenant.value && { tenant: tenant.value }), ...(since.value && { since: from }) };
      try {
        const [grouped, each] = await Promise.all([
          context.run('dead-letters list'),
          context.run('dead-letters list', { each: true, ...filter, ...(code && { code }) }),
        ]);
        found = { groups: atPlaces(grouped.result), letters: atPlaces(each.result) };
        for (const name of selected)
          if (!found.letters.some((letter) => nameOf(letter) === name)) selected.delete(name);
        groups.update(found.groups);
        for (const name of new Set(found.letters.map((letter) => letter.tenant)))
          if (name !== null && ![...tenant.options].some(({ value }) => value === name))
            tenant.append(h('option', { value: name, text: clip(name, 40) }));
        ofTenant.hidden = tenant.options.length === 1;
        draw();
      } catch (error) {
        body.replaceChildren(failure(error));
      }
    };
    root.append(
      groups.node,
      ...(code ? [h('p', {}, `Those of ${code}. `, h('a', { href: '#/dead-letters', text: 'All reasons' }))] : []),
      h('div', { class: 'ask' }, h('label', {}, 'Search', search), ofTenant, h('label', {}, 'First parked in', since)),
      body,
    );
    void load();
    let parked;
    return {
      // A change of the number is worth a look; the letters themselves aren't in the stream.
      status(status) {
        const now = placesOf(status)
          .flatMap(({ value }) => value?.projections ?? [])
          .reduce((sum, of) => sum + of.parked, 0);
        if (parked !== undefined && parked !== now && !document.querySelector('dialog')) void load();
        parked = now;
      },
    };
  },
};

const atPlaces = (result) =>
  placesOf(result).flatMap(({ place, value }) => (value ?? []).map((of) => ({ ...of, place })));
const shardOf = ({ place }) => (place === null ? {} : { shard: place });
const nameOf = ({ place, projection, container, key, id }) => JSON.stringify([place, projection, container, key, id]);
const inputOf = (letter) => ({
  id: letter.id,
  key: JSON.stringify(letter.key),
  only: letter.projection,
  ...shardOf(letter),
});

/** An input for each reason, since nothing is discarded without one. */
const inputsOfAll = ({ groups }, code, filter) =>
  groups
    .filter((of) => code === undefined || of.code === code)
    .map((of) => ({ code: of.code, ...filter, ...shardOf(of) }));

const groupTable = () => {
  let total = 0;
  const table = liveTable({
    caption: 'By reason',
    empty: 'There is none.',
    key: (group) => `${group.place} ${group.code}`,
    columns: [
      {
        title: 'Code',
        word: true,
        cell: ({ code }) => link(`#/dead-letters/${encodeURIComponent(code)}`, code),
      },
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
      { title: 'Oldest', moment: true, cell: ({ oldest }) => when(oldest) },
      { title: 'Newest', moment: true, cell: ({ newest }) => when(newest) },
      {
        title: 'Projections',
        cell: ({ projections, place }) => ({
          sign: projections.join(' '),
          node: () =>
            h('span', {}, ...projections.flatMap((id) => [toProjection(id).node(), ' ']), place ? `on ${place}` : ''),
        }),
      },
      { title: 'Message', cell: ({ message }) => clip(message, 200) },
    ],
  });
  return {
    node: table.node,
    update: (groups) => {
      total = groups.reduce((sum, group) => sum + group.count, 0);
      table.update(groups);
    },
  };
};

/** Redrive and discard. A reader has neither. */
const actions = (context, inputs, what, done) =>
  [
    actButton(context, { operation: 'dead-letters redrive', inputs, confirm: 'Redrive', what, done }),
    actButton(context, {
      operation: 'dead-letters discard',
      inputs,
      confirm: 'Discard',
      what,
      destroys: true,
      ask: [{ name: 'reason', label: 'Why are these changes not needed?', required: true }],
      done,
    }),
  ].filter(Boolean);

/** The card that is shown already, if it says the same: it stays open while others come and go. */
function cardOf(letter, context, reload, cards, selected, choose) {
  const name = nameOf(letter);
  const sign = JSON.stringify(letter);
  const known = cards.get(name);
  if (known?.sign === sign) return known.node;
  const change = ({ target }) => {
    if (target.checked) selected.add(name);
    else selected.delete(name);
    choose();
  };
  const what = `${letter.container}/${clip(letter.id, 60)} for ${letter.projection}`;
  const card = one(letter, context, what, reload);
  card.open = known?.node.querySelector('details').open ?? false;
  const box = h('input', { type: 'checkbox', 'aria-label': `Select ${what}`, on: { change } });
  const node = h('div', { class: 'letter', data: { name } }, box, card);
  cards.set(name, { sign, node });
  return node;
}

function one(letter, context, what, reload) {
  const { projection, container, id, key, message, hint, tenant, firstAt, lastAt, attempts, op, version, code } =
    letter;
  const beside = h('div');
  let asked = false;
  const toggle = async ({ target }) => {
    if (!target.open || asked) return;
    asked = true;
    beside.replaceChildren(loading());
    try {
      const { result } = await context.run('trace', { container, key: JSON.stringify(key), id, ...shardOf(letter) });
      const gone = h('p', { class: 'empty', text: 'The document is not in its container any more.' });
      beside.replaceChildren(result.document ? json(result.document.body) : gone);
    } catch (error) {
      beside.replaceChildren(failure(error));
    }
  };
  return h(
    'details',
    { class: 'card', on: { toggle } },
    h(
      'summary',
      {},
      h('strong', { text: `${container}/${clip(id, 60)}` }),
      ` for ${projection}${tenant === null ? '' : `, tenant ${clip(tenant, 40)}`}, `,
      when(firstAt).node(),
      `: ${clip(message, 120)}`,
    ),
    h(
      'div',
      { class: 'beside' },
      h(
        'div',
        {},
        h('p', { class: 'bad' }, h('strong', { text: `${code}: ` }), message),
        hint ? h('p', { class: 'hint' }, coded(hint)) : null,
        h(
          'p',
          { class: 'note' },
          `${op} at lsn ${version.lsn}; ${plural(attempts, 'attempt')}, the last `,
          when(lastAt).node(),
        ),
        h('p', {}, toDocument(letter, 'Trace this document').node(), ' · ', toProjection(projection).node()),
        h('p', { class: 'buttons' }, ...actions(context, [inputOf(letter)], what, reload)),
      ),
      context.can('trace') ? beside : null,
    ),
  );
}
