import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { connect } from '../../../src/cosmos/connect.ts';
import { changeGate, ensureGate, gateTarget, openWriteGate } from '../../../src/shards/gate/write-gate.ts';
import { openServices } from '../../../src/runtime/services.ts';
import { type Migrated, type MigrateOptions, migrate } from '../../../src/procedures/migrate/migrate.ts';
import { Migrations } from '../../../src/procedures/migrate/migrations.ts';
import { readInProgress } from '../../../src/procedures/status/in-progress.ts';
import { cli } from '../../cli/cli.ts';
import { ManualClock } from '../../support/clock.ts';
import { startProxy } from '../../support/proxy.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import { SHOP, type Stage, openStage } from '../../support/stage.ts';
import { Writers, stored } from './writers.ts';

const SEED = suiteSeed();
const { signal } = new AbortController();
let stage: Stage;

beforeEach(async () => {
  stage = await openStage({ seed: SEED });
  await stage.services.place.database.containers.create({
    id: 'ByCustomer',
    partitionKey: { paths: ['/customerId'] },
    defaultTtl: -1,
  });
});
afterEach(() => stage[Symbol.asyncDispose]());

const options = (of: Stage = stage): MigrateOptions => ({
  state: of.services.place.state,
  source: of.services.place.database.container('Orders'),
  target: of.services.place.database.container('ByCustomer'),
  signal,
  readLagMs: 0,
});

describe(`migrating under sustained writes (seed ${SEED})`, () => {
  it('a migration under sustained writes loses nothing of 500 writes a second, leaves nothing on both sides, and pauses them for a moment; and back again', async () => {
    const WRITES = 5_000;
    const writers = new Writers(stage, { seed: SEED, processes: 2, each: 5, documents: 200, batch: 10, everyMs: 180 });
    await writers.start();
    await writers.until(500);
    const before = writers.count;
    const began = performance.now();
    const cpu = process.cpuUsage();
    // Gone there and back as often as it takes; the next one begins as soon as a writer has followed.
    const moves: Migrated[] = [];
    while (writers.count - before < WRITES || moves.length < 2) {
      const moved = await migrate({ ...options(), rollback: moves.length % 2 === 1 });
      moves.push(moved);
      await writers.follow(moved.into);
    }
    const seconds = (performance.now() - began) / 1_000;
    const { user, system } = process.cpuUsage(cpu);
    const written = writers.count - before;
    console.log(
      `${written} writes during ${moves.length} migrations, ${Math.round(written / seconds)}/s; writes paused for ` +
        `${moves.map(({ pausedMs }) => pausedMs).join(', ')} ms, the longest wait of a writer was ` +
        `${Math.round(writers.longestMs)} ms; ${((user + system) / 1_000 / written).toFixed(2)} ms of CPU a write, server included`,
    );
    expect(written).toBeGreaterThanOrEqual(WRITES);
    const [now, left] = moves.length % 2 === 1 ? ['ByCustomer', 'Orders'] : ['Orders', 'ByCustomer'];
    const behind = await stored(stage.container(left));
    await writers.until(writers.count + 500);
    await writers.stop();
    expect(await stored(stage.container(left))).toEqual(behind);
    expect(writers.targets).toEqual(['Orders', ...moves.map(({ into }) => into)]);
    expect(await stored(stage.container(now))).toEqual(writers.expected());
    expect(moves.flatMap(({ late }) => late)).toEqual([]);
  });

  it('writers go on, whichever process dies on the way, and the next one finishes', async () => {
    const random = new Random(SEED);
    const writers = new Writers(stage, { seed: SEED, processes: 2, each: 4, everyMs: 20 });
    await writers.start();
    for (let deaths = 0; deaths < 8; deaths++) if (!(await dies(20 + random.int(200)))) break;
    await migrate(options()).catch((error: unknown) => {
      // It was finished by one that died after its last write.
      if ((error as { code?: string }).code !== 'wrong-state') throw error;
    });
    await delay(200);
    await writers.stop();
    expect(writers.targets.at(-1)).toBe('ByCustomer');
    expect(await stored(stage.container('ByCustomer'))).toEqual(writers.expected());
  });
});

