import { setTimeout as delay } from 'node:timers/promises';
import type { Container } from '@azure/cosmos';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { connect } from '../../../src/cosmos/connect.ts';
import { type WriteGate, openWriteGate } from '../../../src/engine/write-gate.ts';
import { openServices } from '../../../src/host/services.ts';
import { type MigrateOptions, migrate } from '../../../src/operations/containers/migrate.ts';
import { cli } from '../../cli/cli.ts';
import { startProxy } from '../../support/proxy.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import { SHOP, type Stage, openStage } from '../../support/stage.ts';

const SEED = suiteSeed();
const { signal } = new AbortController();
let stage: Stage;

beforeEach(async () => {
  stage = await openStage({ seed: SEED });
  await stage.services.database.containers.create({
    id: 'ByCustomer',
    partitionKey: { paths: ['/customerId'] },
    defaultTtl: -1,
  });
});
afterEach(() => stage[Symbol.asyncDispose]());

const options = (of: Stage = stage): MigrateOptions => ({
  state: of.services.state,
  source: of.services.database.container('Orders'),
  target: of.services.database.container('ByCustomer'),
  signal,
  readLagMs: 0,
});

type Order = { id: string; type: string; storeId: string; customerId: string; n: number };

/** Writes through gates, each writer its own documents, and knows what each of them must be; null: deleted. */
class Writers {
  readonly truth = new Map<string, Order | null>();
  /** Containers in the order in which writes were admitted to them, each once in a row. */
  readonly targets: string[] = [];
  longestMs = 0;
  count = 0;
  readonly #stopping = new AbortController();
  readonly #gates: WriteGate[] = [];
  #running: Promise<void>[] = [];

  async start(processes: number, each: number, pauseMs: number): Promise<void> {
    for (let process = 0; process < processes; process++) {
      const gate = await openWriteGate(stage.services.state, 'Orders', { pollMs: 20 });
      this.#gates.push(gate);
      for (let n = 0; n < each; n++)
        this.#running.push(this.#write(gate, `${process}-${n}`, new Random(SEED + process * 100 + n), pauseMs));
    }
  }

  async #write(gate: WriteGate, name: string, random: Random, pauseMs: number): Promise<void> {
    for (let n = 0; !this.#stopping.signal.aborted; n++) {
      const id = `${name}-${random.int(20)}`;
      const before = performance.now();
      using pass = await gate.enter();
      this.longestMs = Math.max(this.longestMs, performance.now() - before);
      const { container } = pass.target;
      if (this.targets.at(-1) !== container) this.targets.push(container);
      const known = this.truth.get(id);
      const items = stage.container(container);
      if (known && random.chance(0.15)) {
        await items.item(id, container === 'Orders' ? known.storeId : known.customerId).delete();
        this.truth.set(id, null);
      } else {
        const order: Order = {
          id,
          type: 'order',
          storeId: `s${random.int(1) + (Number(name.split('-')[1]) % 3)}`,
          customerId: known?.customerId ?? `c${random.int(5)}`,
          n,
        };
        await items.items.upsert(known ? { ...order, storeId: known.storeId } : order);
        this.truth.set(id, known ? { ...order, storeId: known.storeId } : order);
      }
      this.count += 1;
      await delay(pauseMs);
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running);
    for (const gate of this.#gates) await gate[Symbol.asyncDispose]();
  }

  expected(): Order[] {
    return [...this.truth.values()].filter((order) => order !== null).toSorted((a, b) => (a.id < b.id ? -1 : 1));
  }
}

const stored = async (container: Container): Promise<Order[]> => {
  const { resources } = await container.items
    .query<Order>('SELECT c.id, c.type, c.storeId, c.customerId, c.n FROM c')
    .fetchAll();
  return resources.toSorted((a, b) => (a.id < b.id ? -1 : 1));
};

