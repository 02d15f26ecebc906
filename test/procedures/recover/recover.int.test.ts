// What `millrace recover` refuses, what it can't tell, and an archive without its entries or its blobs. docs/SPEC-recover.md
import { join } from 'node:path';
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Doc } from '../../../src/pipeline/specs.ts';
import { openWorkspace } from '../../../src/runtime/open-workspace.ts';
import { compose } from '../../../src/runtime/hosts/processor-host.ts';
import { openServices } from '../../../src/runtime/services.ts';
import type { MillraceError } from '../../../src/base/errors.ts';
import { Views } from '../../../src/engine/views/views.ts';
import { recoverVerb } from '../../../src/verbs/recover/recover.operation.ts';
import type { Recovered } from '../../../src/procedures/recover/recover.ts';
import { LEAVING_TTL_S } from '../../../src/kinds/archive/leaving.ts';
import { cli } from '../../cli/cli.ts';
import { type Azurite, startAzurite } from '../../support/azurite.ts';
import { COLD, type Stage, openStage } from '../../support/stage.ts';
import { SteppingClock } from '../../verbs/leases/lease-world.ts';

const COLD_VERSIONS = join(import.meta.dirname, '../../fixtures/cold-versions');
let azurite: Azurite;
let stage: Stage;
let blobs: ContainerClient;
let used = 0;

beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(async () => {
  await azurite?.close();
});
beforeEach(async () => {
  const { connectionString } = azurite;
  const container = `recover-${(used += 1)}`;
  stage = await openStage({ faults: { historyMs: 3_600_000 } }, COLD, { connectionString, container });
  blobs = BlobServiceClient.fromConnectionString(connectionString).getContainerClient(container);
  for (const [name, value] of Object.entries({ ...stage.env, MILLRACE_PIPELINE: COLD })) vi.stubEnv(name, value);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await stage[Symbol.asyncDispose]();
});

/** The same stage, but orders are read by their all-versions feed. */
async function onVersions(): Promise<void> {
  await stage[Symbol.asyncDispose]();
  const storage = { connectionString: azurite.connectionString, container: `recover-${used}` };
  stage = await openStage({}, COLD_VERSIONS, storage);
  for (const [name, value] of Object.entries({ ...stage.env, MILLRACE_PIPELINE: COLD_VERSIONS }))
    vi.stubEnv(name, value);
}

const order = (n: number): Doc & { id: string } => ({
  id: `o${n}`,
  type: 'order',
  storeId: `s${n % 2}`,
  customerId: 'c1',
  placedAt: `2026-01-0${1 + (n % 9)}T10:00:00.000Z`,
  cents: 100 + n,
});

async function derive(...orders: Doc[]): Promise<void> {
  const services = await openServices(stage.settings, { httpClient: stage.emulator.clientOptions.httpClient });
  for (const one of orders) await services.place.database.container('Orders').items.upsert(one);
  const app = await compose({ ...stage, services, host: 'test', readLagMs: 0, timings: { pollMs: 40 } });
  await app.start();
  await app.drained(AbortSignal.timeout(60_000));
  await app.stop();
  services.close();
}

async function all(container: string): Promise<Doc[]> {
  const services = await openServices(stage.settings, { httpClient: stage.emulator.clientOptions.httpClient });
  const { resources } = await services.place.database
    .container(container)
    .items.query<Doc>('SELECT * FROM c')
    .fetchAll();
  services.close();
  return resources;
}

async function run(input: Record<string, unknown> = {}, clock = new SteppingClock(), pipeline = COLD) {
  const workspace = openWorkspace({ directory: import.meta.dirname, pipeline });
  try {
    const screen = { live: false, line: () => undefined, draw: () => undefined, progress: () => undefined };
    const context = { workspace, actor: 'tester', signal: AbortSignal.timeout(150_000), screen, clock };
    return (await recoverVerb.run(input, context)) as { value: Recovered; ok: boolean; text: string };
  } finally {
    await workspace.close();
  }
}
const refusal = (input: Record<string, unknown> = {}, clock?: SteppingClock): Promise<MillraceError> =>
  run(input, clock).then(
    () => Promise.reject(new Error('It was not refused')),
    (error: MillraceError) => error,
  );

