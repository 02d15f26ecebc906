import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DevSummary } from '../../src/host/dev/dev.operation.ts';
import { millrace } from '../support/process.ts';
import { SHOP } from '../support/stage.ts';

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
  it('loads, derives, compares; a second run on the same data reads nothing again', async () => {
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

  it('is exact on a server that lags, throttles and loses answers', async () => {
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

  it('goes on where SIGKILL ended it, nothing lost or doubled', async () => {
    const data = join(directory, 'data');
    for (let kill = 1; kill <= 3; kill++) {
      await using process = dev('--data', data, '--rate', '60');
      await process.until(new RegExp(`loading shop/workload: |loaded shop/workload`));
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
] as const)('stops cleanly on %s, leases free', async (signal, expected) => {
  const data = join(directory, 'data');
  await using process = dev('--data', data);
  await process.until(/loaded shop\/workload/);
  process.kill(signal);
  expect((await process.ended).code).toBe(expected);
  expect(process.stderr).toBe('');
  const { summary } = await once('--data', data);
  expect(summary.loaded).toMatchObject({ skipped: 105 });
  expect(summary.verification).toMatchObject({ different: 0 });
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

  it('is loaded but for its bad lines, which are named, counted and kept', async () => {
    writeFileSync(join(directory, 'orders.jsonl'), `\uFEFF${lines.join('\r\n')}`);
    const { code, summary, stderr } = await once('--input', 'orders.jsonl', '--into', 'Orders/order');
    expect(code).toBe(0);
    expect(summary.loaded).toMatchObject({ at: 11, loaded: 2, rejected: 8 });
    expect(summary.verification).toMatchObject({ different: 0, documents: { sources: 2, found: 3 } });
    const rejects = readFileSync(summary.loaded?.rejectsFile ?? '', 'utf8')
      .trim()
      .split('\n')
      .map((text) => JSON.parse(text) as { line: number; why: string; text: string });
    expect(rejects.map(({ line, why }) => [line, why])).toEqual([
      [2, expect.stringContaining('not valid JSON')],
      [4, expect.stringContaining('/storeId')],
      [5, expect.stringContaining('may have 2 MB')],
      [6, expect.stringContaining('not allowed')],
      [7, expect.stringContaining('1023 bytes')],
      [8, 'its id is not a string'],
      [9, 'it is a JSON value, but not an object'],
      [10, expect.stringContaining('"invoice"')],
    ]);
    expect(rejects[0]?.text).toBe(lines[1]);
    expect(JSON.parse(rejects[2]?.text ?? '')).toMatchObject({ id: 'big' });
    expect(stderr).toContain('orders.jsonl:2: rejected: it is not valid JSON');
  });

  it('is loaded from where it was, once it has grown', async () => {
    const file = join(directory, 'orders.jsonl');
    const args = ['--data', join(directory, 'data'), '--input', file, '--into', 'Orders/order'];
    writeFileSync(file, `${lines[0]}\nnonsense\n`);
    await once(...args);
    writeFileSync(file, `${lines[0]}\nnonsense\n${lines[10]}\n`);
    const { summary } = await once(...args);
    expect(summary.loaded).toMatchObject({ at: 3, skipped: 2, loaded: 2, rejected: 1 });
    expect(changes(summary)).toEqual([1, 1]);
    expect(
      readFileSync(summary.loaded?.rejectsFile ?? '', 'utf8')
        .trim()
        .split('\n'),
    ).toHaveLength(1);
  });
});

describe('bad input is one clear message with its mend, exit code 2 and no stack', () => {
  async function refused(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
    await using process = millrace(args, { env, directory });
    const { code } = await process.ended;
    expect(process.stderr).not.toMatch(/^ {4}at /m);
    expect(process.stderr).toMatch(/^error: .+\n {2}\S/);
    expect(code).toBe(2);
    return process.stderr;
  }

  it('a port in use', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    expect(await refused(['dev', '--pipeline', SHOP, '--port', String(port)])).toContain(`Port ${port}`);
    server.close();
  });

  it('a folder that can’t be written', async () => {
    writeFileSync(join(directory, 'file'), '');
    expect(await refused(['dev', '--pipeline', SHOP, '--data', 'file/folder'])).toContain('file/folder');
  });

  it('an account that can’t be reached, and one with another key', async () => {
    const args = ['run', '--pipeline', SHOP];
    expect(
      await refused(args, { COSMOS: 'AccountEndpoint=http://127.0.0.1:9/;AccountKey=QQ==', COSMOS_DATABASE: 'x' }),
    ).toContain("can't be reached");
    await using server = millrace(['emulator', 'start', '--port', '0'], { directory });
    const [, endpoint = ''] = await server.until(/listens at (\S+),/);
    expect(
      await refused(args, { COSMOS: `AccountEndpoint=${endpoint};AccountKey=QQ==`, COSMOS_DATABASE: 'x' }),
    ).toContain('refused access');
    expect(await refused(args, { COSMOS: '', COSMOS_DATABASE: 'x' })).toContain('COSMOS');
  });

  it.each([
    [['--input', 'absent.jsonl', '--into', 'Orders/order'], 'There is no file absent.jsonl'],
    [['--input', 'absent.jsonl'], '--input needs --into'],
    [['--input', 'absent.jsonl', '--into', 'Orders'], 'Container/type'],
    [['--input', 'absent.jsonl', '--into', 'Order/order'], 'did you mean Orders?'],
    [['--input', 'absent.jsonl', '--into', 'Orders/ordr'], 'did you mean order?'],
    [['--into', 'Orders/order'], 'without --input'],
    [['--example', 'flihgts'], 'did you mean flights?'],
  ])('%j', async (args, message) => {
    expect(await refused(['dev', '--pipeline', SHOP, ...args])).toContain(message);
  });
});