/** A migration that is cut off from everything after so many pieces sent; false: it was done before. */
async function dies(after: number): Promise<boolean> {
  let sent = 0;
  const { promise: dead, resolve: die } = Promise.withResolvers<true>();
  const proxy = await startProxy(Number(new URL(stage.emulator.endpoint).port), () => {
    if (++sent > after) die(true);
    return sent <= after;
  });
  const account = { kind: 'key', endpoint: `http://127.0.0.1:${proxy.port}/`, key: stage.emulator.key } as const;
  const services = await openServices({
    ...stage.settings,
    cosmos: account,
    leases: { ...stage.settings.leases, account },
  }).catch(() => undefined);
  const ending = new AbortController();
  const done = services
    ? migrate({ ...options({ ...stage, services }), signal: ending.signal }).then(
        () => false as const,
        () => true as const,
      )
    : dead;
  const died = await Promise.race([done, dead]);
  await proxy[Symbol.asyncDispose]();
  ending.abort();
  services?.close();
  return died;
}

describe('documents', () => {
  it('documents that migrate keep the time they have left, and those that have none stay behind', async () => {
    const source = stage.container('Orders');
    await source.items.upsert({ id: 'short', type: 'order', storeId: 's1', customerId: 'c1', ttl: 1_000 });
    await source.items.upsert({ id: 'ever', type: 'order', storeId: 's1', customerId: 'c1', ttl: -1 });
    stage.emulator.advance(400_000);
    await migrate(options());
    const ttl = async (id: string) =>
      (await stage.container('ByCustomer').item(id, 'c1').read<{ ttl?: number }>()).resource;
    expect((await ttl('short'))?.ttl).toBeGreaterThan(0);
    expect((await ttl('short'))?.ttl).toBeLessThanOrEqual(1_000);
    expect((await ttl('ever'))?.ttl).toBeUndefined();
  });

  it('documents that would fall together, or lack the new key, are refused before anything is closed', async () => {
    const source = stage.container('Orders');
    for (const storeId of ['s1', 's2'])
      await source.items.upsert({ id: 'same', type: 'order', storeId, customerId: 'c1' });
    await expect(migrate(options())).rejects.toMatchObject({ code: 'collision' });
    await source.item('same', 's2').delete();
    await source.items.upsert({ id: 'keyless', type: 'order', storeId: 's1' });
    await expect(migrate(options())).rejects.toMatchObject({ code: 'key-missing' });
  });

  it('documents lack in the target what they lack in the source', async () => {
    const source = stage.container('Orders');
    await stage.services.place.database.containers.create({ id: 'Same', partitionKey: { paths: ['/storeId'] } });
    const keys = [{}, { storeId: null }, { storeId: 's1' }];
    for (const [n, key] of keys.entries()) await source.items.create({ id: 'same', type: 'order', n, ...key });
    const target = stage.container('Same');
    expect(await migrate({ ...options(), target })).toMatchObject({ into: 'Same' });
    const levels = [{}, null, 's1'];
    const read = await Promise.all(levels.map((level) => target.item('same', [level]).read<{ n: number }>()));
    expect(read.map(({ resource }) => resource?.n)).toEqual([0, 1, 2]);
  });

  it('documents of a container in another account arrive there', async () => {
    const { startEmulator } = await import('../../../src/emulator/index.ts');
    const other = await startEmulator();
    const client = connect({ kind: 'key', endpoint: other.endpoint, key: other.key });
    const { database } = await client.databases.create({ id: 'new' });
    await database.containers.create({ id: 'Orders', partitionKey: { paths: ['/storeId'] }, defaultTtl: -1 });
    await stage.container('Orders').items.upsert({ id: 'a', type: 'order', storeId: 's1', customerId: 'c1' });
    await migrate({ ...options(), target: database.container('Orders'), endpoint: other.endpoint });
    expect((await database.container('Orders').item('a', 's1').read()).resource).toMatchObject({ customerId: 'c1' });
    await using gate = await openWriteGate(stage.services.place.state, 'Orders');
    using pass = await gate.enter();
    expect(pass.target).toEqual({ container: 'Orders', database: 'new', endpoint: other.endpoint });
    client.dispose();
    await other.close();
  });
});

it('a container that is on its way elsewhere is refused, until that is finished or given up', async () => {
  await stage.services.place.database.containers.create({
    id: 'ByDay',
    partitionKey: { paths: ['/placedAt'] },
    defaultTtl: -1,
  });
  await stage
    .container('Orders')
    .items.upsert({ id: 'a', type: 'order', storeId: 's1', customerId: 'c1', placedAt: 'x' });
  const ending = new AbortController();
  const begun = migrate({ ...options(), signal: ending.signal, progress: () => ending.abort() });
  await expect(begun).rejects.toMatchObject({ name: 'AbortError' });
  const elsewhere = { ...options(), target: stage.services.place.database.container('ByDay') };
  await expect(migrate(elsewhere)).rejects.toMatchObject({
    code: 'wrong-state',
    message: 'Orders is being migrated to ByCustomer',
    hint: expect.stringContaining('--give-up') as string,
  });
  const migrations = new Migrations(stage.services.place.state);
  await migrations.forget('Orders');
  expect(await migrate(elsewhere)).toMatchObject({ into: 'ByDay', copied: 1 });
  // The record of a finished one is the way back.
  await expect(migrations.forget('Orders')).rejects.toMatchObject({ code: 'wrong-state' });
  expect(await migrate({ ...elsewhere, rollback: true })).toMatchObject({ into: 'Orders' });
});

