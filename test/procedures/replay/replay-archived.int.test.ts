import { expect, it } from 'vitest';
import { compose } from '../../../src/runtime/hosts/processor-host.ts';
import { estimateIn } from '../../../src/procedures/projections/in-places.ts';
import { cli } from '../../cli/cli.ts';
import { useArchiveStage } from '../../support/each-stage.ts';
import { COLD, type Stage } from '../../support/stage.ts';

let stage: Stage;
useArchiveStage(COLD, (opened) => {
  ({ stage } = opened);
});

it('what a rebuild, a replay and a verification promise to read counts what the archive has', async () => {
  for (let n = 0; n < 8; n++)
    await stage.container('Orders').items.upsert({
      id: `o${n}`,
      type: 'order',
      storeId: 's1',
      customerId: 'c1',
      placedAt: `2026-0${n < 6 ? 1 : 2}-03T10:00:00.000Z`,
      cents: n,
    });
  const app = await compose({ ...stage, host: 'test', readLagMs: 0, timings: { pollMs: 40 } });
  await app.start();
  await app.drained(AbortSignal.timeout(30_000));
  await app.stop();
  expect(await cli(['archive', 'sweep', '--pipeline', COLD])).toMatchObject({ code: 0 });
  const spec = stage.loaded.pipeline.projections[0]!;
  expect(await estimateIn(spec, stage)).toMatchObject({ documents: 8 });
  const millrace = async (...args: string[]): Promise<unknown> =>
    JSON.parse((await cli(['projections', ...args, '--pipeline', COLD, '--json'])).stdout);
  expect(await millrace('verify', '--dry-run')).toMatchObject({
    steps: ['read about 16 documents of sources and sinks and compare them'],
  });
  expect(await millrace('replay', 'days', '--dry-run')).toMatchObject({
    steps: ['apply 8 changes to days@1 in Days again'],
  });
  expect(await millrace('replay', 'days')).toMatchObject({ changes: 8, changed: 0 });
});
