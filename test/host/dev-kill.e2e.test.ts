// `dev` killed and interrupted on the way, and started again.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CosmosClient } from '@azure/cosmos';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { DevSummary } from '../../src/host/dev/play.ts';
import type { LeaseRow } from '../../src/procedures/leases/lease-rows.ts';
import { type Millrace, millrace } from '../support/process.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';

// MILLRACE_SEED repeats the moments at which runs are ended; MILLRACE_HISTORIES says how many are killed.
const SEED = suiteSeed();
const KILLS = Number(process.env['MILLRACE_HISTORIES'] ?? 1);
/** Order summaries at the end of the storefront example. */
const SUMMARIES = 1_106;

const SUMMARY_COUNT = "SELECT VALUE COUNT(1) FROM c WHERE c.type = 'orderSummary'";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'millrace-dev-'));
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

async function once(...args: string[]): Promise<DevSummary> {
  await using process = millrace(['dev', '--once', '--json', ...args], { directory });
  expect({ ...(await process.ended), stderr: process.stderr }).toMatchObject({ code: 0 });
  return JSON.parse(process.stdout) as DevSummary;
}

/** Resolves when a running `dev` has derived so many order summaries, told by its server. */
async function derived(process: Millrace, least: number): Promise<void> {
  const [, endpoint = '', key = ''] = await process.until(/AccountEndpoint=([^;]+);AccountKey=([^;]+);/);
  const client = new CosmosClient({ endpoint, key });
  using _ = { [Symbol.dispose]: () => client.dispose() };
  const { items } = client.database('storefront').container('CustomerOrders');
  const count = async (): Promise<number | undefined> =>
    (await items.query<number>(SUMMARY_COUNT).fetchAll()).resources[0];
  await vi.waitFor(async () => expect(await count()).toBeGreaterThanOrEqual(least), {
    timeout: 120_000,
    interval: 50,
  });
}

async function leasesIn(data: string): Promise<LeaseRow[]> {
  await using server = millrace(['emulator', 'start', '--port', '0', '--data', data], { directory });
  const [, connection = ''] = await server.until(/COSMOS='(.+)'/);
  const env = { COSMOS: connection, COSMOS_DATABASE: 'storefront' };
  await using process = millrace(['leases', 'list', '--json'], { directory, env });
  expect(await process.ended).toMatchObject({ code: 0 });
  return JSON.parse(process.stdout) as LeaseRow[];
}

it(`the storefront example, killed (${KILLS} times) and interrupted once, ends exact and then has nothing left to do (seed ${SEED})`, async () => {
  const random = new Random(SEED);
  const args = ['--example', 'storefront', '--data', join(directory, 'data')];
  const moments = Array.from({ length: KILLS + 1 }, () => 1 + random.int(SUMMARIES * 0.8)).toSorted((a, b) => a - b);
  for (const [index, moment] of moments.entries()) {
    const signal = index < KILLS ? 'SIGKILL' : 'SIGINT';
    await using process = millrace(['dev', ...args], { directory });
    await derived(process, moment);
    // Where the last run was further already than that, this one holds no lease yet that it could give back.
    if (signal === 'SIGINT') await process.until(/[1-9][\d,]* changes, /);
    process.kill(signal);
    expect(await process.ended).toEqual(signal === 'SIGKILL' ? { code: null, signal } : { code: 130, signal: null });
  }
  // The folder could be opened at once, so no one was left behind; and the leases are free.
  const leases = await leasesIn(join(directory, 'data'));
  expect(leases.length).toBeGreaterThan(2);
  expect(new Set(leases.map(({ owner }) => owner))).toEqual(new Set([null]));

  const resumed = await once(...args);
  expect(resumed.loaded).toMatchObject({ at: 4_893, loaded: 4_893, rejected: 0 });
  expect(resumed.projections.filter(({ parked }) => parked > 0)).toEqual([]);
  expect(resumed.verification).toMatchObject({ different: 0, differences: [] });
  expect(resumed.verification?.projections.filter(({ refused }) => refused > 0)).toEqual([]);
  expect(resumed.archive).toMatchObject([{ archived: 70, removed: 70, held: 0 }]);
  const again = await once(...args);
  expect(again.loaded).toMatchObject({ loaded: 4_893, skipped: 4_893 });
  expect(again.projections.filter(({ changes, writes }) => changes + writes > 0)).toEqual([]);
  expect(again.verification).toMatchObject({ different: 0, documents: { sources: 1_973, found: 4_894 } });
});