const sums = async (): Promise<number> =>
  (await all('Days')).filter(({ type }) => type === 'day').reduce((sum, { orders }) => sum + Number(orders), 0);
const sweep = async (): Promise<void> => {
  const { code } = await cli(['archive', 'sweep', '--json']);
  expect(code).toBe(0);
  expect(await all('Orders')).toEqual([]);
};

describe('recovering an archive', () => {
  it('an archive whose entries are lost with the state asks which history happened, and makes them from the blobs', async () => {
    await derive(...Array.from({ length: 8 }, (_, n) => order(n)));
    await sweep();
    await stage.container('millrace').delete();
    expect(await refusal()).toMatchObject({
      code: 'recover-undecided',
      hint: expect.stringContaining('--entries make'),
    });
    const { value, ok } = await run({ entries: 'make' });
    expect(value.left).toEqual([]);
    expect({ ok, entries: value.entries }).toEqual({ ok: true, entries: 8 });
    expect(await sums()).toBe(8);
    await derive(order(20));
    expect(await sums()).toBe(9);
    const restored = await cli(['archive', 'restore', '--json']);
    expect(restored.code).toBe(0);
    expect(await all('Orders')).toHaveLength(9);
  }, 180_000);

  it('an archive lets documents stay that were leaving, though their entries and the feed’s positions are lost', async () => {
    await onVersions();
    await derive();
    await derive(...Array.from({ length: 4 }, (_, n) => order(n)));
    expect((await cli(['archive', 'sweep', '--json'])).code).toBe(0);
    expect((await all('Orders')).map(({ ttl }) => ttl)).toEqual(Array.from({ length: 4 }, () => LEAVING_TTL_S));
    const orders = stage.container('Orders');
    const { resource } = await orders.item('o1', 's1').read<Doc>();
    // No host has read that it was written back.
    await orders.items.upsert({ ...resource, cents: 7 });
    await stage.container('millrace').delete();
    await stage.container('leases').delete();
    const { value } = await run({}, undefined, COLD_VERSIONS);
    expect(value).toMatchObject({ stayed: 4, verification: { different: 0 } });
    for (const id of ['o0', 'o1', 'o2', 'o3']) stage.emulator.expire('shop/Orders', id);
    // The feed begins again where a host first reads it.
    await derive();
    await derive(order(20));
    expect(await sums()).toBe(5);
    const stayed = new Map((await all('Orders')).map(({ id, ttl, cents }) => [id, { ttl, cents }]));
    expect(stayed.size).toBe(5);
    expect([...stayed.values()].every(({ ttl }) => ttl === undefined)).toBe(true);
    expect([stayed.get('o0')?.cents, stayed.get('o1')?.cents]).toEqual([100, 7]);
  }, 180_000);

  it('an archive whose blobs are lost names them, compares nothing, and ends with what is left', async () => {
    await derive(...Array.from({ length: 4 }, (_, n) => order(n)));
    await sweep();
    for await (const { name } of blobs.listBlobsFlat()) await blobs.deleteBlob(name);
    const { value, ok, text } = await run();
    expect(ok).toBe(false);
    expect(value.verification).toBeNull();
    expect(value.left.map(({ about }) => about)).toContain('orders-cold');
    expect(text).toContain('Restore the blobs');
    expect(await sums(), 'what was derived stays').toBe(4);
  }, 180_000);
});

