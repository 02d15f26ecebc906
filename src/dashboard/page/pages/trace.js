// Where is a document? Its last changes, where each projection has it, and why one doesn't.
import { placesOf } from '../api.js';
import { badge, coded, failure, h, json, liveTable, loading, section, toDocument, toProjection, when } from '../dom.js';
import { sourcesOf } from '../figures.js';

const MOST_PARKED = 10;

const TONES = {
  applied: 'good',
  missing: 'bad',
  waiting: 'warn',
  parked: 'bad',
  deferred: 'warn',
  paused: 'warn',
  'not applied': 'bad',
  'not known': 'warn',
};

export const trace = {
  id: 'trace',
  title: 'Trace',
  needs: ['trace'],
  open(root, context) {
    const [container = '', key = '', id = '', place = ''] = context.rest;
    const field = (name, label, value, hint) => {
      const node = h('input', {
        name,
        required: true,
        value,
        placeholder: hint,
        autocomplete: 'off',
        spellcheck: 'false',
      });
      return { node, label: h('label', {}, label, node) };
    };
    const choice = (name, label, value, change) => {
      const node = h('select', { name, on: { change } });
      if (value) node.append(h('option', { value, text: value }));
      return { node, label: h('label', {}, label, node), options: optionsOf(node) };
    };
    const wanted = (...parts) => `#/trace/${parts.filter(Boolean).map(encodeURIComponent).join('/')}`;
    const chosen = choice('container', 'Container', container, () => void offer());
    const shard = choice('place', 'Place', place, () => void offer());
    const fields = [field('key', 'Partition key', key, 'store-1 or ["store-1"]'), field('id', 'Id', id, 'order-17')];
    const [result, offered] = [h('div'), h('div')];
    const at = () => (shard.node.value ? { shard: shard.node.value } : {});
    const submit = (event) => {
      event.preventDefault();
      const values = [chosen, ...fields, shard].map(({ node }) => node.value.trim());
      if (location.hash === wanted(...values)) void load();
      else location.hash = wanted(...values);
    };
    const load = async () => {
      result.replaceChildren(loading());
      try {
        const answer = await context.run('trace', { container, key, id, ...at() });
        result.replaceChildren(...shown(answer.result));
      } catch (error) {
        result.replaceChildren(failure(error));
      }
    };
    // What one may trace, for who has no key and id at hand.
    const offer = async () => {
      const of = chosen.node.value;
      offered.replaceChildren(loading());
      try {
        const parked = context.can('dead-letters list')
          ? placesOf((await context.run('dead-letters list', { each: true })).result).flatMap(
              ({ place: where, value }) => (value ?? []).map((letter) => ({ ...letter, place: where })),
            )
          : [];
        const { recent } = of ? (await context.run('trace', { container: of, ...at() })).result : { recent: [] };
        const own = recent.map((one) => ({ ...one, container: of, place: shard.node.value }));
        offered.replaceChildren(
          documents(`Last written in ${of}`, 'It has no document.', own, ['Written', ({ writtenAt }) => writtenAt]),
          documents('Parked', 'No document is parked.', parked.slice(0, MOST_PARKED), [
            'Since',
            ({ firstAt }) => firstAt,
          ]),
        );
      } catch (error) {
        offered.replaceChildren(failure(error));
      }
    };
    root.append(
      h(
        'form',
        { class: 'ask', on: { submit } },
        shard.label,
        [chosen, ...fields].map(({ label }) => label),
        h('button', { class: 'primary', text: 'Trace' }),
      ),
      result,
      offered,
    );
    shard.label.hidden = place === '';
    if (container && key && id) void load();
    let known = false;
    return {
      status(status) {
        if (known) return;
        known = true;
        const places = placesOf(status).flatMap(({ place: of }) => of ?? []);
        shard.options(places);
        shard.label.hidden = places.length === 0;
        chosen.options([...new Set(sourcesOf(status).map((of) => of.container))]);
        if (!(container && key && id)) void offer();
      },
    };
  },
};

/** Adds the options that a choice does not have. */
const optionsOf = (node) => (values) => {
  const missing = values.filter((value) => ![...node.options].some((option) => option.value === value));
  node.append(...missing.map((value) => h('option', { value, text: value })));
};

function documents(caption, empty, rows, [title, timeOf]) {
  const table = liveTable({
    caption,
    empty,
    key: (of) => JSON.stringify([of.place, of.container, of.key, of.id, of.projection]),
    columns: [
      { title: 'Document', cell: (of) => toDocument(of) },
      { title: 'Partition key', cell: ({ key }) => JSON.stringify(key) },
      { title, moment: true, cell: (of) => when(timeOf(of)) },
      ...(rows.some(({ code }) => code)
        ? [{ title: 'Why', cell: ({ code, projection }) => `${code} for ${projection}` }]
        : []),
    ],
  });
  table.update(rows);
  return table.node;
}

function shown({ document, range, events, projections }) {
  const table = liveTable({
    caption: 'Where each projection has it',
    empty: 'No projection reads this container.',
    key: ({ id }) => id,
    columns: [
      { title: 'Projection', cell: ({ id }) => toProjection(id) },
      { title: 'Kind', cell: ({ kind }) => kind },
      { title: 'State', cell: ({ state }) => badge(state, TONES[state] ?? '') },
      {
        title: 'Where',
        cell: ({ places }) =>
          places.length === 0
            ? '–'
            : {
                sign: JSON.stringify(places),
                node: () => h('span', {}, ...places.flatMap((of) => [toDocument(of).node(), ' '])),
              },
      },
      { title: 'Why', cell: ({ why }) => ({ sign: why, node: () => h('span', {}, coded(why)) }) },
    ],
  });
  table.update(projections);
  const history = liveTable({
    caption: 'What is known of its changes',
    empty: 'Nothing is stored about its changes.',
    key: ({ at, what }) => `${at} ${what}`,
    columns: [
      { title: 'At', moment: true, cell: ({ at }) => when(at) },
      { title: 'What', cell: ({ what }) => what },
    ],
  });
  history.update(events);
  return [
    section(
      'The document',
      document
        ? h('p', {}, `It exists, with the ETag ${document.etag}, last written `, when(document.writtenAt).node(), '.')
        : h('p', { text: 'It is not in its container: it was never written, was deleted, or was archived.' }),
      document ? json(document.body) : null,
    ),
    section('Its range', h('p', { text: range.why })),
    table.node,
    history.node,
  ];
}
