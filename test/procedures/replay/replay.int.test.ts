import { describe, expect, it } from 'vitest';
import { cli } from '../../cli/cli.ts';
import { useStage } from '../../support/each-stage.ts';
import type { Stage } from '../../support/stage.ts';
import { VERSIONS, compare, live } from '../../verbs/projections/versions.ts';

let stage: Stage;
const { signal } = new AbortController();
const order = (id: string) => ({
  id,
  type: 'order',
  storeId: 's1',
  customerId: 'c1',
  placedAt: '2026-01-01T10:00:00.000Z',
  cents: 5,
});

useStage({ folder: VERSIONS }, async (opened) => {
  stage = opened;
  for (let n = 0; n < 10; n++) await stage.container('Orders').items.upsert(order(`o${n}`));
  const app = await live(stage);
  await app.drained(signal);
  await app.stop();
});

const replay = (...args: string[]) => cli(['projections', 'replay', ...args, '--pipeline', VERSIONS]);

describe('replaying', () => {
  it('a replay brings back what is missing and leaves what is right', async () => {
    for (const n of [1, 2, 3]) await stage.container('Summaries').item(`o${n}`, 's1').delete();
    const before = (await stage.container('Summaries').item('o4', 's1').read()).resource?._etag;
    const dry = await replay('summaries', '--dry-run', '--json');
    expect(JSON.parse(dry.stdout)).toMatchObject({ steps: ['apply 10 changes to summaries@1 in Summaries again'] });
    expect((await compare(stage, 'summaries@1')).found.size).toBe(7);
    const { code, stdout } = await replay('summaries', '--json');
    expect({ code, value: JSON.parse(stdout) as unknown }).toMatchObject({
      code: 0,
      value: { projection: 'summaries@1', changes: 10, parked: 0, changed: 3 },
    });
    const { expected, found } = await compare(stage, 'summaries@1');
    expect(found).toEqual(expected);
    expect((await stage.container('Summaries').item('o4', 's1').read()).resource?._etag).toBe(before);
    const { stdout: again } = await replay('summaries');
    expect(again).toContain('10 changes of summaries@1 replayed into Summaries: 0 documents changed, ');
  });

  it('a replay from a saved checkpoint takes what came after it', async () => {
    expect((await cli(['checkpoints', 'save', 'before', '--pipeline', VERSIONS])).code).toBe(0);
    await stage.container('Orders').items.upsert(order('late'));
    expect((await replay('summaries', '--checkpoint', 'before', '--dry-run')).stdout).toContain('apply 1 change to');
    expect((await replay('summaries', '--checkpoint', 'befor', '--dry-run')).stderr).toContain('did you mean before?');
    expect((await replay('summaries', '--checkpoint', 'before')).code).toBe(0);
    expect((await compare(stage, 'summaries@1')).found.has('["s1","late"]')).toBe(true);
  });

  it('a replay refuses a checkpoint of another container, a time that isn’t valid, and an unknown side sink', async () => {
    await cli(['checkpoints', 'save', 'before', '--pipeline', VERSIONS]);
    await stage.container('Orders').delete();
    await stage.services.place.database.containers.create({
      id: 'Orders',
      partitionKey: { paths: ['/storeId'] },
      defaultTtl: -1,
    });
    const foreign = await replay('days', '--checkpoint', 'before');
    expect(foreign).toMatchObject({ code: 2 });
    expect(foreign.stderr).toContain('an earlier container of that name');
    expect((await replay('days', '--from', 'yesterday')).stderr).toContain('2026-06-03T12:00:00Z');
    expect((await replay('days', '--into', 'Dayz')).stderr).toContain('did you mean Days?');
    expect((await replay('days', '--into', 'millrace')).code).toBe(2);
  });

  it('a replay into a side sink leaves the live one alone', async () => {
    expect((await replay('summaries', '--into', 'SummariesTwo')).code).toBe(0);
    const { resources } = await stage
      .container('SummariesTwo')
      .items.query<{ id: string }>('SELECT * FROM c')
      .fetchAll();
    expect(resources).toHaveLength(10);
    expect((await compare(stage, 'summaries@1')).found.size).toBe(10);
  });
});
