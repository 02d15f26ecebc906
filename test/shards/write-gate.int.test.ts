import { describe, expect, it, onTestFinished } from 'vitest';
import { withoutSystemFields } from '../../src/cosmos/system-fields.ts';
import { changeGate, ensureGate, gatePartition, openWriteGate } from '../../src/shards/gate/write-gate.ts';
import { suiteSeed } from '../support/seed.ts';
import { SHOP, openStage } from '../support/stage.ts';
import { GateWorld, MigratingProcess, SOURCE, TARGET, WritingProcess } from './gate-world.ts';

const FOR_EVER = 1e9;

async function open(...names: string[]) {
  const world = await GateWorld.open(suiteSeed());
  onTestFinished(() => world[Symbol.asyncDispose]());
  const { time } = world;
  const writers = names.map((name) => new WritingProcess(world, name));
  await time.run(Promise.all(writers.map((writer) => writer.open())));
  const [writer] = writers;
  if (!writer) throw new Error('Name a writer');
  return { world, time, writer, writers };
}

describe('a writer whose heartbeats are throttled while it reads the gate', () => {
  it('a writer whose heartbeats are throttled while it reads the gate is admitted no more, so a migration that has forgotten it loses nothing of it', async () => {
    const { world, time, writer } = await open('w');
    writer.throttledUntil = FOR_EVER;
    // Long enough for its document to expire.
    await time.run(time.sleep(100_000));
    const write = writer.write('a', 30_000);
    await time.run(time.sleep(1_000));
    await time.run(new MigratingProcess(world).migrated);
    writer.throttledUntil = 0;
    await time.run(write);
    expect(world.astray).toEqual([]);
    expect(await time.run(world.lost())).toEqual([]);
    expect(world.target).toBe(TARGET);
  });
});

describe('a writer that was cut off just after it was admitted', () => {
  it('a writer that was cut off just after it was admitted is not forgotten before its write must have landed', async () => {
    const { world, time, writer } = await open('w');
    writer.cutOffUntil = FOR_EVER;
    await time.run(time.sleep(11_000));
    const write = writer.write('a', 64_000);
    await time.run(time.sleep(56_000));
    await time.run(new MigratingProcess(world).migrated.catch(() => undefined));
    await time.run(write);
    expect(await time.run(world.lost())).toEqual([]);
  });
});

describe('a migration that decides late', () => {
  it('a migration that decides late is refused where writers have opened the gate meanwhile', async () => {
    const { world, time, writer } = await open('w');
    const migrating = new MigratingProcess(world, { closedMs: 58_000, switchMs: 100_000 });
    await time.run(time.sleep(130_000));
    await time.run(writer.write('a'));
    await expect(time.run(migrating.migrated)).rejects.toMatchObject({ code: 'contended' });
    expect(await time.run(world.lost())).toEqual([]);
    expect(world.target).toBe(SOURCE);
  });
});

it('a pass has a signal that a write takes, on the clock of the machine', async () => {
  await using stage = await openStage({}, SHOP);
  await using gate = await openWriteGate(stage.services.place.state, 'Orders');
  using pass = await gate.enter();
  const written = stage
    .container(pass.target.container)
    .items.create({ id: 'o1', storeId: 's1' }, { abortSignal: pass.signal });
  expect((await written).statusCode).toBe(201);
});

it('the write gate stores what the version before stores, which works beside', async () => {
  await using stage = await openStage({}, SHOP);
  const { state } = stage.services.place;
  await using _ = await openWriteGate(state, 'Orders');
  const first = await ensureGate(state, 'Orders');
  const closed = await changeGate(state, first, { state: 'closing', target: first.target });
  const { resources } = await state.items
    .query<Record<string, unknown>>('SELECT * FROM c', { partitionKey: gatePartition('Orders') })
    .fetchAll();
  const stored = resources.map((document) => JSON.stringify(withoutSystemFields(document as never)));
  const gate = '"id":"gate","pk":"gate|Orders","type":"millrace.gate","state":"closing","generation":2';
  const writer = '"pk":"gate|Orders","type":"millrace.writer","stopped":[02],"ttl":82';
  expect(closed?.generation).toBe(2);
  expect(stored.toSorted()).toEqual([
    `{${gate},"target":{"container":"Orders"},"joined":1}`,
    expect.stringMatching(`^{"id":"writer\\|[-0-9a-f]{36}",${writer.replaceAll('|', '\\|')}}$`),
  ]);
});
