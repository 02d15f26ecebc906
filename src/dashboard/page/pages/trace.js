// Where is a document? Its last changes, where each projection has it, and why one doesn't.
import { badge, coded, failure, h, json, liveTable, loading, section } from '../dom.js';
import { time } from '../format.js';

const TONES = {
  applied: 'good',
  missing: 'bad',
  waiting: 'warn',
  parked: 'bad',
  'set aside': 'warn',
  paused: 'warn',
  'not applied': 'bad',
  'not known': 'warn',
};

export const trace = {
  id: 'trace',
  title: 'Trace',
  needs: ['trace'],
  open(root, context) {
    const [container = '', key = '', id = ''] = context.rest;
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
    const fields = [
      field('container', 'Container', container, 'Orders'),
      field('key', 'Partition key', key, 'store-1 or ["store-1"]'),
      field('id', 'Id', id, 'order-17'),
    ];
    const result = h('div');
    const submit = (event) => {
      event.preventDefault();
      const wanted = `#/trace/${fields.map(({ node }) => encodeURIComponent(node.value.trim())).join('/')}`;
      if (location.hash === wanted) void load();
      else location.hash = wanted;
    };
    const load = async () => {
      result.replaceChildren(loading());
      try {
        const answer = await context.run('trace', { container, key, id });
        result.replaceChildren(...shown(answer.result));
      } catch (error) {
        result.replaceChildren(failure(error));
      }
    };
    root.append(
      h(
        'form',
        { class: 'ask', on: { submit } },
        fields.map(({ label }) => label),
        h('button', { class: 'primary', text: 'Trace' }),
      ),
      result,
    );
    if (container && key && id) void load();
    else result.replaceChildren(h('p', { class: 'empty', text: 'Give a document’s container, partition key and id.' }));
    return {};
  },
};

function shown({ document, range, events, projections }) {
  const table = liveTable({
    caption: 'Where each projection has it',
    empty: 'No projection reads this container.',
    key: ({ id }) => id,
    columns: [
      { title: 'Projection', cell: ({ id }) => id },
      { title: 'Kind', cell: ({ kind }) => kind },
      { title: 'State', cell: ({ state }) => badge(state, TONES[state] ?? '') },
      {
        title: 'Where',
        cell: ({ places }) =>
          places.map(({ container, key, id }) => `${container} ${JSON.stringify(key)} ${id}`).join('; ') || '–',
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
      { title: 'At', moment: true, cell: ({ at }) => time(at) },
      { title: 'What', cell: ({ what }) => what },
    ],
  });
  history.update(events);
  return [
    section(
      'The document',
      h('p', {
        text: document
          ? `It exists, with the ETag ${document.etag}, last written ${time(document.writtenAt)}.`
          : 'It is not in its container: it was never written, was deleted, or was archived.',
      }),
      document ? json(document.body) : null,
    ),
    section('Its range', h('p', { text: range.why })),
    table.node,
    history.node,
  ];
}
