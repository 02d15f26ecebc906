// The page's procedure after a shard was restored: docs/shards.md, "A pipeline over shards".
import { type TestContext, expect, it, vi } from 'vitest';
import { ABANDONED_MS } from '../../../src/procedures/journal/lock.ts';
import { recoverVerb } from '../../../src/verbs/recover/recover.operation.ts';
import { openWorkspace } from '../../../src/runtime/open-workspace.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import { SteppingClock } from '../../verbs/leases/lease-world.ts';
import { type Work, dies } from '../../verbs/projections/dies.ts';
import { Views } from '../../../src/engine/views/views.ts';
import { openServices } from '../../../src/runtime/services.ts';
import { cli } from '../../cli/cli.ts';
import { assertExact, given } from '../../runtime/spread-world.ts';
import { orderOf } from '../../runtime/application.ts';
import { fast } from '../../verbs/projections/versions.ts';
import { compose } from '../../../src/runtime/hosts/processor-host.ts';
import { SPREAD, type SpreadStage } from '../../support/spread-stage.ts';

const SEED = suiteSeed();
const DEATHS = Number(process.env['MILLRACE_HISTORIES'] ?? 4);
const HOUR = 3_600_000;
const screen = { live: false, line: () => undefined, draw: () => undefined, progress: () => undefined };
const { signal } = new AbortController();

/** Hosts of another process, which remember no container of before, until everything is applied. */
async function derive(stage: SpreadStage): Promise<void> {
  const services = await openServices(stage.settings);
  const app = await compose({ ...stage, ...fast, services, shardsRefreshMs: 20, host: 'afresh' });
  await app.start();
  await app.drained(signal);
  await app.stop();
  services.close();
}

async function world(context: Pick<TestContext, 'onTestFinished'>) {
  const { stage, application } = await given(context, ['north', 'west'], { faults: { historyMs: HOUR } });
  for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
  context.onTestFinished(() => void vi.unstubAllEnvs());
  for (const shard of await stage.map.shards())
    await stage.map.createMapping({ shard, key: shard.location.database === 'north' ? 's0' : 's1' });
  const told = async (...args: string[]) => {
    const { code, stdout, stderr } = await cli([...args, '--pipeline', SPREAD]);
    expect([args.join(' '), code, stderr]).toEqual([args.join(' '), 0, '']);
    return stdout;
  };
  return { stage, application, told };
}

/** A shard that was restored to the state of half an hour ago, and what its application has lost. */
async function restored(context: Pick<TestContext, 'onTestFinished'>) {
  const all = await world(context);
  const { stage, application, told } = all;
  await application.order('s0', 'north', 'o1', 100);
  await application.order('s1', 'west', 'o1', 20);
  await application.order('s1', 'west', 'o2', 30);
  await derive(stage);
  stage.emulator.advance(HOUR / 2);
  // Lost by the restore: a rewind, which has raised the epoch, a change, a new order and one that was cancelled.
  for (const cents of [22, 25]) {
    await told('leases', 'rewind', '--shard', 'west', '--to', 'beginning', '--lease-expiration', '100');
    await application.order('s1', 'west', 'o1', cents);
    await derive(stage);
  }
  await application.order('s1', 'west', 'o2', 30, { cancelled: true });
  await application.order('s1', 'west', 'o3', 40, { placedAt: '2026-01-02T10:00:00.000Z' });
  await derive(stage);
  await assertExact(stage, application);

  for (const name of [
    'Orders',
    'Stores',
    'Customers',
    'Summaries',
    'ShardCountries',
    'StoreCountries',
    'millrace',
    'shardmap',
  ])
    stage.emulator.restore(`west/${name}`, HOUR / 2);
  application.add(orderOf('s1', 'o1', 20));
  application.add(orderOf('s1', 'o2', 30));
  application.orders.delete('s1-o3');
  await told('shards', 'check');
  await told('shards', 'detach', 'tenants', '--shard', 'west');
  await told('shards', 'attach', 'tenants', '--shard', 'west');
  return all;
}

