// What is refused, and what works, of a pipeline that reads a container by its all-versions feed.
import { expect, it } from 'vitest';
import { type App, compose } from '../../../src/runtime/hosts/processor-host.ts';
import { verify } from '../../../src/procedures/verify/verify.ts';
import { cli } from '../../cli/cli.ts';
import { useStage } from '../../support/each-stage.ts';
import { ALL_VERSIONS, type Stage } from '../../support/stage.ts';

const { signal } = new AbortController();
const ORDER = { type: 'order', storeId: 's1', customerId: 'c1', placedAt: '2026-01-01T10:00:00Z', cents: 5 };

let stage: Stage;
useStage({ folder: ALL_VERSIONS }, (opened) => {
  stage = opened;
});

const millrace = (...args: string[]) => cli([...args, '--pipeline', ALL_VERSIONS]);

async function live(): Promise<App> {
  const app = await compose({ ...stage, host: 'all', readLagMs: 0, timings: { pollMs: 40, acquireMs: 20 } });
  await app.start();
  await app.drained(signal);
  return app;
}

it('a container that is read so is not migrated, nor is another migrated into it', async () => {
  await stage.services.place.database.containers.create({ id: 'Others', partitionKey: { paths: ['/customerId'] } });
  for (const [from, into] of [
    ['Orders', 'Others'],
    ['Others', 'Orders'],
  ] as const) {
    for (const more of [[], ['--dry-run'], ['--background']]) {
      const { code, stderr } = await millrace('migrate', from, '--into', into, ...more);
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: expect.stringContaining('The pipeline reads Orders by its all-versions feed'),
      });
    }
  }
  expect((await millrace('migrate', 'Customers', '--into', 'Others', '--dry-run')).code).toBe(0);
});

it('its leases are not rewound to the beginning or a time, which would pass over what lies between', async () => {
  const app = await live();
  await stage.container('Orders').items.create({ ...ORDER, id: 'o1' });
  await app.drained(signal);
  await app.stop();
  for (const to of ['beginning', '2026-06-03T12:00:00Z']) {
    const { code, stderr } = await millrace('leases', 'rewind', '--to', to, '--dry-run');
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('belongs to the all-versions feed') });
  }
});

it('a verification by all versions takes over no other processor’s leases', async () => {
  const { pipeline, model } = stage.loaded;
  const other = { ...stage, loaded: { pipeline: { ...pipeline, name: 'other', sources: [] }, model } };
  const app = await compose({ ...other, host: 'other', readLagMs: 0, timings: { pollMs: 40, acquireMs: 20 } });
  await app.start();
  await app.drained(signal);
  await app.stop();
  const { resources } = await stage.services.global.leases.items.readAll().fetchAll();
  const marker = resources.map(({ id }) => String(id)).find((id) => /^other\..*\.info$/.test(id));
  const { code, stderr } = await millrace('leases', 'adopt', marker?.slice(0, -'.info'.length) ?? '', '--dry-run');
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining('no other processor has positions of that feed'),
  });
});

it('`projections verify --repair` by all versions puts right what differs, and brings no deleted document back', async () => {
  const app = await live();
  const orders = stage.container('Orders');
  try {
    for (const id of ['kept', 'lost', 'late']) await orders.items.create({ ...ORDER, id });
    await app.drained(signal);
    await orders.item('lost', 's1').delete();
    await app.drained(signal);
    const summaries = stage.container('Summaries');
    const { resource } = await summaries.item('kept', 's1').read<{ id: string; cents: number }>();
    await summaries.item('kept', 's1').replace({ ...resource, id: 'kept', cents: 77 });
    await stage.container('Days').item('day|2026-01-01|s1', 's1').delete();
    const repairing = verify(stage.loaded, stage.services, {
      signal,
      settings: stage.settings,
      repair: true,
      readLagMs: 0,
      screen: { progress: () => undefined },
    });
    // Meanwhile.
    await orders.item('late', 's1').delete();
    const { repaired } = await repairing;
    expect(repaired).not.toBeNull();
    await app.drained(signal);
    expect(
      await verify(stage.loaded, stage.services, {
        signal,
        settings: stage.settings,
        readLagMs: 0,
        screen: { progress: () => undefined },
      }),
    ).toMatchObject({ different: 0 });
    const sql = `SELECT VALUE c.id FROM c WHERE NOT STARTSWITH(c.type, 'millrace.')`;
    expect((await summaries.items.query<string>(sql).fetchAll()).resources).toEqual(['kept']);
  } finally {
    await app.stop();
  }
});

it('plan says so of each projection', async () => {
  const { stdout } = await millrace('plan');
  expect(stdout.match(/Orders is read by its all-versions feed/g)).toHaveLength(2);
});
