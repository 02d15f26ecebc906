// What the line of a run says of parked changes: how many there are now, not how many the run has parked.
import { expect, it } from 'vitest';
import { runPipeline } from '../../../src/host/run/run-pipeline.ts';
import type { Screen } from '../../../src/procedures/screen.ts';
import { openStage } from '../../support/stage.ts';

const ORDER = { type: 'order', storeId: 's1', customerId: 'c1', cents: 100 };

it('`run` counts what was parked before and by this run, and no longer what is corrected', async () => {
  await using stage = await openStage();
  const write = (id: string, placedAt: unknown) => stage.container('Orders').items.upsert({ ...ORDER, id, placedAt });
  let line = '';
  const draw = ([text = '']: readonly string[]): void => void (line = text);
  const screen: Screen = { live: true, line: () => undefined, progress: () => undefined, draw };
  const parked = (): string | undefined => /([\d,]+) parked/.exec(line)?.[1];
  const { signal } = new AbortController();
  const run = (work: () => Promise<void>) =>
    runPipeline(
      { ...stage, host: 'test', readLagMs: 0, timings: { pollMs: 20 }, statusMs: 20, signal, screen },
      async (app) => {
        await app.drained(signal);
        await work();
      },
    );

  const [first] = await run(async () => {
    await write('order-1', 7);
    await expect.poll(parked).toBe('2');
    await write('order-2', 7);
    await expect.poll(parked).toBe('4');
  });
  expect([first?.parked, parked()], 'the row is of the run').toEqual([2, '4']);

  await run(async () => {
    await expect.poll(parked).toBe('4');
    await write('order-1', '2026-01-01T10:00:00.000Z');
    await expect.poll(parked).toBe('2');
  });
  expect(parked()).toBe('2');
});
