import { expect, test } from 'vitest';
import { UsageError } from '../../src/base/errors.ts';
import type { BlobStore } from '../../src/access/blob-store.ts';
import { coldReader } from '../../src/archive/read/cold-reader.ts';
import type { CopySpec } from '../../src/pipeline/specs.ts';
import type { Change } from '../../src/feed/reading/change.ts';
import { copyRunner } from '../../src/kinds/copy/copy-runner.ts';
import type { DocumentAccess } from '../../src/access/document-access.ts';
import { MemoryBlobStore } from './memory-blob-store.ts';
import { archiveStage, order } from './stage.ts';

const SPEC: CopySpec = {
  kind: 'copy',
  name: 'named',
  version: 1,
  from: { container: 'Orders', type: 'order' },
  into: { container: 'Copies', type: 'named' },
  onDelete: 'remove',
  stable: false,
  joins: [
    {
      name: 'customer',
      of: { container: 'Customers', type: 'customer' },
      on: { tenant: 'tenant', id: 'customer' },
      missing: 'null',
    },
  ],
  map: (doc, { customer }) => ({ id: doc['id'], tenant: doc['tenant'], name: customer?.['name'] ?? null }),
};

test('a renamed customer is renamed in the copies of archived orders too', async () => {
  const store = new MemoryBlobStore();
  const stage = await archiveStage(store);
  for (const id of ['Customers', 'Copies'])
    await stage.database.containers.create({ id, partitionKey: { paths: ['/tenant'] }, defaultTtl: -1 });
  const customers = { name: 'Customers', keyPaths: [['tenant']], types: new Map([['customer', {}]]) };
  const runner = (unreachable = false) =>
    copyRunner(
      SPEC,
      { name: 'Copies', keyPaths: [['tenant']] },
      {
        stateContainer: 'millrace',
        sources: new Map([
          ['Orders', stage.archive.source],
          ['Customers', customers],
        ]),
        readLagMs: 0,
        cold: coldReader(
          () => (unreachable ? Promise.reject(new Error('no storage')) : Promise.resolve(store)),
          'millrace',
        ),
      },
    );
  const customer = async (name: string): Promise<Change> => {
    const doc = { id: 'c', tenant: 't', type: 'customer', name };
    const { resource } = await stage.database.container('Customers').items.upsert(doc);
    const version = { epoch: 1, lsn: Number(name.slice(1)), etag: String(resource?._etag) };
    return { container: 'Customers', type: 'customer', key: ['t'], id: 'c', version, at: 0, op: 'upsert', doc };
  };
  const copies = async (): Promise<unknown[]> => {
    const { resources } = await stage.database
      .container('Copies')
      .items.query('SELECT VALUE c.name FROM c WHERE c.type = "named"')
      .fetchAll();
    return resources;
  };
  await stage.orders.items.create(order('a', { customer: 'c' }));
  await stage.orders.items.create(order('b', { customer: 'c' }));
  await runner().apply([await customer('n1'), ...(await stage.changes())], stage.access());
  expect(await copies()).toEqual(['n1', 'n1']);
  await stage.sweep();
  expect(await stage.hot()).toEqual([]);
  const renamed = await customer('n2');
  await expect(runner(true).apply([renamed], stage.access())).rejects.toMatchObject({
    code: 'unavailable',
    retryable: true,
  });
  await runner().apply([renamed], stage.access());
  expect(await copies()).toEqual(['n2', 'n2']);
});

test('all who wait for one blob hear that the archive is unavailable, so that none of their changes is parked', async () => {
  const stage = await archiveStage();
  for (const id of ['a', 'b']) await stage.orders.items.create(order(id));
  const changes = await stage.changes();
  await stage.sweep();
  const { promise: store, reject } = Promise.withResolvers<BlobStore>();
  const read = coldReader(() => store, 'millrace');
  const access = stage.access();
  let entries = 0;
  const counting: Pick<DocumentAccess, 'read'> = {
    read: async (...of) => {
      const found = await access.read(...of);
      if (++entries === changes.length)
        setImmediate(() => reject(new UsageError('denied', 'The blob container refused us')));
      return found;
    },
  };
  const results = await Promise.allSettled(changes.map((change) => read(change, counting as DocumentAccess)));
  const unavailable = { status: 'rejected', reason: { code: 'unavailable', retryable: true } };
  expect(results).toMatchObject([unavailable, unavailable]);
});
