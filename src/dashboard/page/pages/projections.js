// The projections with their versions: build, promote and back, pause, verify.
import { placesOf } from '../api.js';
import { actButton, verifyButton } from '../action.js';
import { differences } from '../differences.js';
import {
  badge,
  failure,
  h,
  link,
  liveTable,
  loading,
  replaceKeepingFocus,
  slashed,
  toFeed,
  toProjection,
  when,
} from '../dom.js';
import { costsOf } from '../figures.js';
import { archivesOf, flowOf, intoOf } from '../flow.js';
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
  const states = new Map();
  const planned = new Map();
  let costs = new Map();
  let rows;
  let flow;
  const costNow = (id) => {
    const [speed, each] = [context.speeds.of(id), costs.get(id)];
    return speed === null || each === undefined ? null : speed * each;
  };
  const table = liveTable({
    caption: 'All versions',
    empty: 'The pipeline declares no projection.',
    key: ({ id, place }) => `${place} ${id}`,
    columns: [
      {
        title: 'Projection',
        word: true,
        cell: ({ id, kind, place }) => ({
          sign: `${place} ${id}`,
          node: () =>
            h(
              'span',
              {},
              kind === 'archive' ? link('#/data', id).node() : toProjection(id).node(),
              h('span', { class: 'note', text: ` ${kind}${place ? ` on ${place}` : ''}` }),
            ),
        }),
      },
      { title: 'From', cell: ({ from, place }) => (from ? toFeed(feedOf(from, place), from) : '–') },
      { title: 'Into', cell: (row) => slashed(intoOf(row)) },
      { title: 'State', cell: ({ id, place, state }) => badgeOf(states.get(`${place} ${id}`)?.state ?? state) },
      { title: 'Changes/s', number: true, cell: ({ id, place }) => (place ? '–' : rate(context.speeds.of(id))) },
      { title: 'RU/change', number: true, cell: ({ id }) => rate(costs.get(id)) },
      { title: 'By the model', number: true, cell: ({ id }) => rate(planned.get(id.split('@')[0])) },
      { title: 'RU/s', number: true, cell: ({ id, place }) => (place ? '–' : rate(costNow(id))) },
      { title: 'Parked', number: true, cell: ({ id, place }) => parkedOf(states.get(`${place} ${id}`)?.parked) },
    ],
  });
  const budget = liveTable({
    caption: 'Who spends of RU_BUDGET',
    empty: '',
    key: ({ name }) => name,
    columns: [
      { title: 'Process', cell: ({ name }) => name },
      { title: 'Share', number: true, cell: ({ share }) => `${Math.round(100 * share)} %` },
      { title: 'Live needs', number: true, cell: ({ live }) => `${Math.round(100 * live)} %` },
      { title: 'Bulk work', cell: ({ bulk }) => (bulk ? 'yes' : 'no') },
    ],
  });
  budget.node.hidden = true;
  const body = h('div', {}, loading());
  const result = h('div');
  root.append(h('p', { class: 'buttons' }, verifying(undefined, context, result)), body, budget.node, result);
  // The archives come with the status. Drawing them later would move what is there.
  const show = (archives) => {
    if (!rows || flow) return;
    rows = [...new Map([...rows, ...archives].map((row) => [`${row.place} ${row.id}`, row])).values()];
    flow = flowOf([...new Map(rows.map((row) => [row.id, row])).values()]);
    body.replaceChildren(...(rows.length === 0 ? [] : [flow.node]), table.node);
    table.update(rows);
  };
  const status = (of) => {
    for (const { place, value } of placesOf(of))
      for (const one of value?.projections ?? []) states.set(`${place} ${one.id}`, one);
    costs = costsOf(of);
    show(archivesOf(of));
    if (!flow) return;
    flow.update(of, context.speeds);
    table.update(rows);
    const spenders = placesOf(of).flatMap(({ value }) => value?.budget ?? []);
    budget.node.hidden = spenders.length === 0;
    budget.update(spenders);
  };
  let unknown = false;
  void (async () => {
    try {
      const listed = await context.run('projections list');
      rows = placesOf(listed.result).flatMap(({ place, value }) => (value ?? []).map((row) => ({ ...row, place })));
      if (context.status) status(context.status);
      else if (unknown) show([]);
      if (!context.can('model cost')) return;
      const { result: cost } = await context.run('model cost');
      for (const of of cost.projections) planned.set(of.name.split('@')[0], of.ru);
      if (flow) table.update(rows);
    } catch (error) {
      // A model that is code states no costs.
      if (error.code !== 'missing') (flow ? result : body).replaceChildren(failure(error));
    }
  })();
  return {
    status,
    unreadable: (error) => {
      if (error.code === 'dashboard-starting') return;
      unknown = true;
      show([]);
    },
  };
}

const feedOf = (from, place) => `${place ? `${place}/` : ''}${from.split('/')[0]}`;
const parkedOf = (parked) => (parked > 0 ? link('#/dead-letters', count(parked)) : count(parked));

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
      { title: 'Content', cell: ({ container, type }) => slashed(`${container}/${type}`) },
      { title: 'Since', moment: true, cell: ({ since }) => when(since) },
      { title: 'Until', moment: true, cell: ({ until }) => when(until) },
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
  const button = (operation, confirm, given) =>
    actButton(context, { operation, confirm, what: confirm.includes(name) ? '' : name, done: load, ...given });
  // A version that readers see can't be built again.
  const buildable = declared.filter(({ id }) => id !== `${name}@${current?.version}`);
  const builds = buildable.map(({ id }) => button('projections rebuild', `Build ${id}`, { input: { name: id } }));
  return [
    h(
      'p',
      {},
      `${kind} of `,
      ...reads.flatMap((from, at) => [at > 0 ? ', ' : '', toFeed(from.split('/')[0], from).node()]),
      declared.length > 0 ? `, into ${declared.map(({ into }) => into).join(' and ')}` : '',
    ),
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
      verifying(name, context, result),
    ),
  ].filter(Boolean);
}

const verifying = (name, context, result) =>
  verifyButton(context, name, ({ result: value }) => result.replaceChildren(...placesOf(value).flatMap(differences)));