it('a shard that was restored is right again, with the global place, and stays so when the application writes', async (context) => {
  const { stage, application, told } = await restored(context);
  const said = await told('recover', '--shard', 'west', '--yes', '--lease-expiration', '100');
  expect(said).toContain('`millrace projections verify --repair`');
  await told('projections', 'verify', '--repair');
  await assertExact(stage, application);

  await application.order('s1', 'west', 'o1', 70);
  await application.order('s1', 'west', 'o2', 30, { cancelled: true });
  await application.order('s1', 'west', 'o4', 5);
  await derive(stage);
  await told('projections', 'verify');
  await assertExact(stage, application);
});

it(`a recovery of a shard that died at any request is run again, and ends right (seed ${SEED})`, async (context) => {
  const { stage, application, told } = await restored(context);
  const random = new Random(SEED);
  const clock = new SteppingClock();
  const work: Work<SpreadStage> = async ({ settings, services }, until) => {
    const workspace = {
      ...openWorkspace({ directory: import.meta.dirname }),
      settings: () => settings,
      services: () => Promise.resolve(services),
      pipeline: () => Promise.resolve(stage.loaded),
    };
    return recoverVerb.run({ shard: 'west' }, { workspace, actor: 'tester', signal: until, screen, clock });
  };
  let died = 0;
  for (let n = 0; n < DEATHS; n++) {
    if (await dies(stage, work, 20 + random.int(n === 0 ? 80 : 400))) died += 1;
    // Its lock is taken over.
    await clock.sleep(ABANDONED_MS);
  }
  expect(died).toBeGreaterThan(0);
  expect(await work(stage, signal, () => true)).toMatchObject({ ok: true });
  await told('projections', 'verify', '--repair');
  await assertExact(stage, application);
  await application.order('s1', 'west', 'o1', 70);
  await derive(stage);
  await told('projections', 'verify');
  await assertExact(stage, application);
});

it('a global place that was restored is right again by the hosts and a repair', async (context) => {
  const { stage, application, told } = await world(context);
  await application.order('s0', 'north', 'o1', 100);
  await application.order('s1', 'west', 'o1', 20);
  await derive(stage);
  stage.emulator.advance(HOUR / 2);
  await application.order('s1', 'west', 'o1', 25);
  await application.order('s0', 'north', 'o1', 100, { cancelled: true });
  await application.order('s0', 'north', 'o3', 40, { placedAt: '2026-01-02T10:00:00.000Z' });
  await derive(stage);
  await assertExact(stage, application);

  for (const name of ['Countries', 'Totals', 'Years', 'AllOrders', 'millrace'])
    stage.emulator.restore(`shop/${name}`, HOUR / 2);
  await derive(stage);
  await told('projections', 'verify', '--repair');
  await assertExact(stage, application);

  await application.order('s1', 'west', 'o1', 70);
  await application.order('s0', 'north', 'o4', 5);
  await derive(stage);
  expect(await told('projections', 'verify')).toContain('no difference');
  await assertExact(stage, application);
});

it('a recovery refuses to recover a shard alone where that would be wrong, and changes nothing', async (context) => {
  const { stage, application, told } = await world(context);
  await application.order('s1', 'west', 'o1', 20);
  await derive(stage);
  const refusal = async (...args: string[]): Promise<string> => {
    const { code, stderr } = await cli(['recover', ...args, '--yes', '--pipeline', SPREAD]);
    return `${code} ${stderr}`;
  };
  expect(await refusal()).toContain('Name it with --shard: the database of a shard.');
  const global = await refusal('--shard', 'shop');
  expect(global).toContain('can’t work on the global place');
  // As the page says, and the test above does.
  expect(global).toContain('start the hosts, and run `millrace projections verify --repair`');
  expect(await refusal('--shard', 'west', '--entries', 'make')).toContain('the blobs are those of all places');
  // A key that has moved since the time of the restore.
  await stage.at('west', 'Orders').items.create(orderOf('s0', 'old', 1));
  for (const more of [[], ['--dry-run']])
    expect(await refusal('--shard', 'west', ...more)).toContain(
      'Orders has documents of 1 key that the map gives to another shard, or that move: s0',
    );
  await stage.at('west', 'Orders').item('old', 's0').delete();
  await new Views(stage.services.global.state, 'spread').change('summaries', (view) => ({
    ...view,
    staged: { version: 2, type: 'summary', container: 'Summaries', phase: 'filling' } as never,
  }));
  expect(await refusal('--shard', 'west')).toContain('summaries@2 is being built in every place');
  await told('projections', 'verify');
});
