// The table of docs/observability.md that says where each failure shows: a drill for each cell. What a cell has in backticks
// must be in what that place then says; a cell that begins with "silent" must say nothing of it.
import { readFileSync } from 'node:fs';
import { type Server, createServer } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { metrics } from '@opentelemetry/api';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startEmbeddedJobs } from '../../../src/host/dev/jobs-embedded.ts';
import { cli } from '../../cli/cli.ts';
import { openHubs } from '../../emulator/hubs.ts';
import { type Served, served } from '../../support/served.ts';
import { COLD, SHOP, type Stage, openStage } from '../../support/stage.ts';

const ROOT = join(import.meta.dirname, '../../..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const OUTSIDE = join(ROOT, 'test/fixtures/outside');
const COLUMNS = ['health', 'status', 'doctor', 'alert', 'dashboard'] as const;
type Column = (typeof COLUMNS)[number];

const READY = '{"ready":true,"problems":[]}';
/** By failure, what each column says. */
const TABLE = new Map(
  read('docs/observability.md')
    .split('## What each failure shows')[1]!
    .split('\n## ')[0]!
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1)
    .map((line) => {
      const [failure = '', ...cells] = line.slice(2, -2).split(' | ');
      return [
        failure,
        Object.fromEntries(COLUMNS.map((column, n) => [column, cells[n] ?? ''])) as Record<Column, string>,
      ];
    }),
);
/** A storm of 429 shows after a minute, in which requests are sent again. */
const WAIT = { timeout: 100_000, interval: 250 };
const named = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
const isSilent = (cell: string): boolean => cell.startsWith('silent');

let stage: Stage;
const drilled = new Set<string>();

async function open(folder = SHOP, env: Readonly<Record<string, string>> = {}): Promise<void> {
  stage = await openStage({}, folder);
  onTestFinished(() => stage[Symbol.asyncDispose]());
  for (const [name, value] of Object.entries({ ...stage.env, MILLRACE_PIPELINE: folder, ...env }))
    vi.stubEnv(name, value);
}

/** A host, or a worker, that is ready. */
async function host(
  args: readonly string[] = [
    'run',
    '--host',
    'here',
    '--lease-expiration',
    '1500',
    '--poll-delay',
    '50',
    '--dashboard',
    '0',
  ],
): Promise<Served> {
  const running = await served(/Probes: (http:\S+\/)readyz/, [...args, '--probes', '0']);
  onTestFinished(() => running.stop().then(() => undefined));
  await vi.waitFor(async () => expect((await fetch(new URL('readyz', running.url))).status).toBe(200), WAIT);
  return running;
}

const order = (id: string, more: object = {}) =>
  stage.container('Orders').items.upsert({
    id,
    type: 'order',
    storeId: 's1',
    customerId: 'c1',
    placedAt: '2026-01-01T10:00:00.000Z',
    cents: 1,
    ...more,
  });

/** Asks every place, and holds what it says to the row. */
async function expectShown(failure: string, { url }: Pick<Served, 'url'>): Promise<void> {
  drilled.add(failure);
  const row = TABLE.get(failure);
  if (!row) throw new Error(`The table has no row ${failure}`);
  const ask = async (path: string) => {
    const answer = await fetch(new URL(path, url));
    return { status: answer.status, text: await answer.text() };
  };
  expect((await ask('livez')).status).toBe(200);
  const asked: Record<Exclude<Column, 'alert' | 'dashboard'>, () => Promise<string>> = {
    health: async () => (await ask('readyz')).text,
    status: async () => {
      const { stdout, stderr } = await cli(['status']);
      return stdout + stderr;
    },
    doctor: async () => (await cli(['doctor'])).stdout,
  };
  for (const [column, say] of Object.entries(asked)) {
    const cell = row[column as Column];
    if (isSilent(cell)) {
      if (column === 'health' && (await say()) !== READY) throw new Error(`${failure} shows on /readyz`);
      continue;
    }
    const names = named(cell);
    expect(names.length, `${failure}: ${column}`).toBeGreaterThan(0);
    await vi.waitFor(async () => {
      const said = await say();
      for (const name of names) expect(said, `${failure}: ${column}`).toContain(name);
    }, WAIT);
  }
  if (isSilent(row.alert)) return;
  const rules = read('infra/observability/prometheus-rules.yml');
  await vi.waitFor(async () => {
    const began = performance.now();
    const scrape = (await ask('metrics')).text;
    // A scrape has an end, whatever doesn't answer.
    expect(performance.now() - began).toBeLessThan(8_000);
    for (const alert of named(row.alert)) {
      const [, expr = ''] = new RegExp(`alert: ${alert}\\n\\s+expr: (?:>-\\n\\s+)?(.*)`).exec(rules) ?? [];
      const [metric = ''] = /millrace_\w+/.exec(expr) ?? [];
      expect([alert, metric]).toEqual([alert, expect.stringMatching(/^millrace_/)]);
      const values = [...scrape.matchAll(new RegExp(`^${metric}\\{.*\\} (\\S+)`, 'gm'))].map(([, value]) =>
        Number(value),
      );
      const fires = /< 1/.test(expr) ? values.includes(0) || values.length === 0 : values.some((value) => value > 0);
      expect([alert, fires, scrape.match(new RegExp(`^${metric}.*`, 'gm'))]).toEqual([alert, true, expect.anything()]);
    }
  }, WAIT);
}

