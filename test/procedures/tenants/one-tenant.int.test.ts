// `--tenant` of verify, repair, replay, status and the audit: what is another tenant's stays as it is.
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { MillraceError } from '../../../src/base/errors.ts';
import type { Doc } from '../../../src/pipeline/specs.ts';
import { DeadLetters } from '../../../src/engine/dead-letters/dead-letters.ts';
import type { Run } from '../../../src/procedures/journal/runs.ts';
import type { Status } from '../../../src/procedures/status/status.ts';
import type { Refusal } from '../../../src/kinds/runner.ts';
import { cli } from '../../cli/cli.ts';
import { useStage } from '../../support/each-stage.ts';
import type { Stage } from '../../support/stage.ts';
import { live } from '../../verbs/projections/versions.ts';

const FIXTURE = join(import.meta.dirname, '../../fixtures/mended');
const NO_TENANT = join(import.meta.dirname, '../../fixtures/nullable');
const { signal } = new AbortController();
let stage: Stage;

useStage({ folder: FIXTURE, env: { MILLRACE_PIPELINE: FIXTURE } }, async (opened) => {
  stage = opened;
  for (const storeId of ['s1', 's2']) {
    await write('Customers', { id: 'c1', type: 'customer', storeId, name: 'Ada' });
    await write('Orders', {
      id: 'o1',
      type: 'order',
      storeId,
      customerId: 'c1',
      placedAt: '2026-01-01T10:00:00.000Z',
      amount: 1,
    });
  }
  const app = await live(stage);
  await app.drained(signal);
  await app.stop();
  for (const storeId of ['s1', 's2']) {
    const { resource } = await stage.container('Summaries').item('o1', storeId).read<Doc>();
    await write('Summaries', { ...resource, customerName: 'wrong' });
    const days = (
      await stage
        .container('Days')
        .items.query<Doc>(`SELECT * FROM c WHERE c.storeId = '${storeId}' AND c.type = 'day'`)
        .fetchAll()
    ).resources;
    for (const day of days) await write('Days', { ...day, amount: 99 });
  }
});

const write = (container: string, doc: Doc) => stage.container(container).items.upsert(doc);
const json = async (...args: string[]) => {
  const { code, stdout, stderr } = await cli([...args, '--json']);
  return { code, stderr, value: JSON.parse(stdout) as { different: number; differences: { document: string }[] } };
};
const name = async (storeId: string): Promise<unknown> =>
  (await stage.container('Summaries').item('o1', storeId).read<Doc>()).resource?.['customerName'];

it('a verification of one tenant verifies and repairs its documents', async () => {
  const all = await json('projections', 'verify');
  const own = await json('projections', 'verify', '--tenant', 's1');
  expect([all.code, own.code]).toEqual([1, 1]);
  expect(own.value.different).toBe(all.value.different / 2);
  expect(own.value.differences.every(({ document }) => document.startsWith('["s1",'))).toBe(true);
  expect((await cli(['projections', 'verify', '--tenant', 's1', '--dry-run'])).stdout).toMatch(
    /read at most \d+ documents/,
  );
  expect(await json('projections', 'verify', '--repair', 'summaries', '--tenant', 's1')).toMatchObject({ code: 0 });
  expect([await name('s1'), await name('s2')]).toEqual(['Ada', 'wrong']);
  expect((await json('projections', 'verify', '--tenant', 's1')).value.different).toBe(own.value.different - 1);
  expect(await json('projections', 'verify', '--tenant', 's1', '--repair')).toMatchObject({ code: 0 });
  expect((await json('projections', 'verify', '--tenant', 's2')).value.different).toBe(own.value.different);
  expect((await cli(['projections', 'verify', '--repair', '--key', '["s1"]'])).stderr).toContain('none is named');
});

