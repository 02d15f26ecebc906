// ERASE-R1 and ERASE-R3 while hosts run and the application writes.
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { planModel } from '../../../src/procedures/apply/apply.ts';
import { erase } from '../../../src/procedures/erase/erase.ts';
import { compose } from '../../../src/runtime/hosts/processor-host.ts';
import { type Azurite, startAzurite } from '../../support/azurite.ts';
import { openStage } from '../../support/stage.ts';
import { ERASE, GONE, STAYS, documentsOf, eraseOptions, everything, naming } from '../tenants/leaving.ts';

let azurite: Azurite;
beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(async () => {
  await azurite?.close();
});

it.each(['latest', 'all-versions'] as const)(
  'an erasure erases beside a host that reads %s, while the tenants write',
  async (feed) => {
    const { connectionString } = azurite;
    await using opened = await openStage({}, ERASE, { connectionString, container: feed });
    const blobs: ContainerClient = BlobServiceClient.fromConnectionString(connectionString).getContainerClient(feed);
    const { pipeline } = opened.loaded;
    const loaded = {
      ...opened.loaded,
      pipeline: { ...pipeline, sources: pipeline.sources.map((of) => ({ ...of, feed })) },
    };
    const stage = { ...opened, loaded };
    if (feed === 'all-versions') {
      await stage.container('Orders').delete();
      for (const step of await planModel(loaded, stage.services)) await step.apply();
    }
    const app = await compose({ ...stage, host: 'live', readLagMs: 0, viewsRefreshMs: 0, timings: { pollMs: 40 } });
    await app.start();
    const { signal } = new AbortController();
    for (const storeId of [GONE, STAYS])
      for (const [container, document] of documentsOf(storeId)) await stage.container(container).items.upsert(document);
    await app.drained(signal);
    expect(naming(await everything(stage, blobs), GONE).length).toBeGreaterThan(50);

    const enough = new AbortController();
    let written = 0;
    const write = async (): Promise<void> => {
      for (; !enough.signal.aborted; written++)
        for (const storeId of [GONE, STAYS]) {
          const [, order] = documentsOf(storeId).at(-1)!;
          await stage
            .container('Orders')
            .items.upsert({ ...order, id: `${storeId}-late-${written % 20}`, cents: written });
        }
    };
    let writer = Promise.resolve();
    const drained = (): Promise<void> => app.drained(signal);
    const certificate = await erase({
      ...(await eraseOptions(stage)),
      stopped: async () => {
        await drained();
        writer = write();
      },
      passed: async () => {
        enough.abort();
        await writer;
        await drained();
      },
    });
    expect(certificate.removed['Orders']).toBeGreaterThan(8);
    expect(written).toBeGreaterThan(0);
    await drained();
    const after = await everything(stage, blobs);
    expect(naming(after, GONE)).toEqual([]);
    const typed = (type: string): string[] =>
      [...after.values()]
        .map((text) => JSON.parse(text) as { type?: string; id: string })
        .flatMap((one) => (one.type === type ? one.id : []))
        .toSorted();
    expect(typed('summary')).toEqual(typed('order'));
    await app.stop();
  },
);
