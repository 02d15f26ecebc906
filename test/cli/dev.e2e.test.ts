import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CosmosClient } from '@azure/cosmos';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DevSummary } from '../../src/host/dev/play.ts';
import { millrace } from '../support/process.ts';
import { SHOP } from '../support/stage.ts';
import { post } from '../dashboard/served.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'millrace-dev-'));
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

const dev = (...args: string[]) => millrace(['dev', '--pipeline', SHOP, ...args], { directory });

async function once(...args: string[]): Promise<{ code: number | null; summary: DevSummary; stderr: string }> {
  await using process = dev('--once', '--json', ...args);
  const { code } = await process.ended;
  return { code, summary: JSON.parse(process.stdout) as DevSummary, stderr: process.stderr };
}

const changes = ({ projections }: DevSummary): number[] => projections.map((projection) => projection.changes);

describe('millrace dev --once', () => {
  it('`millrace dev --once` loads, derives, compares; a second run on the same data reads nothing again', async () => {
    const data = join(directory, 'data');
    const first = await once('--data', data);
    expect(first.code).toBe(0);
    expect(first.summary).toMatchObject({
      loaded: { loaded: 105, skipped: 0, rejected: 0 },
      verification: { different: 0, documents: { expected: 59, found: 59 } },
    });
    expect(changes(first.summary)).toEqual([75, 60]);
    const second = await once('--data', data);
    expect(second.code).toBe(0);
    expect(second.summary).toMatchObject({ loaded: { loaded: 105, skipped: 105 }, verification: { different: 0 } });
    expect(changes(second.summary)).toEqual([0, 0]);
    expect(second.summary.projections.map(({ writes }) => writes)).toEqual([0, 0]);
  });

  it('`millrace dev --once` is exact on a server that lags, throttles and loses answers', async () => {
    const { code, summary } = await once(
      '--replica-lag',
      '50',
      '--fail-after-effect',
      '0.05',
      '--fail-before',
      '0.05',
      '--throttle',
      '0.05',
      '--seed',
      '7',
    );
    expect(summary.verification).toMatchObject({ different: 0, documents: { expected: 59, found: 59 } });
    expect(code).toBe(0);
  });

  it('`millrace dev --once` goes on where SIGKILL ended it, nothing lost or doubled', async () => {
    const data = join(directory, 'data');
    for (let kill = 1; kill <= 3; kill++) {
      await using process = dev('--data', data, '--rate', '60');
      await process.until(new RegExp(`loading shop/workload: |documents loaded`));
      process.kill('SIGKILL');
      expect((await process.ended).signal).toBe('SIGKILL');
    }
    const { code, summary } = await once('--data', data);
    expect(summary.loaded).toMatchObject({ at: 105, loaded: 105 });
    expect(summary.verification).toMatchObject({ different: 0, documents: { expected: 59, found: 59 } });
    expect(code).toBe(0);
  });
});

it.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('`millrace dev` stops cleanly on %s, leases free', async (signal, expected) => {
  const data = join(directory, 'data');
  await using process = dev('--data', data);
  await process.until(/documents loaded/);
  process.kill(signal);
  expect((await process.ended).code).toBe(expected);
  expect(process.stderr).toBe('');
  const { summary } = await once('--data', data);
  expect(summary.loaded).toMatchObject({ skipped: 105 });
  expect(summary.verification).toMatchObject({ different: 0 });
});

it('`millrace dev` rewinds in place: its host stops for the leases to move, and reads again', async () => {
  await using process = dev();
  const [, url = ''] = await process.until(/Dashboard: (\S+)/);
  const [, account = '', name = ''] = await process.until(
    /COSMOS='([^']+)'[^]*COSMOS_DATABASE='([^']+)'[^]*All right[^]*\b135 changes/,
  );
  const { items } = new CosmosClient(account).database(name).container('leases');
  const leases = async (): Promise<string[]> => {
    const { resources } = await items.query<string>('SELECT VALUE c.id FROM c WHERE IS_DEFINED(c.Owner)').fetchAll();
    return resources.toSorted();
  };
  const before = await leases();
  expect(before).toContainEqual(expect.stringContaining('.Orders.'));
  const input = { container: 'Orders', to: 'beginning' };
  const looked = await post(url, '/api/run/leases/rewind', { input, dryRun: true });
  expect(looked.body).toMatchObject({ plan: { steps: expect.arrayContaining(['stop the host of this run']) } });
  const { status, body } = await post(url, '/api/run/leases/rewind', { input, once: 'rewind-once' });
  expect([status, body]).toMatchObject([200, { result: { moved: [{ to: 'beginning' }] } }]);
  // The lease that was deleted is there again when the answer comes.
  expect(await leases()).toEqual(before);
  await process.until(/The host was stopped for a command, and starts again\.[^]*\b2\d\d changes/);
  process.kill('SIGINT');
  expect((await process.ended).code).toBe(130);
});

