// What was started here, the background jobs, migrations and builds in progress, and who changed what.
import { placesOf } from '../api.js';
import { badge, coded, failure, h, link, liveTable, loading, toProjection, when } from '../dom.js';
import { clip, count } from '../format.js';
import { movesOf } from '../moves.js';
import { far } from '../runs.js';

const TONES = { running: 'warn', active: 'warn', done: 'good', completed: 'good', findings: 'bad', failed: 'bad' };

/** The page of what an operation works on. */
const PAGES_OF = { projections: 'projections', 'dead-letters': 'dead-letters', leases: 'feeds', archive: 'data' };

function named(operation, name) {
  const page = PAGES_OF[operation.split(' ')[0]];
  if (page === undefined) return operation;
  return page === 'projections' && name ? toProjection(name, `${operation} ${name}`) : link(`#/${page}`, operation);
}

export const operations = {
  id: 'operations',
  title: 'Operations',
  open(root, context) {
    const runs = liveTable({
      caption: 'Started from this dashboard',
      empty: 'Nothing was started from this dashboard since its process began.',
      key: ({ id }) => id,
      columns: [
        { title: 'Operation', cell: ({ operation }) => named(operation) },
        { title: 'Input', word: true, cell: ({ input }) => clip(input, 100) },
        { title: 'State', cell: ({ state }) => badge(state, TONES[state]) },
        { title: 'Progress', cell: (row) => (row.state === 'running' ? far(row) : '–') },
        { title: 'Began', moment: true, cell: ({ startedAt }) => when(startedAt) },
        { title: 'Ended', moment: true, cell: ({ endedAt }) => when(endedAt) },
        { title: 'Result', cell: ({ text }) => clip(text.split('\n\n').at(-1), 300) },
      ],
    });
    const progress = liveTable({
      caption: 'In progress',
      empty: 'No migration, build, erasure or closed gate is in progress.',
      key: ({ name }) => name,
      columns: [
        { title: 'What', cell: ({ what }) => what },
        { title: 'By', cell: ({ by }) => by ?? '–' },
        { title: 'Since', moment: true, cell: ({ since }) => when(since) },
        { title: 'Until', moment: true, cell: ({ until }) => when(until) },
      ],
    });
    const jobs = h('div', {}, loading());
    const audit = h('div', {}, loading());
    root.append(runs.node, progress.node, jobs, audit);
    if (context.can('jobs list')) void show(jobs, context, 'jobs list', { limit: 50 }, jobTable);
    else jobs.remove();
    if (context.can('audit')) void show(audit, context, 'audit', { most: 50 }, auditTable);
    else audit.remove();
    if (context.can('shards moves')) void showMoves(root, context);
    return {
      status: (status) =>
        progress.update(
          placesOf(status).flatMap(({ place, value }) =>
            (value?.inProgress ?? []).map((of) => ({ ...of, name: `${place} ${of.what}` })),
          ),
        ),
      runs: (rows) => runs.update(rows),
    };
  },
};

async function show(node, context, operation, input, tableOf) {
  try {
    const { result } = await context.run(operation, input);
    const table = tableOf();
    table.update(result);
    node.replaceChildren(table.node);
  } catch (error) {
    // Not to have set it up is no failure.
    node.replaceChildren(
      error.code === 'setting-missing'
        ? h('p', { class: 'empty' }, `${operation} has nothing to show. ${error.message}. `, coded(error.hint ?? ''))
        : failure({ ...error, message: `${operation}: ${error.message}` }),
    );
  }
}

/** Where there are shard maps. */
async function showMoves(root, context) {
  try {
    const { result } = await context.run('shards list');
    root.append(...movesOf(result, context));
  } catch (error) {
    if (error.code !== 'setting-missing') root.append(failure({ ...error, message: `shards list: ${error.message}` }));
  }
}

const jobTable = () =>
  liveTable({
    caption: 'Background jobs',
    empty: 'No job was queued.',
    key: ({ id }) => id,
    columns: [
      { title: 'Job', cell: ({ id }) => id },
      {
        title: 'What',
        cell: ({ name, payload }) =>
          clip(
            [payload?.name ?? name, ...Object.values(payload?.input ?? {}).filter((of) => typeof of === 'string')].join(
              ' ',
            ),
            120,
          ),
      },
      { title: 'State', cell: ({ state }) => badge(state, TONES[state]) },
      {
        title: 'Done',
        number: true,
        cell: ({ done, of }) => (done === null ? '–' : `${count(done)}${of === null ? '' : ` of ${count(of)}`}`),
      },
      { title: 'Attempts', number: true, cell: ({ attempts }) => count(attempts) },
      { title: 'Since', moment: true, cell: ({ createdAt }) => when(createdAt) },
      { title: 'Failure', cell: ({ failure: why }) => clip((why ?? '–').split('\n')[0], 200) },
    ],
  });

const auditTable = () =>
  liveTable({
    caption: 'Audit: changes by hand',
    empty: 'No change by hand yet.',
    key: ({ id }) => id,
    columns: [
      { title: 'At', moment: true, cell: ({ at }) => when(at) },
      { title: 'Who', cell: ({ actor }) => actor },
      { title: 'What', cell: ({ verb, arguments: { name } }) => named(verb, name) },
      {
        title: 'With',
        cell: ({ arguments: given }) =>
          clip(
            Object.entries(given)
              .filter(([, value]) => value !== '')
              .map(([name, value]) => `${name}=${String(value)}`)
              .join(' '),
            160,
          ),
      },
      {
        title: 'Outcome',
        cell: ({ outcome }) => badge(outcome, TONES[outcome] ?? (outcome === 'ended' ? 'good' : '')),
      },
    ],
  });
