// What is archived, by tenant and month.
import { h, liveTable } from '../dom.js';
import { bytes, count } from '../format.js';
import { listed } from '../listed.js';

const sum = (rows, field) => rows.reduce((all, row) => all + (row[field] ?? 0), 0);

export const archive = listed({
  id: 'archive',
  title: 'Archive',
  operation: 'archive list',
  absent: { 'archive-none': 'The pipeline declares no archive.' },
  about: 'Documents that were moved to blobs, by tenant and month.',
  show: (rows) => {
    const table = liveTable({
      caption: 'Blobs',
      empty: 'The archive is empty.',
      key: ({ projection, tenant, period }) => `${projection} ${tenant} ${period}`,
      columns: [
        { title: 'Archive', cell: ({ projection }) => projection },
        { title: 'Tenant', cell: ({ tenant }) => tenant },
        { title: 'Month', cell: ({ period }) => period },
        { title: 'Blobs', number: true, cell: ({ blobs }) => count(blobs) },
        { title: 'Documents', number: true, cell: ({ documents }) => count(documents) },
        { title: 'Size', number: true, cell: (row) => bytes(row.bytes) },
        {
          title: 'Fault',
          cell: ({ fault }) => fault?.why ?? fault?.message ?? (fault ? 'the manifest can’t be read' : '–'),
        },
      ],
    });
    table.update(rows);
    return [h('p', { text: `${count(sum(rows, 'documents'))} documents, ${bytes(sum(rows, 'bytes'))}.` }), table.node];
  },
});