describe('a user’s own file', () => {
  const order = (id: string, more: object = {}) => ({
    id,
    storeId: 's1',
    customerId: 'c1',
    placedAt: '2026-01-01T10:00:00.000Z',
    cents: 1,
    ...more,
  });
  const lines = [
    JSON.stringify(order('ok-1')),
    '{"id": "cut off',
    '',
    JSON.stringify({ ...order('no-key'), storeId: undefined }),
    JSON.stringify(order('big', { note: 'x'.repeat(2 * 1024 * 1024) })),
    JSON.stringify(order('sl/ash')),
    JSON.stringify(order('x'.repeat(1_024))),
    JSON.stringify({ ...order('?'), id: 5 }),
    '[1]',
    JSON.stringify(order('other', { type: 'invoice' })),
    JSON.stringify(order('ok-2')),
  ];

  it('a user’s own file is loaded but for its bad lines, which are named, counted and kept', async () => {
    writeFileSync(join(directory, 'orders.jsonl'), `\uFEFF${lines.join('\r\n')}`);
    const { code, summary, stderr } = await once('--input', 'orders.jsonl', '--into', 'Orders/order');
    expect(code, 'a rejected line needs a person').toBe(1);
    expect(summary.loaded).toMatchObject({ at: 11, loaded: 3, rejected: 7 });
    expect(summary.verification).toMatchObject({ different: 0, documents: { sources: 3, found: 3 } });
    const rejects = readFileSync(summary.loaded?.rejectsFile ?? '', 'utf8')
      .trim()
      .split('\n')
      .map((text) => JSON.parse(text) as { line: number; why: string; text: string });
    expect(rejects.map(({ line, why }) => [line, why])).toEqual([
      [2, expect.stringContaining('not valid JSON')],
      [5, expect.stringContaining('may have 2 MB')],
      [6, expect.stringContaining('contains one of')],
      [7, expect.stringContaining('1,023 at most')],
      [8, 'its id is not a string'],
      [9, 'it is a JSON value, but not an object'],
      [10, expect.stringContaining('"invoice"')],
    ]);
    expect(rejects[0]?.text).toBe(lines[1]);
    expect(JSON.parse(rejects[1]?.text ?? '')).toMatchObject({ id: 'big' });
    expect(stderr).toContain('orders.jsonl:2: rejected: it is not valid JSON');
    expect(stderr.match(/: rejected: /g), 'the others are counted').toHaveLength(5);
  });

  it('files of two types are loaded, each into the --into beside it', async () => {
    writeFileSync(join(directory, 'orders.jsonl'), lines[0]!);
    writeFileSync(join(directory, 'customers.jsonl'), JSON.stringify({ id: 'c1', storeId: 's1', name: 'Ada' }));
    const args = '--input orders.jsonl --into Orders/order --input customers.jsonl --into Customers/customer';
    const { code, summary } = await once(...args.split(' '));
    expect(code).toBe(0);
    expect(summary.loaded).toMatchObject({ loaded: 2, rejected: 0 });
  });

  it('a user’s own file is loaded from where it was, once it has grown, beside one that is new', async () => {
    const file = join(directory, 'orders.jsonl');
    const args = ['--data', join(directory, 'data'), '--input', file, '--into', 'Orders/order'];
    writeFileSync(file, `${lines[0]}\nnonsense\n`);
    await once(...args);
    writeFileSync(file, `${lines[0]}\nnonsense\n${lines[10]}\n`);
    writeFileSync(join(directory, 'more.jsonl'), JSON.stringify(order('more-1')));
    const { summary } = await once(...args, '--input', join(directory, 'more.jsonl'));
    expect(summary.loaded).toMatchObject({ at: 4, skipped: 2, loaded: 3, rejected: 1 });
    expect(changes(summary)).toEqual([2, 2]);
    expect(
      readFileSync(summary.loaded?.rejectsFile ?? '', 'utf8')
        .trim()
        .split('\n'),
    ).toHaveLength(1);
  });
});