it('a migration that is given up while its process runs ends, and its writers stay', async () => {
  await stage.container('Orders').items.upsert({ id: 'a', type: 'order', storeId: 's1', customerId: 'c1' });
  const { state } = stage.services.place;
  const migrations = new Migrations(state);
  const forgotten: Promise<void>[] = [];
  const progress = async () => {
    if (forgotten.length === 0) forgotten.push(migrations.forget('Orders'));
    await Promise.all(forgotten);
  };
  await expect(migrate({ ...options(), progress })).rejects.toMatchObject({ code: 'overtaken' });
  expect(await migrations.read('Orders')).toBeUndefined();
  expect(await gateTarget(state, 'Orders')).toEqual({ container: 'Orders' });
});

it('a migration into a container of the same name in another database ends as one of another name does', async () => {
  const { database } = await stage.services.place.database.client.databases.create({ id: 'other' });
  await database.containers.create({ id: 'Orders', partitionKey: { paths: ['/storeId'] }, defaultTtl: -1 });
  await stage.container('Orders').items.upsert({ id: 'a', type: 'order', storeId: 's1', customerId: 'c1' });
  const { state } = stage.services.place;
  const migrations = new Migrations(state);
  const underWay = async () => ({
    isUnderWay: await migrations.isUnderWay('Orders'),
    inProgress: (await readInProgress(stage.services, undefined, signal)).map(({ what }) => what),
  });
  const none = { isUnderWay: false, inProgress: [] };
  const there = { ...options(), target: database.container('Orders') };
  const ending = new AbortController();
  const begun = migrate({ ...there, signal: ending.signal, progress: () => ending.abort() });
  await expect(begun).rejects.toMatchObject({ name: 'AbortError' });
  expect(await underWay()).toEqual({ isUnderWay: true, inProgress: ['migration of Orders to Orders'] });
  await migrate(there);
  expect(await underWay(), 'switched').toEqual(none);
  await expect(migrations.forget('Orders')).rejects.toMatchObject({ code: 'wrong-state' });
  expect((await migrations.read('Orders'))?.target).toEqual({ container: 'Orders', database: 'other' });
  await migrate({ ...there, rollback: true });
  expect(await underWay(), 'switched back').toEqual(none);
});

describe('a source that is written faster than it is copied', () => {
  const HALF_A_MINUTE = 30_000;
  let written = 0;
  beforeEach(() => (written = 0));
  const write = async (documents: number): Promise<void> => {
    for (; documents > 0; documents -= 100) {
      const batch = Array.from({ length: Math.min(100, documents) }, () => ({
        operationType: 'Create' as const,
        resourceBody: { id: `o${(written += 1)}`, type: 'order', storeId: 's1', customerId: 'c1' },
      }));
      await stage.container('Orders').items.batch(batch, 's1');
    }
  };
  /** A migration during which half a minute passes a page, and something may happen. */
  const copying = (each: (said: readonly string[]) => Promise<void>, more: Partial<MigrateOptions> = {}) => {
    const clock = new ManualClock();
    const said: string[] = [];
    const progress = async () => {
      clock.advance(HALF_A_MINUTE);
      await each(said);
    };
    return { said, done: migrate({ ...options(), clock, progress, warn: (text) => said.push(text), ...more }) };
  };

  it('a source that is written faster than it is copied is reported with cause and hint, and migrated once less is written', async () => {
    await write(2_000);
    const { said, done } = copying(async (before) => write(before.length < 3 ? 1_200 : 0));
    expect(await done).toMatchObject({ copied: written, late: [] });
    expect(said).toHaveLength(3);
    const [first = '', last = ''] = [said[0], said.at(-1)];
    expect(first).toMatch(
      /^ByCustomer does not catch up with Orders: [\d,]+ transactions left, [\d,]+ 60 s ago; nothing was throttled\n {2}Run the migration nearer .* write less to Orders/,
    );
    expect(last).toContain(' 180 s ago');
  });

  it('a source that is written faster than it is copied ends after its patience, and resumes', async () => {
    await write(2_000);
    const { said, done } = copying(() => write(1_200), { patienceMs: 120_000 });
    await expect(done).rejects.toMatchObject({
      code: 'too-slow',
      retryable: true,
      hint: expect.stringContaining('it resumes') as string,
    });
    expect(said).toHaveLength(1);
    const { resources } = await stage
      .container('ByCustomer')
      .items.query<number>('SELECT VALUE COUNT(1) FROM c')
      .fetchAll();
    const copied = resources[0] ?? 0;
    expect(copied).toBeGreaterThan(2_000);
    expect(await migrate(options())).toMatchObject({ copied: written - copied });
  });

  it('past the gate ends the switch within its minute, and writers stay where they are', async () => {
    await write(200);
    await expect(copying(() => write(100)).done).rejects.toMatchObject({
      code: 'too-slow',
      hint: expect.stringContaining('without the gate') as string,
    });
    await using gate = await openWriteGate(stage.services.place.state, 'Orders');
    using pass = await gate.enter();
    expect(pass.target).toEqual({ container: 'Orders' });
  });

  it('a migration says nothing where it comes nearer', async () => {
    await write(6_000);
    let pages = 0;
    const { said, done } = copying(() => write((pages += 1) < 6 ? 100 : 0), { patienceMs: 60_000 });
    expect(await done).toMatchObject({ copied: written });
    expect(said).toEqual([]);
  });
});

