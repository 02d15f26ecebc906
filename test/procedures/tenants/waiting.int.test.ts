// What `status` says of changes that are deferred. docs/SPEC-tenants.md, TEN-F20.
import { expect, it, vi } from 'vitest';
import { waitingTenants } from '../../../src/procedures/tenants/waiting.ts';
import { cli } from '../../cli/cli.ts';
import { changesOf, openQueues } from '../../engine/deferred/defer.ts';
import { useStage } from '../../support/each-stage.ts';
import type { Stage } from '../../support/stage.ts';
import { TENANTS } from '../backfill/shop.ts';

const { signal } = new AbortController();
const AT = Date.parse('2026-01-01T00:00:00Z');
let stage: Stage;

useStage({ folder: TENANTS }, (opened) => {
  stage = opened;
});

it('the list of waiting tenants shows ten tenants with their queues, and the others together', async () => {
  const { pipeline } = stage.loaded;
  const { state } = stage.services.place;
  const look = () => waitingTenants(pipeline, state, signal);
  expect(await look()).toEqual({ tenants: [], others: null });
  const deferred = await openQueues(state, pipeline.name, 'Orders');
  for (let n = 1; n <= 12; n++) await deferred.defer(`s${n}`, changesOf('Orders', `s${n}`, 100 * n, AT + 1_000 * n));
  const found = await look();
  expect(found?.tenants).toHaveLength(10);
  expect(found?.tenants[0]).toEqual({
    tenant: 's12',
    container: 'Orders',
    changes: 1_200,
    since: '2026-01-01T00:00:12.000Z',
    drained: null,
    emptyIn: null,
  });
  expect(found?.others).toMatchObject({ count: 2, changes: 300, since: '2026-01-01T00:00:01.000Z' });
  const { tenant: _, ...without } = pipeline;
  expect(await waitingTenants(without, state, signal)).toBeNull();

  const { stdout } = await cli(['status', '--pipeline', TENANTS]);
  expect(stdout).toMatch(/s12 +Orders +1,200 +\d+ d ago +unknown +unknown\n/);
  expect(stdout).toMatch(/\(2 others\) +300 /);
});

it('the list of waiting tenants says how many were drained lately, and when it is empty', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: AT });
  try {
    const { pipeline } = stage.loaded;
    const { state } = stage.services.place;
    const look = () => waitingTenants(pipeline, state, signal);
    const deferred = await openQueues(state, pipeline.name, 'Orders');
    await deferred.defer('s1', changesOf('Orders', 's1', 1_000));
    vi.setSystemTime(AT + 30_000);
    for (let n = 0; n < 3; n++) {
      const portion = await deferred.next('s1', 10_000);
      if (typeof portion === 'string') throw new Error(portion);
      await deferred.done(portion);
    }
    expect((await look())?.tenants).toMatchObject([{ changes: 700, drained: 300, emptyIn: 70 }]);
    vi.setSystemTime(AT + 10 * 60_000);
    expect((await look())?.tenants).toMatchObject([{ changes: 700, drained: null, emptyIn: null }]);
  } finally {
    vi.useRealTimers();
  }
});
