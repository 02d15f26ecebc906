// The projections with their versions: build, promote and back, pause, verify.
import { placesOf } from '../api.js';
import { act } from '../action.js';
import { differences } from '../differences.js';
import { badge, failure, h, liveTable, loading, replaceKeepingFocus, slashed } from '../dom.js';
import { count, rate, time } from '../format.js';
import { timeline } from '../timeline.js';

const TONES = {
  current: 'good',
  filled: 'warn',
  filling: 'warn',
  resetting: 'warn',
  frozen: 'warn',
  'not built': 'warn',
};

/** Of the audit, newest first, for the timeline of versions. */
const MOST_RECORDS = 500;

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
        cell: ({ id, place }) => ({
          sign: `${place} ${id}`,
          node: () =>
            h(
              'span',
              {},
              h('a', { href: `#/projections/${encodeURIComponent(id.split('@')[0])}`, text: id }),
              place ? h('span', { class: 'note', text: ` on ${place}` }) : null,
            ),
        }),
      },
      { title: 'Kind', cell: ({ kind }) => kind },
      { title: 'From', word: true, cell: ({ from }) => slashed(from) },
      { title: 'Into', word: true, cell: ({ into }) => slashed(into || 'its own code') },
      { title: 'State', cell: ({ id, place, state }) => badgeOf(states.get(`${place} ${id}`)?.state ?? state) },
      { title: 'Changes/s', number: true, cell: ({ id, place }) => (place ? '–' : rate(context.speeds.of(id))) },
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
      const [{ result: of }, records] = await Promise.all([
        context.run('projections show', { name }),
        context.can('audit') ? context.run('audit', { most: MOST_RECORDS }).then((answer) => answer.result) : [],
      ]);
      replaceKeepingFocus(body, shown(of, records, context, load, result));
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

function shown(of, records, context, load, result) {
  const { name, kind, reads, current, staged, previous, paused, declared } = of;
  const versions = liveTable({
    caption: 'Versions',
    empty: 'No version was recorded: no host has read a change yet, or the kind has no versions side by side.',
    key: ({ role }) => role,
    columns: [
      { title: 'Role', cell: ({ role, tone }) => badge(role, tone) },
      { title: 'Version', number: true, cell: ({ version }) => version },
      { title: 'Content', cell: ({ container, type }) => `${container}/${type}` },
      { title: 'Since', moment: true, cell: ({ since }) => time(since) },
      { title: 'Until', moment: true, cell: ({ until }) => time(until) },
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
          on: {
            click: () =>
              act({
                operation,
                title: text.includes(name) ? text : `${text}: ${name}`,
                confirm: text,
                done: load,
                ...given,
              }),
          },
        })
      : null;
  // A version that readers see can't be built again.
  const buildable = declared.filter(({ id }) => id !== `${name}@${current?.version}`);
  const builds = buildable.map(({ id }) => button('projections rebuild', `Build ${id}`, { input: { name: id } }));
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
    ...timeline(of, records, Date.now()),
    h(
      'p',
      { class: 'buttons' },
      kind === 'publish' || kind === 'ingest' ? null : builds,
      staged?.phase === 'filled' ? button('projections promote', 'Promote', { input: { name } }) : null,
      previous?.keptUntil
        ? button('projections promote', 'Back to the version before', { input: { name, back: true } })
        : null,
      paused
        ? button('projections resume', 'Resume', { input: { name } })
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
    done: ({ result: value }) => result.replaceChildren(...placesOf(value).flatMap(differences)),
  });
}