describe('a recovery', () => {
  it('a recovery with --dry-run writes nothing', async () => {
    await derive(order(1));
    stage.emulator.restore('shop/Orders', 0);
    const before = [await all('millrace'), await all('leases'), await all('Days')];
    const { code, stdout } = await cli(['recover', '--dry-run']);
    expect(code).toBe(0);
    expect(stdout).toContain('found: Orders: it was created again');
    expect(stdout).toContain('raise the epoch');
    expect([await all('millrace'), await all('leases'), await all('Days')]).toEqual(before);
    const refused = await cli(['recover']);
    expect(refused.code).toBe(2);
  }, 120_000);

  it('a recovery is refused while a host runs, and changes no lease', async () => {
    await derive(order(1));
    const clock = new SteppingClock();
    const before = await all('leases');
    const lease = before.find(({ id }) => String(id).includes('..'))!;
    let written: Doc | undefined;
    clock.meanwhile = async () => {
      written ??= (await stage.container('leases').items.upsert<Doc>({ ...lease, Owner: 'awake' })).resource;
    };
    expect(await refusal({}, clock)).toMatchObject({ code: 'lease-host-running' });
    expect((await all('leases')).find(({ id }) => id === lease['id'])).toEqual(written);
    expect((await all('millrace')).find(({ pk }) => pk === 'epochs')).toMatchObject({ epoch: 1 });
  }, 120_000);

  it('a recovery keeps no version before: it has corrected the current ones alone', async () => {
    await derive(order(1));
    const views = new Views(stage.services.place.state, 'cold');
    await views.change('days', (view) => {
      const times = { replacedAt: new Date().toISOString(), readableUntil: new Date().toISOString() };
      const keptUntil = new Date(Date.now() + 3_600_000).toISOString();
      return { ...view, previous: view.current && { ...view.current, version: 0, ...times, keptUntil } };
    });
    expect((await run()).ok).toBe(true);
    expect((await views.read())?.['days']?.previous?.notKept).toContain('a recovery');
  }, 120_000);

  it('a recovery is refused while another runs, and takes over from one that died', async () => {
    await derive(order(1));
    const state = stage.container('millrace');
    const lock = { id: 'recovery|cold', pk: 'locks', type: 'millrace.lock', holder: 'x', actor: 'Ada' };
    await state.items.create({ ...lock, aliveAt: new Date().toISOString() });
    expect(await refusal()).toMatchObject({ code: 'under-way', message: expect.stringContaining('Ada') });
    await state.items.upsert({ ...lock, aliveAt: new Date(Date.now() - 600_000).toISOString() });
    expect((await run()).ok).toBe(true);
    const left = await all('millrace');
    expect(left.filter(({ pk }) => pk === 'locks')).toEqual([]);
    const audits = left
      .filter(({ pk }) => pk === 'runs')
      .map(({ verb, outcome }) => `${String(verb)} ${String(outcome)}`);
    expect(new Set(audits)).toEqual(new Set(['recover done', 'recover failed']));
  }, 120_000);

  it('a recovery changes nothing while another holds the lock', async () => {
    await derive(order(1));
    await stage.container('Days').delete();
    const lock = { id: 'recovery|cold', pk: 'locks', type: 'millrace.lock', holder: 'x', actor: 'Ada' };
    await stage.container('millrace').items.create({ ...lock, aliveAt: new Date().toISOString() });
    expect(await refusal()).toMatchObject({ code: 'under-way' });
    const { resources } = await stage.services.place.database.containers.readAll().fetchAll();
    expect(resources.map(({ id }) => id)).not.toContain('Days');
  }, 120_000);

  it('of two recoveries at once without any state one is refused, and the other is right', async () => {
    await derive(...Array.from({ length: 6 }, (_, n) => order(n)));
    stage.emulator.restore('shop/Orders', 0);
    for (const name of ['millrace', 'Days', 'leases']) await stage.container(name).delete();
    const both = await Promise.allSettled([run(), run()]);
    const done = both.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const refused = both.flatMap((one) => (one.status === 'rejected' ? [one.reason as MillraceError] : []));
    expect(refused.map(({ code }) => code)).toEqual(['under-way']);
    expect(done.map(({ ok, value }) => ({ ok, left: value.left }))).toEqual([{ ok: true, left: [] }]);
    expect(done[0]?.value.created.join()).toContain('Days');
    await derive();
    expect(await sums()).toBe((await all('Orders')).length);
    expect((await all('millrace')).filter(({ pk }) => pk === 'locks')).toEqual([]);
  }, 180_000);
});
