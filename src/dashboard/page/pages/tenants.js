// The largest tenants. Counting them reads an index of every container, so it is done when asked.
import { bar } from '../bars.js';
import { badge, h, liveTable } from '../dom.js';
import { bytes, clip, count } from '../format.js';
import { listed } from '../listed.js';

export const tenants = listed({
  id: 'tenants',
  title: 'Tenants',
  operation: 'tenants list',
  absent: { 'tenant-undeclared': 'The pipeline declares no tenant.' },
  about: 'The tenants with the most documents. Sizes are estimated from samples.',
  whole: (value) => {
    const table = liveTable({
      caption: 'Largest tenants',
      empty: 'No container has a document of a tenant.',
      key: ({ tenant }) => tenant,
      columns: [
        { title: 'Tenant', cell: ({ tenant }) => clip(tenant, 60) },
        {
          title: 'Beside the largest',
          wide: true,
          cell: (row) =>
            bar({
              segments: [{ value: row.bytes ?? 0 }],
              most: Math.max(1, ...value.tenants.map((of) => of.bytes ?? 0)),
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
    table.update(value.tenants);
    const without = value.without.map(({ container, documents }) =>
      h('p', { class: 'warn', text: `${count(documents)} documents of ${container} name no valid tenant.` }),
    );
    return [h('p', { text: `${count(value.count)} tenants.` }), table.node, ...without];
  },
});

/** The share of a logical partition's 20 GB. */
function fullest(containers) {
  const [most] = containers
    .filter(({ ofPartition }) => ofPartition !== null)
    .toSorted((a, b) => b.ofPartition - a.ofPartition);
  if (!most) return '–';
  const percent = Math.round(100 * most.ofPartition);
  return badge(`${most.container}: ${percent} %`, percent >= 80 ? 'bad' : percent >= 50 ? 'warn' : 'good');
}
