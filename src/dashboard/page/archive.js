// What is archived: by month as a drawing, by tenant and month as a table, with the way back.
import { actButton } from './action.js';
import { bar } from './bars.js';
import { badge, h, liveTable } from './dom.js';
import { bytes, clip, count, plural } from './format.js';
import { listed } from './listed.js';

const MOST_ROWS = 500;

const sum = (rows, field) => rows.reduce((all, row) => all + (row[field] ?? 0), 0);

export const archive = listed({
  id: 'archive',
  title: 'Archive',
  operation: 'archive list',
  absent: { 'archive-none': 'The pipeline declares no archive.' },
  about: 'Documents that were moved to blobs, by tenant and month.',
  show: (rows, context, load) => {
    const months = [...Map.groupBy(rows, ({ period }) => period)]
      .map(([period, of]) => ({ period, archived: sum(of, 'archived'), bytes: sum(of, 'bytes') }))
      .toSorted((a, b) => (a.period < b.period ? 1 : -1));
    const byMonth = liveTable({
      caption: 'By month',
      empty: 'The archive is empty.',
      key: ({ period }) => period,
      columns: [
        { title: 'Month', cell: ({ period }) => period },
        sizeBar(months, ({ period }) => period),
        { title: 'Size', number: true, cell: (row) => bytes(row.bytes) },
        { title: 'Archived now', number: true, cell: ({ archived }) => count(archived) },
      ],
    });
    byMonth.update(months);
    if (rows.length === 0) return [byMonth.node];
    const table = liveTable({
      caption: 'By tenant and month',
      empty: '',
      key: ({ place, projection, tenant, period }) => `${place} ${projection} ${tenant} ${period}`,
      columns: [
        { title: 'Archive', word: true, cell: ({ projection }) => projection },
        { title: 'Tenant', word: true, cell: ({ tenant }) => clip(tenant, 60) },
        { title: 'Month', cell: ({ period }) => period },
        sizeBar(rows, ({ tenant, period }) => `${tenant}, ${period}`),
        { title: 'Size', number: true, cell: (row) => bytes(row.bytes) },
        { title: 'Archived now', number: true, cell: ({ archived }) => count(archived) },
        { title: 'Blobs', number: true, cell: ({ blobs }) => count(blobs) },
        {
          title: 'Fault',
          cell: ({ fault }) =>
            fault
              ? { sign: fault.what, node: () => h('span', {}, badge(fault.code, 'bad').node(), ` ${fault.what}`) }
              : '–',
        },
        ...(context.can('archive restore') ? [{ title: 'Action', cell: (row) => restore(row, context, load) }] : []),
      ],
    });
    table.update(rows.slice(0, MOST_ROWS));
    return [
      h('p', { text: `${plural(sum(rows, 'archived'), 'document')}, ${bytes(sum(rows, 'bytes'))}.` }),
      byMonth.node,
      table.node,
      rows.length > MOST_ROWS
        ? h('p', { class: 'note', text: `The first ${count(MOST_ROWS)} of ${count(rows.length)}.` })
        : '',
    ];
  },
});

const sizeBar = (rows, nameOf) => {
  const most = Math.max(1, ...rows.map((row) => row.bytes ?? 0));
  return {
    title: 'Beside the largest',
    wide: true,
    cell: (row) => bar({ segments: [{ value: row.bytes ?? 0 }], most, label: `${nameOf(row)}: ${bytes(row.bytes)}` }),
  };
};

/** Back to the container, unchanged; what stands there already is left. */
function restore({ projection, tenant, period, place }, context, load) {
  const name = projection.split('@')[0];
  return {
    sign: `${projection} ${tenant} ${period}`,
    node: () =>
      actButton(context, {
        operation: 'archive restore',
        input: { name, tenant, from: period, to: period, ...(place === null ? {} : { shard: place }) },
        confirm: 'Restore',
        what: `${period} of ${tenant} from ${name}`,
        done: load,
      }),
  };
}