it('a verification of a key or a tenant counts its documents, and does not say that one without any is right', async () => {
  const verify = async (...args: string[]) => {
    const { code, stdout, stderr } = await cli(['projections', 'verify', 'days', ...args]);
    return { code, text: stdout + stderr };
  };
  const counts = async (...args: string[]) => (await json('projections', 'verify', 'days', ...args)).value;
  expect(await counts()).toMatchObject({ documents: { expected: 2, found: 2 }, different: 2 });
  expect(await counts('--key', '["s1"]')).toMatchObject({
    documents: { expected: 1, found: 1 },
    projections: [{ expected: 1 }],
    different: 1,
  });
  for (const [flag, none, what] of [
    ['--key', '["zz"]', 'the key ["zz"]'],
    ['--tenant', 's9', 'the tenant s9'],
  ] as const) {
    expect(await counts(flag, none)).toMatchObject({ documents: { expected: 0, found: 0 }, none: what });
    expect(await verify(flag, none)).toMatchObject({
      code: 0,
      text: expect.stringContaining(`0 sink documents: no sink document has ${what}, expected or stored: check it.`),
    });
  }
  for (const key of ['[]', '["s1","day","more"]'])
    for (const more of [[], ['--repair', '--dry-run'], ['--dry-run']])
      expect(await verify('--key', key, ...more)).toMatchObject({
        code: 2,
        text: expect.stringContaining('and the key of Days is /storeId'),
      });
});

it('a look at one tenant shows its dead letters and its changes by hand', async () => {
  const letters = new DeadLetters(stage.services.place.state);
  const parked = (id: string, tenant: string): Refusal => ({
    change: {
      container: 'Orders',
      type: 'order',
      key: [tenant],
      id,
      tenant,
      version: { epoch: 1, lsn: 1, etag: id },
      at: 0,
      op: 'upsert',
    },
    error: new MillraceError('x', 'no'),
  });
  await letters.park('days@1', [parked('a', 's1'), parked('b', 's2'), parked('c', 's2')], new Date());
  const shown = async (tenant: string) => {
    const { stdout } = await cli(['status', '--tenant', tenant, '--json']);
    const { projections, tenants } = JSON.parse(stdout) as Status;
    return { parked: projections.find(({ id }) => id === 'days@1')?.parked, tenants };
  };
  expect([await shown('s1'), await shown('s2')]).toMatchObject([{ parked: 1 }, { parked: 2 }]);
  expect(await cli(['status', '--tenant', 's1', '--pipeline', NO_TENANT])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--tenant s1: the pipeline nullable has no tenant'),
  });
  const text = (await cli(['status', '--tenant', 's1'])).stdout;
  expect(text).toContain('those of tenant s1; everything else is of all tenants.');
  expect(text).toContain('No host names s1 among the tenants that cost it the most.');

  for (const tenant of ['s1', 's2', 's1'])
    await cli(['projections', 'verify', '--repair', 'summaries', '--tenant', tenant]);
  await cli(['projections', 'verify', '--repair']);
  const audit = async (...args: string[]) =>
    (JSON.parse((await cli(['audit', ...args, '--json'])).stdout) as Run[]).map(
      ({ arguments: given }) => given['tenant'],
    );
  expect(await audit()).toEqual([undefined, 's1', 's2', 's1']);
  expect(await audit('--tenant', 's1')).toEqual(['s1', 's1']);
  expect(await audit('--tenant', 's1', '--most', '1')).toEqual(['s1']);
});

it('a replay of one tenant replays its changes', async () => {
  for (const storeId of ['s1', 's2']) await stage.container('Summaries').item('o1', storeId).delete();
  const planned = await cli(['projections', 'replay', 'summaries', '--tenant', 's1', '--dry-run']);
  expect(planned.stdout).toContain('but only those of tenant s1');
  expect((await cli(['projections', 'replay', 'summaries', '--tenant', 's1'])).code).toBe(0);
  expect([await name('s1'), await name('s2')]).toEqual(['Ada', undefined]);
  expect((await cli(['projections', 'replay', 'summaries', '--tenant', ' '])).code).toBe(2);
});