beforeEach(() => {
  onTestFinished(() => {
    metrics.disable();
    vi.unstubAllEnvs();
  });
});

describe('where a failure shows', { timeout: 150_000 }, () => {
  it('a deleted lease container shows, and hosts come back by themselves', async () => {
    await open();
    const running = await host();
    await order('o1');
    const { leases, leaseDatabase } = stage.services.global;
    await leases.delete();
    await expectShown('lease container gone', running);
    await leaseDatabase.containers.create({ id: leases.id, partitionKey: '/id', defaultTtl: -1 });
    await vi.waitFor(async () => expect((await fetch(new URL('readyz', running.url))).status).toBe(200), WAIT);
    await vi.waitFor(async () => expect((await cli(['leases', 'list', '--check'])).code).toBe(0), WAIT);
  });

  it('a sink that is missing shows', async () => {
    await open();
    const running = await host();
    await stage.container('Days').delete();
    await order('o1');
    await expectShown('sink container gone', running);
  });

  it('a hub that is away shows', async () => {
    const hubs = await openHubs({ hubs: { orders: { partitions: 2 } } });
    let isOpen = true;
    const close = async (): Promise<void> => {
      if (isOpen) await hubs[Symbol.asyncDispose]();
      isOpen = false;
    };
    onTestFinished(close);
    await open(OUTSIDE, { EVENTHUBS: hubs.hubs.connectionString });
    const running = await host();
    await close();
    await order('o1');
    await expectShown('event hub down', running);
  });

  it('a job store that is away shows', async () => {
    const store = await startEmbeddedJobs();
    await open(SHOP, { JOBS_URL: store.url });
    const running = await host(['jobs', 'work']);
    await store[Symbol.asyncDispose]();
    await expectShown('job store down', running);
  });

  it('a storage that never answers shows', async () => {
    const frozen: Server = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(frozen, 'listening');
    const { port } = frozen.address() as { port: number };
    onTestFinished(() => void frozen.close());
    await open(COLD, {
      STORAGE: `DefaultEndpointsProtocol=http;AccountName=a;AccountKey=a2V5;BlobEndpoint=http://127.0.0.1:${port}/a`,
      STORAGE_CONTAINER: 'cold',
    });
    await expectShown('storage frozen', await host());
  });

  it('a storm of 429 shows', async () => {
    await open();
    const running = await host();
    await order('o1');
    stage.emulator.faults({ throttle: 1 });
    await expectShown('storm of 429, after a minute', running);
    stage.emulator.faults({});
  });

  it('a clock that is off shows', async () => {
    await open();
    const running = await host();
    stage.emulator.advance(300_000);
    await expectShown('clock off', running);
  });

  it('changes that are parked in masses show', async () => {
    await open();
    const running = await host();
    for (let n = 0; n < 30; n++) await order(`bad-${n}`, { placedAt: 7 });
    await expectShown('parked in masses', running);
  });

  it('every failure of the table has its drill, or says why nothing shows', () => {
    for (const [failure, row] of TABLE)
      expect([failure, drilled.has(failure) || Object.values(row).every(isSilent)]).toEqual([failure, true]);
    expect(TABLE.size).toBe(9);
  });

  it.each(['alert', 'dashboard'] as const)('each %s of the table is there', (column) => {
    const bicep = read('infra/modules/alerts.bicep');
    const panels = read('infra/observability/grafana-dashboard.json');
    for (const row of TABLE.values()) {
      if (isSilent(row[column])) continue;
      for (const [, name] of row[column].matchAll(/\*([^*]+)\*/g))
        expect(column === 'alert' ? bicep : panels).toContain(
          column === 'alert' ? `name: '${name}'` : `"title": "${name}"`,
        );
    }
  });
});
