import { expect, it } from 'vitest';
import { join } from 'node:path';
import { MillraceError } from '../../../src/base/errors.ts';
import { DeadLetters } from '../../../src/engine/dead-letters/dead-letters.ts';
import { triedLetters } from '../../../src/procedures/dead-letters/redrive.ts';
import type { Refusal } from '../../../src/kinds/runner.ts';
import { cli } from '../../cli/cli.ts';
import { useStage } from '../../support/each-stage.ts';
import type { Stage } from '../../support/stage.ts';

const STOREFRONT = join(import.meta.dirname, '../../../examples/storefront');
let stage: Stage;
useStage({ folder: STOREFRONT }, (opened) => {
  stage = opened;
});

const at = (second: number): Date => new Date(Date.UTC(2026, 2, 1, 0, 0, second));
const refusal = (id: string, code: string, store = 'store-1'): Refusal => ({
  change: {
    container: 'Orders',
    type: 'order',
    key: [store, 'c1'],
    tenant: store,
    id,
    version: { epoch: 1, lsn: 5, etag: `"${id}"` },
    at: 0,
    op: 'upsert',
    doc: { id },
  },
  error: new MillraceError(code, `${id} does not fit`),
});
const park = (projection: string, second: number, ...refusals: Refusal[]) =>
  new DeadLetters(stage.services.place.state).park(projection, refusals, at(second));
const list = async <T = Record<string, unknown>[]>(...flags: string[]): Promise<T> => {
  const { stdout, stderr } = await cli(['dead-letters', 'list', ...flags, '--json', '--pipeline', STOREFRONT]);
  if (stderr !== '') throw new Error(stderr);
  return JSON.parse(stdout) as T;
};
const ids = async (...flags: string[]) => (await list(...flags)).map(({ id }) => id);

it('10,000 dead letters of one reason are one line', async () => {
  await park('a@1', 1, ...Array.from({ length: 10_000 }, (_, n) => refusal(`o${n}`, 'too-large')));
  await park('b@2', 0, refusal('first', 'too-large'));
  await park('b@2', 2, refusal('other', 'threw'));
  const { stdout } = await cli(['dead-letters', 'list', '--pipeline', STOREFRONT]);
  const lines = stdout.trimEnd().split('\n');
  expect(lines).toHaveLength(4);
  expect(lines[1]).toMatch(/^too-large +10,001 +\d+ d ago +\d+ d ago +a@1, b@2 +first +first does not fit$/);
  expect(lines[2]).toMatch(/^threw +1 .* b@2 +other/);
  expect(lines[3]).toMatch(/^10,002 dead letters;/);
});

it('a group names its code, its count, its times, its projections and its oldest letter', async () => {
  await park('a@1', 3, refusal('o3', 'x'));
  await park('b@1', 1, refusal('o1', 'x'));
  await park('a@2', 2, refusal('o2', 'x'), refusal('p', 'y'));
  await park('ab@1', 5, refusal('q', 'z'));
  const [x] = await list();
  expect(x).toEqual({
    code: 'x',
    count: 3,
    oldest: at(1).toISOString(),
    newest: at(3).toISOString(),
    example: 'o1',
    message: 'o1 does not fit',
    projections: ['a@1', 'a@2', 'b@1'],
  });
  expect(await list('--only', 'a')).toMatchObject([
    { code: 'x', count: 2, projections: ['a@1', 'a@2'] },
    { code: 'y', count: 1 },
  ]);
});

it('code, key, time and version select single letters, each with its key and tenant', async () => {
  await park('a@1', 1, refusal('o1', 'x'), refusal('o2', 'y', 'store-2'));
  await park('a@10', 3, refusal('o3', 'x', 'store-2'));
  expect(await ids('--each')).toEqual(['o1', 'o2', 'o3']);
  expect(await ids('--code', 'x')).toEqual(['o1', 'o3']);
  expect(await ids('--key', '["store-2","c1"]')).toEqual(['o2', 'o3']);
  expect(await ids('--key', '["store-2"]')).toEqual([]);
  expect(await ids('--since', '2026-03-01T01:00:02+01:00')).toEqual(['o3']);
  expect(await ids('--each', '--only', 'a@1')).toEqual(['o1', 'o2']);
  expect(await list('--code', 'y')).toMatchObject([{ tenant: 'store-2', key: ['store-2', 'c1'] }]);
  const { stdout } = await cli(['dead-letters', 'list', '--each', '--pipeline', STOREFRONT]);
  expect(stdout).toMatch(/^projection +container +tenant +key +id/);
  expect(stdout).toMatch(/Orders +store-2 +\["store-2","c1"\] +o2/);
  expect(await ids('--tenant', 'store-2', '--each')).toEqual(['o2', 'o3']);
  expect(await list('--tenant', 'store-2')).toMatchObject([{ count: 1 }, { count: 1 }]);
  expect(await ids('--tenant', 'STORE-2', '--each')).toEqual([]);
  const wrong = await cli(['dead-letters', 'list', '--key', 'store-2', '--pipeline', STOREFRONT]);
  expect(wrong).toMatchObject({ code: 2 });
  expect(wrong.stderr).toContain('--key: store-2 is not a partition key');
});

it('a sample is the oldest letters of the selection', async () => {
  await park('a@1', 2, refusal('o2', 'x'));
  await park('a@1', 3, refusal('o3', 'x'));
  await park('a@1', 1, refusal('o1', 'x'), refusal('o0', 'y'));
  const from = { services: async () => stage.services, pipeline: async () => stage.loaded };
  const sample = await triedLetters(from, { code: 'x', sample: 2 });
  expect(sample.map(({ id }) => id)).toEqual(['o1', 'o2']);
});

it('a discard discards all letters of one code, and leaves the others', async () => {
  await park('a@1', 1, refusal('o1', 'x'), refusal('o2', 'y'), refusal('o3', 'x'));
  const discard = (...flags: string[]) =>
    cli(['dead-letters', 'discard', ...flags, '--reason', 'a wrong import', '--yes', '--pipeline', STOREFRONT]);
  expect(await discard('--since', '2026-01-01T00:00:00Z')).toMatchObject({ code: 2 });
  expect((await discard('--code', 'x')).stdout).toContain('2 dead letters discarded.');
  expect(await ids('--each')).toEqual(['o2']);
});
