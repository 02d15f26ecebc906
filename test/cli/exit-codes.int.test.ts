import { expect, it, vi } from 'vitest';
import { useStage } from '../support/each-stage.ts';
import { SHOP, type Stage } from '../support/stage.ts';
import { cli } from './cli.ts';

let stage: Stage;
useStage({}, (opened) => {
  stage = opened;
});
const codeOf = async (...args: string[]): Promise<number> => (await cli([...args, '--pipeline', SHOP])).code;

it('`run --once`, `projections verify` and `doctor` end with 1 while a change is parked, also one of an earlier run', async () => {
  const order = { id: 'o1', type: 'order', storeId: 's1', customerId: 'c1', cents: 1 };
  await stage.container('Orders').items.upsert({ ...order, placedAt: 7 });
  const run = ['run', '--once', '--poll-delay', '20'];
  const first = await cli([...run, '--pipeline', SHOP]);
  expect(first.code).toBe(1);
  expect(first.stdout).toContain('2 changes are parked. See `millrace dead-letters list`.');
  expect(await codeOf(...run)).toBe(1);
  expect(await codeOf('projections', 'verify')).toBe(1);
  expect(await codeOf('doctor')).toBe(1);
  await stage.container('Orders').items.upsert({ ...order, placedAt: '2026-01-01T10:00:00.000Z' });
  expect(await codeOf(...run)).toBe(0);
  expect(await codeOf('projections', 'verify')).toBe(0);
  expect(await codeOf('doctor')).toBe(0);
});

it('`projections list` ends as `status` does where the account can’t be reached, with the cause, and lists what is declared without one', async () => {
  vi.stubEnv('COSMOS', 'AccountEndpoint=http://127.0.0.1:9/;AccountKey=QUJD');
  for (const verb of [['status'], ['projections', 'list']])
    expect(await cli([...verb, '--pipeline', SHOP])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('connect ECONNREFUSED'),
    });
  vi.stubEnv('COSMOS', '');
  expect(await codeOf('projections', 'list')).toBe(0);
});