describe('a process that does not stop', () => {
  it('a process that does not stop keeps the gate from being passed by', async () => {
    await using gate = await openWriteGate(stage.services.place.state, 'Orders', { pollMs: 10 });
    const pass = await gate.enter();
    const migrating = migrate(options());
    await delay(500);
    let opened = false;
    const second = gate.enter().then((next) => ((opened = true), next));
    expect(opened).toBe(false);
    pass[Symbol.dispose]();
    await migrating;
    expect((await second).target).toMatchObject({ container: 'ByCustomer' });
  });
});

describe('after a migration the pipeline still reads the old container', () => {
  const findings = async () => {
    const { stdout } = await cli(['doctor', '--pipeline', SHOP, '--json']);
    return (JSON.parse(stdout) as { check: string; verdict: string; what: string; hint: string }[]).filter(
      ({ check }) => check === 'migrations',
    );
  };
  beforeEach(() => {
    for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
  });
  afterEach(() => vi.unstubAllEnvs());

  it('after a migration the pipeline still reads the old container and the doctor says so, until it was taken back', async () => {
    expect(await findings()).toEqual([]);
    await migrate(options());
    expect(await findings()).toEqual([
      {
        check: 'migrations',
        verdict: 'bad',
        what: 'Orders was migrated: its writers write to ByCustomer, but the pipeline still reads Orders and sees no new changes',
        hint: expect.stringContaining('--rollback') as string,
      },
    ]);
    await migrate({ ...options(), rollback: true });
    expect(await findings()).toEqual([]);
  });

  it('after a migration the pipeline still reads the old container, also where the new one has the same name, in another account', async () => {
    const gate = await ensureGate(stage.services.place.state, 'Orders');
    const target = { container: 'Orders', database: 'new', endpoint: 'https://new.documents.azure.com/' };
    await changeGate(stage.services.place.state, gate, { state: 'open', target });
    expect(await findings()).toMatchObject([
      {
        verdict: 'bad',
        what: expect.stringContaining('write to Orders in database new of new.documents.azure.com') as string,
        hint: 'Deploy the pipeline with the settings of that account and database.',
      },
    ]);
  });
});

it('a migration says on the command line what it would do, did, and refuses', async () => {
  for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
  try {
    await stage.container('Orders').items.upsert({ id: 'a', type: 'order', storeId: 's1', customerId: 'c1' });
    const containers = (...args: string[]) => cli(['migrate', ...args, '--pipeline', SHOP]);
    expect((await containers('Orders', '--into', 'ByCustomer', '--dry-run')).stdout).toContain(
      'copy 1 document of Orders to ByCustomer',
    );
    expect((await containers('Order', '--into', 'ByCustomer')).stderr).toContain('did you mean Orders?');
    expect((await containers('Orders', '--into', 'Orders')).code).toBe(2);
    expect((await containers('Orders', '--into', 'ByCustomer', '--rollback')).stderr).toContain('nothing to roll back');
    expect((await containers('Orders', '--into', 'ByCustomer', '--give-up')).stderr).toContain(
      'There is no migration of Orders',
    );
    expect((await containers('Orders', '--into', 'ByCustomer')).stdout).toMatch(
      /1 document copied, 0 removed; writes paused for \d/,
    );
    expect((await containers('Order', '--into', 'ByCustomer', '--give-up')).stderr).toContain('did you mean Orders?');
  } finally {
    vi.unstubAllEnvs();
  }
});
