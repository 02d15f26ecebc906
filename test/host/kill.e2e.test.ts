import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { loadSettings } from '../../src/base/settings.ts';
import { splitPath } from '../../src/cosmos/paths.ts';
import { withRetry } from '../../src/cosmos/retry.ts';
import { workloadInput } from '../../src/host/dev/input.ts';
import { loadDocuments } from '../../src/host/dev/load-documents.ts';
import { loadPipeline } from '../../src/runtime/pipeline/load-pipeline.ts';
import { type OpenServices, openServices } from '../../src/runtime/services.ts';
import { planModel } from '../../src/procedures/apply/apply.ts';
import type { Verification } from '../../src/procedures/verify/verify.ts';
import type { LoadedPipeline } from '../../src/runtime/workspace.ts';
import { type Millrace, millrace } from '../support/process.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';

// MILLRACE_SEED repeats the moments of a run (not its races). MILLRACE_HISTORIES says how often each host is killed, with
// the whole of the example; without it, a part of the flights is enough.
const SEED = suiteSeed();
const HISTORIES = process.env['MILLRACE_HISTORIES'];
const KILLS = Number(HISTORIES ?? 2);
const FLIGHTS = join(import.meta.dirname, '../../examples/flights');
const RECOUNT = join(import.meta.dirname, '../../scripts/recount.ts');
const HOSTS = ['left', 'right'] as const;
type Host = (typeof HOSTS)[number];
const AIRPORTS = 3_376;
const ARRIVALS = HISTORIES === undefined ? 6_000 : 20_000;
const PATIENCE = { timeout: 240_000, interval: 100 };

let directory: string;
let emulator: Millrace;
let env: Readonly<Record<string, string>>;
let services: OpenServices;
let loaded: LoadedPipeline;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'millrace-kill-'));
  const faults = ['--replica-lag', '100', '--fail-after-effect', '0.02', '--throttle', '0.02'];
  emulator = millrace(['emulator', 'start', '--port', '0', '--seed', String(SEED), ...faults], { directory });
  const [, connection = ''] = await emulator.until(/COSMOS='(.+)'/);
  env = { COSMOS: connection, COSMOS_DATABASE: 'flights', MILLRACE_PIPELINE: FLIGHTS };
  services = await openServices(loadSettings({ processEnv: env }));
  loaded = await loadPipeline(FLIGHTS);
  for (const step of await planModel(loaded, services)) await step.apply();
});

