// The projections with their versions: build, promote and back, pause, verify.
import { placesOf } from '../api.js';
import { act } from '../action.js';
import { badge, failure, h, json, liveTable, loading, section } from '../dom.js';
import { clip, count, rate, time } from '../format.js';

const TONES = {
  current: 'good',
  filled: 'warn',
  filling: 'warn',
  resetting: 'warn',
  frozen: 'warn',
  'not built': 'warn',
};

export const projections = {
  id: 'projections',
  title: 'Projections',
  needs: ['projections list'],
  open(root, context) {
    const [name] = context.rest;
    return name ? openOne(root, context, name) : openAll(root, context);
  },
};

function openAll(root, context) {
  const waiting = loading();
  const states = new Map();
  let rows = [];
  const table = liveTable({
    caption: 'All versions',
    empty: 'The pipeline declares no projection.',
    key: ({ id, place }) => `${place} ${id}`,
    columns: [
      {
        title: 'Projection',
        cell: ({ id }) => ({
          sign: id,
          node: () => h('a', { href: `#/projections/${encodeURIComponent(id.split('@')[0])}`, text: id }),
        }),
      },
      { title: 'Kind', cell: ({ kind }) => kind },
      { title: 'From', cell: ({ from }) => from },
      { title: 'Into', cell: ({ into }) => into || 'its own code' },
      { title: 'State', cell: ({ id, place, state }) => badgeOf(states.get(`${place} ${id}`)?.state ?? state) },
      { title: 'Changes/s', number: true, cell: ({ id }) => rate(context.speeds.of(id)) },
      { title: 'RU/change', number: true, cell: ({ id, place }) => rate(states.get(`${place} ${id}`)?.ruPerChange) },
      { title: 'Dead letters', number: true, cell: ({ id, place }) => count(states.get(`${place} ${id}`)?.parked) },
    ],
  });
  table.node.hidden = true;
  const verifyAll = context.can('projections verify')
    ? h('button', {
        type: 'button',
        class: 'primary',
        text: 'Verify all',
        on: { click: () => verify(undefined, result) },
      })
    : null;
  const result = h('div');
  root.append(...[waiting, h('p', { class: 'buttons' }, verifyAll), table.node, result].filter(Boolean));
  void (async () => {
    try {
      const listed = await context.run('projections list');
      rows = placesOf(listed.result).flatMap(({ place, value }) => (value ?? []).map((row) => ({ ...row, place })));
      waiting.remove();
      table.node.hidden = false;
      table.update(rows);
    } catch (error) {
      waiting.replaceWith(failure(error));
    }
  })();
  return {
    status(status) {
      for (const { place, value } of placesOf(status))
        for (const of of value?.projections ?? []) states.set(`${place} ${of.id}`, of);
      if (!table.node.hidden) table.update(rows);
    },
  };
}

const badgeOf = (state) => badge(state, TONES[state] ?? '');

function openOne(root, context, name) {
  const body = h('div', {}, loading());
  const result = h('div');
  root.append(
    h('p', {}, h('a', { href: '#/projections', text: 'All projections' })),
    h('h2', { class: 'name', text: name }),
    body,
    result,
  );
  const load = async () => {
    try {
      const { result: of } = await context.run('projections show', { name });
      body.replaceChildren(...shown(of, context, load, result));
    } catch (error) {
      body.replaceChildren(failure(error));
    }
  };
  void load();
  let last = '';
  return {
    status(status) {
      const states = placesOf(status).flatMap(({ value }) =>
        (value?.projections ?? []).filter(({ id }) => id.split('@')[0] === name),
      );
      const sign = JSON.stringify(states.map(({ id, state, parked }) => [id, state, parked]));
      if (last !== '' && sign !== last && !document.querySelector('dialog')) void load();
      last = sign;
    },
  };
}