describe(`migrating under sustained writes (seed ${SEED})`, () => {
  it('loses nothing, leaves nothing on both sides, and pauses writes for a moment; and back again', async () => {
    const writers = new Writers();
    await writers.start(3, 6, 20);
    await delay(400);
    const forward = await migrate(options());
    await delay(100);
    console.log(
      `writes paused for ${forward.pausedMs} ms; the longest wait of a writer was ${Math.round(writers.longestMs)} ms`,
    );
    expect(writers.count).toBeGreaterThan(100);
    const orders = await stored(stage.container('Orders'));
    await delay(200);
    expect(await stored(stage.container('Orders'))).toEqual(orders);
    await expect(migrate(options())).rejects.toMatchObject({ code: 'migration-done' });
    const back = await migrate({ ...options(), rollback: true });
    expect(back).toMatchObject({ from: 'ByCustomer', into: 'Orders' });
    await delay(100);
    const there = await stored(stage.container('ByCustomer'));
    await writers.stop();
    expect(writers.targets).toEqual(['Orders', 'ByCustomer', 'Orders']);
    expect(await stored(stage.container('Orders'))).toEqual(writers.expected());
    expect(await stored(stage.container('ByCustomer'))).toEqual(there);
    await expect(migrate({ ...options(), rollback: true })).rejects.toMatchObject({ code: 'no-rollback' });
  });

  it('whoever dies on the way, writers go on, and the next one finishes', async () => {
    const random = new Random(SEED);
    const writers = new Writers();
    await writers.start(2, 4, 20);
    for (let deaths = 0; deaths < 8; deaths++) if (!(await dies(20 + random.int(200)))) break;
    await migrate(options()).catch((error: unknown) => {
      // It was finished by one that died after its last write.
      if ((error as { code?: string }).code !== 'migration-done') throw error;
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
  it('keep the time they have left, and those that have none stay behind', async () => {
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

  it('that would fall together, or lack the new key, are refused before anything is closed', async () => {
    const source = stage.container('Orders');
    for (const storeId of ['s1', 's2'])
      await source.items.upsert({ id: 'same', type: 'order', storeId, customerId: 'c1' });
    await expect(migrate(options())).rejects.toMatchObject({ code: 'target-collision' });
    await source.item('same', 's2').delete();
    await source.items.upsert({ id: 'keyless', type: 'order', storeId: 's1' });
    await expect(migrate(options())).rejects.toMatchObject({ code: 'target-key-missing' });
  });

  it('of a container in another account arrive there', async () => {
    const { startEmulator } = await import('../../../src/emulator/index.ts');
    const other = await startEmulator();
    const client = await connect({ kind: 'key', endpoint: other.endpoint, key: other.key });
    const { database } = await client.databases.create({ id: 'new' });
    await database.containers.create({ id: 'Orders', partitionKey: { paths: ['/storeId'] }, defaultTtl: -1 });
    await stage.container('Orders').items.upsert({ id: 'a', type: 'order', storeId: 's1', customerId: 'c1' });
    await migrate({ ...options(), target: database.container('Orders'), endpoint: other.endpoint });
    expect((await database.container('Orders').item('a', 's1').read()).resource).toMatchObject({ customerId: 'c1' });
    await using gate = await openWriteGate(stage.services.state, 'Orders');
    using pass = await gate.enter();
    expect(pass.target).toEqual({ container: 'Orders', database: 'new', endpoint: other.endpoint });
    client.dispose();
    await other.close();
  });
});

describe('a process that does not stop', () => {
  it('keeps the gate from being passed by', async () => {
    await using gate = await openWriteGate(stage.services.state, 'Orders', { pollMs: 10 });
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

it('says on the command line what it would do, did, and refuses', async () => {
  for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
  try {
    await stage.container('Orders').items.upsert({ id: 'a', type: 'order', storeId: 's1', customerId: 'c1' });
    const containers = (...args: string[]) => cli(['containers', 'migrate', ...args, '--pipeline', SHOP]);
    expect((await containers('Orders', '--into', 'ByCustomer', '--dry-run')).stdout).toContain(
      'copy 1 document of Orders to ByCustomer',
    );
    expect((await containers('Order', '--into', 'ByCustomer')).stderr).toContain('did you mean Orders?');
    expect((await containers('Orders', '--into', 'Orders')).code).toBe(2);
    expect((await containers('Orders', '--into', 'ByCustomer', '--rollback')).stderr).toContain('no way back');
    expect((await containers('Orders', '--into', 'ByCustomer')).stdout).toMatch(
      /1 document copied, 0 taken out; writes paused for \d/,
    );
  } finally {
    vi.unstubAllEnvs();
  }
});