afterAll(async () => {
  services?.close();
  await emulator?.[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

const run = (host: Host): Millrace =>
  millrace(['run', '--host', host, '--poll-delay', '50', '--lease-expiration', '3000'], { env, directory });

async function loadFlights(signal: AbortSignal): Promise<void> {
  const input = await workloadInput(FLIGHTS, SEED);
  if (!input) throw new Error('The example has no input');
  const containers = new Map(loaded.model.containers.map((of) => [of.name, of.partitionKey.map(splitPath)]));
  const some = {
    ...input,
    async *items() {
      for await (const item of input.items()) {
        if (item.at > AIRPORTS + ARRIVALS) return;
        yield item;
      }
    },
  };
  const { loaded: count } = await loadDocuments({ ...services.place, containers, input: some, directory, signal });
  expect(count).toBe(AIRPORTS + ARRIVALS);
}

const leases = async (): Promise<{ Owner: Host | null; timestamp: string }[]> => {
  const query = 'SELECT c.Owner, c.timestamp FROM c WHERE IS_DEFINED(c.LeaseToken)';
  const asked = () => services.global.leases.items.query<{ Owner: Host | null; timestamp: string }>(query).fetchAll();
  return (await withRetry(asked, { reads: true })).resources;
};
const owners = async (): Promise<(Host | null)[]> => (await leases()).map(({ Owner }) => Owner);

async function arrivals(): Promise<number> {
  const { items } = services.place.database.container('FlightsByDestination');
  const { resources } = await withRetry(() => items.query<number>('SELECT VALUE COUNT(1) FROM c').fetchAll(), {
    reads: true,
  });
  return resources[0] ?? 0;
}

const arrived = (least: number): Promise<void> =>
  vi.waitFor(async () => expect(await arrivals()).toBeGreaterThanOrEqual(least), PATIENCE);

const DO = {
  kill: async (process: Millrace): Promise<void> => {
    process.kill('SIGKILL');
    expect((await process.ended).signal).toBe('SIGKILL');
  },
  freeze: async (process: Millrace, host: Host): Promise<void> => {
    process.kill('SIGSTOP');
    await vi.waitFor(async () => expect(await owners()).not.toContain(host), PATIENCE);
    // What it had in hand it now goes on with in the belief that its leases are its own.
    process.kill('SIGCONT');
  },
};

/** When each host is killed, as numbers of arrivals; in between, each is once made a zombie. */
function plan(random: Random): { at: number; host: Host; how: keyof typeof DO }[] {
  const moment = (): number => 200 + random.int(ARRIVALS * 0.85);
  return HOSTS.flatMap((host) => [
    ...Array.from({ length: KILLS }, () => ({ at: moment(), host, how: 'kill' as const })),
    { at: moment(), host, how: 'freeze' as const },
  ]).toSorted((one, other) => one.at - other.at);
}

it(`two hosts, killed and frozen on the way over a server that lags and loses answers, end exact (seed ${SEED})`, async () => {
  await using hosts = new AsyncDisposableStack();
  const running = {} as Record<Host, Millrace>;
  const started = {} as Record<Host, number>;
  const start = (host: Host): void => {
    started[host] = Date.now();
    running[host] = hosts.use(run(host));
  };
  for (const host of HOSTS) start(host);
  /** A lease of a killed process has its name until it expires, but isn't renewed; nobody would give it back. */
  const settled = (): Promise<void> =>
    vi.waitFor(async () => {
      const all = await leases();
      const owned = all.flatMap(({ Owner, timestamp }) =>
        Owner && Date.parse(timestamp) > started[Owner] ? [Owner] : [],
      );
      expect(owned).toHaveLength(all.length);
      expect(new Set(owned)).toEqual(new Set(HOSTS));
    }, PATIENCE);
  await settled();

  const ending = new AbortController();
  hosts.defer(() => ending.abort());
  const loading = loadFlights(ending.signal);
  loading.catch(() => ending.abort());
  for (const { at, host, how } of plan(new Random(SEED))) {
    await arrived(at);
    await DO[how](running[host], host);
    if (how === 'kill') start(host);
  }
  await loading;
  await arrived(ARRIVALS);
  // One that was just started again would end by the signal itself, before it has anything to stop.
  await settled();
  for (const host of HOSTS) {
    running[host].kill('SIGTERM');
    expect({ ...(await running[host].ended), host }).toEqual({ code: 143, signal: null, host });
  }
  // Not at once: our own reads lag too.
  await vi.waitFor(async () => expect(new Set(await owners())).toEqual(new Set([null])), { timeout: 10_000 });

  const rest = await json<{ projections: { parked: number }[] }>('run', '--once', '--poll-delay', '50');
  expect(rest.projections.map(({ parked }) => parked)).toEqual([0, 0, 0, 0]);
  expect(await json('dead-letters', 'list')).toEqual([]);
  const verification = await json<Verification>('projections', 'verify');
  expect(verification).toMatchObject({ different: 0, documents: { sources: AIRPORTS + ARRIVALS } });
  if (HISTORIES === undefined) return;
  expect(verification.documents.found).toBe(29_878);
  // Rejects, with what it printed, on any other exit code than 0.
  const { stdout } = await promisify(execFile)(process.execPath, [RECOUNT], { env: { ...process.env, ...env } });
  expect(stdout).toContain('Every document agrees.');
});

async function json<T>(...args: string[]): Promise<T> {
  await using process = millrace([...args, '--json'], { env, directory });
  const ended = await process.ended;
  expect({ ...ended, stderr: process.stderr }).toMatchObject({ code: 0 });
  return JSON.parse(process.stdout) as T;
}