function shown(of, context, load, result) {
  const { name, kind, reads, current, staged, previous, paused, declared } = of;
  const versions = liveTable({
    caption: 'Versions',
    empty: 'No version was recorded: no host has read a change yet, or the kind has no versions side by side.',
    key: ({ role }) => role,
    columns: [
      { title: 'Role', cell: ({ role, tone }) => badge(role, tone) },
      { title: 'Version', number: true, cell: ({ version }) => version },
      { title: 'Content', cell: ({ container, type }) => `${container}/${type}` },
      { title: 'Since', cell: ({ since }) => time(since) },
      { title: 'Until', cell: ({ until }) => time(until) },
    ],
  });
  versions.update([
    ...(current ? [{ ...current, role: 'current', tone: 'good' }] : []),
    ...(staged ? [{ ...staged, role: staged.phase, tone: 'warn' }] : []),
    ...(previous
      ? [
          {
            ...previous,
            role: 'before',
            tone: '',
            since: previous.replacedAt,
            until: previous.keptUntil ?? previous.readableUntil,
          },
        ]
      : []),
  ]);
  const button = (operation, text, given) =>
    context.can(operation)
      ? h('button', {
          type: 'button',
          text,
          on: { click: () => act({ operation, title: `${text}: ${name}`, confirm: text, done: load, ...given }) },
        })
      : null;
  const builds = declared.map(({ id }) => button('projections rebuild', `Build ${id}`, { input: { name: id } }));
  return [
    h('p', {
      text: `${kind} of ${reads.join(', ')}${declared.length > 0 ? `, into ${declared.map(({ into }) => into).join(' and ')}` : ''}`,
    }),
    paused
      ? h('p', {
          class: 'warn',
          text: `${paused.by} paused it at ${time(paused.since)}${paused.reason ? `: ${paused.reason}` : ''}`,
        })
      : null,
    versions.node,
    h(
      'p',
      { class: 'buttons' },
      kind === 'publish' || kind === 'ingest' ? null : builds,
      staged?.phase === 'filled' ? button('projections promote', 'Promote', { input: { name } }) : null,
      previous?.keptUntil
        ? button('projections promote', 'Back to the version before', { input: { name, back: true } })
        : null,
      paused
        ? button('projections resume', 'Resume', { input: { name }, planned: false })
        : button('projections pause', 'Pause', {
            input: { name },
            ask: [{ name: 'reason', label: 'Why?', required: true }],
          }),
      context.can('projections verify')
        ? h('button', { type: 'button', text: 'Verify', on: { click: () => verify(name, result) } })
        : null,
    ),
  ].filter(Boolean);
}

function verify(name, result) {
  act({
    operation: 'projections verify',
    input: name === undefined ? {} : { name },
    title: `Verify ${name ?? 'all projections'}`,
    confirm: 'Verify',
    done: ({ result: value }) =>
      result.replaceChildren(
        ...placesOf(value).flatMap(({ place, value: of, failure: why }) =>
          of ? differences(of, place) : [failure({ message: `${place}: ${why}` })],
        ),
      ),
  });
}

function differences({ different, differences: list, documents }, place) {
  const title = `${place ? `${place}: ` : ''}${count(different)} differences in ${count(documents.found)} sink documents`;
  return [
    section(
      title,
      different === 0 ? h('p', { class: 'empty', text: 'Every sink document is as its sources say.' }) : null,
      ...list.slice(0, 50).map(sideBySide),
    ),
  ];
}

/** What the sources say beside what the sink has. */
const sideBySide = ({ projections: of, container, document: which, kind, fields, expected, found }) =>
  h(
    'details',
    { class: 'card', open: true },
    h(
      'summary',
      {},
      h('strong', { text: `${container} ${clip(which, 80)}` }),
      ` ${kind}${fields.length > 0 ? `: ${fields.join(', ')}` : ''} (${of.join(', ')})`,
    ),
    h(
      'div',
      { class: 'sides' },
      h(
        'div',
        {},
        h('h3', { text: 'As the sources say' }),
        expected ? json(pick(expected, fields)) : h('p', { class: 'empty', text: 'No document' }),
      ),
      h(
        'div',
        {},
        h('h3', { text: 'As it is stored' }),
        found ? json(pick(found, fields)) : h('p', { class: 'empty', text: 'No document' }),
      ),
    ),
  );

/** The fields that differ first, so that they stand side by side. */
function pick(document, fields) {
  const first = fields.filter((field) => field in document);
  return Object.fromEntries(
    [...first, ...Object.keys(document).filter((field) => !first.includes(field))].map((field) => [
      field,
      document[field],
    ]),
  );
}
