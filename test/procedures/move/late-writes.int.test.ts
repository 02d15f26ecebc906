// Late writes that a move has named, on the command line.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { cli } from '../../cli/cli.ts';
import { MoveStage, type Order } from './move-stage.ts';

const directory = mkdtempSync(join(tmpdir(), 'late-'));
let stage: MoveStage;
beforeAll(async () => {
  stage = await MoveStage.open();
  for (const [name, value] of [
    ['COSMOS', stage.emulator.connectionString],
    ['COSMOS_DATABASE', 'hosts'],
    ['SHARD_MAPS_DATABASE', 'maps'],
  ] as const)
    vi.stubEnv(name, value);
  await stage.database('hosts').containers.create({ id: 'millrace', partitionKey: '/pk', defaultTtl: -1 });
});
afterAll(async () => {
  vi.unstubAllEnvs();
  rmSync(directory, { recursive: true });
  await stage[Symbol.asyncDispose]();
});

const run = (line: string) => cli(['shards', ...line.split(' ')], { directory });
const order = (id: string, n: number): Order => ({ id, type: 'order', tenantId: 1, n });

it('late writes are listed as both shards have them, and resolved one by one, then all that are left', async () => {
  for (const id of ['a', 'b']) await stage.orders(stage.west).items.create(order(id, 1));
  const { promise: switched, resolve } = Promise.withResolvers<void>();
  const moving = stage.move(1, stage.east, {
    graceMs: 3_000,
    say: (text) => (text.startsWith('late writes') ? resolve() : undefined),
  });
  await switched;
  for (const id of ['a', 'b']) {
    await stage.orders(stage.east).items.upsert(order(id, 7));
    await stage.orders(stage.west).items.upsert(order(id, 5));
  }
  const { id } = await moving;

  const listed = await run('check tenants');
  expect(listed.code).toBe(1);
  expect(listed.stdout).toMatch(/Orders \[1\] a\n {2}source .*"n":5.*\n {2}target .*"n":7[^]*Orders \[1\] b\n/);
  expect(listed.stdout).toContain(`tenants: late write of the move ${id}: Orders [1] a`);
  expect((await run('check --repair target --yes')).stderr).toContain('--repair needs the name of a map');

  const target = 'check tenants --repair target --container Orders --id a';
  const plan = await run(`${target} --dry-run`);
  expect(plan.stdout).toContain('delete from the source: Orders [1] a');
  expect(plan.stdout).not.toContain('Orders [1] b');
  const unconfirmed = await run(target);
  expect([unconfirmed.code, unconfirmed.stderr]).toEqual([2, expect.stringContaining('--yes')]);
  expect((await run(`${target} --yes`)).stdout).toMatch(/1 late write resolved\.\n[^]*1 late write of tenants\./);
  expect(await stage.stored(stage.west, 1)).toEqual([order('b', 5)]);

  const source = 'check tenants --repair source';
  expect((await run(`${source} --dry-run`)).stdout).toContain('carry over and remove from the source: Orders [1] b');
  expect((await run(`${source} --yes`)).stdout).toBe('tenants: 1 late write resolved.\ntenants: no differences.\n');
  expect(await stage.stored(stage.east, 1)).toEqual([order('a', 7), order('b', 5)]);
  expect(await stage.stored(stage.west, 1)).toEqual([]);
  expect(await stage.map.strays(stage.west)).toEqual([]);
  const left = await run('check tenants');
  expect([left.code, left.stdout]).toEqual([0, 'tenants: no differences.\n']);
});
