// The tenants that cost the most, and the largest ones.
import { placesOf } from './api.js';
import { bar } from './bars.js';
import { badge, h, liveTable } from './dom.js';
import { tenantsOf } from './figures.js';
import { bytes, clip, count } from './format.js';
import { listed } from './listed.js';

export const tenants = listed({
  id: 'tenants',
  title: 'Tenants',
  operation: 'tenants list',
  absent: { 'tenant-undeclared': 'The pipeline declares no tenant.' },
  about:
    'The tenants with the most documents. Sizes are estimated from samples. To count them reads an index of every container.',
  later: 'Count documents',
  whole: (result) => {
    const places = placesOf(result);
    const counted = places.filter(({ value }) => value);
    const rows = counted.flatMap(({ place, value }) => value.tenants.map((row) => ({ ...row, place })));
    const most = Math.max(1, ...rows.map((of) => of.bytes ?? 0));
    const spread = places.length > 1;
    const table = liveTable({
      caption: 'Largest tenants',
      empty: 'No container has a document of a tenant.',
      key: ({ place, tenant }) => JSON.stringify([place, tenant]),
      columns: [
        ...(spread ? [{ title: 'Place', cell: ({ place }) => place }] : []),
        { title: 'Tenant', cell: ({ tenant }) => clip(tenant, 60) },
        {
          title: 'Beside the largest',
          wide: true,
          cell: (row) =>
            bar({
              segments: [{ value: row.bytes ?? 0 }],
              most,
              label: `${row.tenant}: ${bytes(row.bytes)}`,
            }),
        },
        { title: 'Documents', number: true, cell: ({ documents }) => count(documents) },
        { title: 'Size, about', number: true, cell: (row) => bytes(row.bytes) },
        { title: 'RU', number: true, cell: ({ ru }) => count(ru === null ? null : Math.round(ru)) },
        { title: 'Dead letters', number: true, cell: ({ deadLetters }) => count(deadLetters) },
        { title: 'Largest partition', cell: ({ containers }) => fullest(containers) },
      ],
    });
    table.update(rows.toSorted((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0)));
    const at = (place) => (spread ? `${place}: ` : '');
    return [
      ...counted.map(({ place, value }) => h('p', { text: `${at(place)}${count(value.count)} tenants.` })),
      table.node,
      ...counted.flatMap(({ place, value }) =>
        value.without.map(({ container, documents }) =>
          h('p', {
            class: 'warn',
            text: `${at(place)}${count(documents)} documents of ${container} name no valid tenant.`,
          }),
        ),
      ),
    ];
  },
});

/** What hosts report of tenants since they started. */
export function costliestTenants() {
  let rows = [];
  const table = liveTable({
    caption: 'Tenants that cost the most',
    empty: 'No host names a tenant.',
    key: ({ tenant }) => tenant,
    columns: [
      { title: 'Tenant', cell: ({ tenant }) => clip(tenant, 60) },
      {
        title: 'Beside the costliest',
        wide: true,
        cell: ({ tenant, charge }) =>
          bar({
            segments: [{ value: charge, tone: 3 }],
            most: Math.max(1, ...rows.map((of) => of.charge)),
            label: `${tenant}: ${count(Math.round(charge))} RU`,
          }),
      },
      { title: 'Changes', number: true, cell: ({ changes }) => count(changes) },
      { title: 'RU', number: true, cell: ({ charge }) => count(Math.round(charge)) },
      { title: 'Dead letters', number: true, cell: ({ deadLetters }) => count(deadLetters) },
    ],
  });
  return { node: table.node, update: (status) => table.update((rows = tenantsOf(status))) };
}

/** The share of a logical partition's 20 GB. */
function fullest(containers) {
  const [most] = containers
    .filter(({ ofPartition }) => ofPartition !== null)
    .toSorted((a, b) => b.ofPartition - a.ofPartition);
  if (!most) return '–';
  const percent = Math.round(100 * most.ofPartition);
  return badge(
    `${most.container}: ${percent === 0 ? 'under 1' : percent} %`,
    percent >= 80 ? 'bad' : percent >= 50 ? 'warn' : 'good',
  );
}
