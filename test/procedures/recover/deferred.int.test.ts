// A state that is older than the leases, while changes are deferred. docs/SPEC-recover.md, REC-B1, REC-B2.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { changesOf, openQueues } from '../../engine/deferred/defer.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { Shelves, declaring, search } from '../../verbs/projections/shelves.ts';
import { VERSIONS, compare } from '../../verbs/projections/versions.ts';
import { afresh, derive, newRun, recoverOn } from './recovery.ts';

const AT = Date.parse('2026-01-05T00:00:00Z');
let stage: Stage;
beforeEach(async () => {
  stage = await openStage({}, VERSIONS);
});
afterEach(() => stage[Symbol.asyncDispose]());

const place = async (...numbers: number[]): Promise<void> => {
  for (const n of numbers)
    await stage.container('Orders').items.upsert({
      id: `o${n}`,
      type: 'order',
      storeId: 's1',
      customerId: 'c1',
      placedAt: `2026-01-0${1 + n}T10:00:00.000Z`,
      cents: 101 + n,
    });
};
const defer = async (container: string): Promise<void> => {
  const deferred = await openQueues(stage.services.place.state, stage.loaded.pipeline.name, container);
  await deferred.defer('s1', changesOf(container, 's1', 3, AT));
};
const run = (input: object = {}) => afresh(stage, (now) => recoverOn(now, newRun(), { ...input }));

it('a recovery brings what leases have passed, and removes what is deferred', async () => {
  await place(1, 2);
  await derive(stage);
  await place(3, 4);
  // As if a host had deferred both, and the restored state knew nothing of it.
  const query = 'SELECT * FROM c WHERE IS_DEFINED(c.ContinuationToken)';
  for (const lease of (await stage.services.global.leases.items.query<{ id: string }>(query).fetchAll()).resources)
    await stage.services.global.leases.items.upsert({ ...lease, ContinuationToken: '"1000"' });
  await defer('Orders');
  await defer('Gone');

  const { ok, value } = await run();
  expect(ok, 'for the container that the pipeline doesn’t read').toBe(false);
  expect(value.findings).toContainEqual(
    expect.objectContaining({
      about: 'Orders',
      what: expect.stringContaining('1 queue of its changes are deferred, the oldest of 2026-01-05') as string,
      remedy: 'recover',
    }),
  );
  expect(value.left).toMatchObject([
    { about: 'Gone', hint: expect.stringContaining('dead-letters discard --deferred Gone') as string },
  ]);
  const found = await afresh(stage, (now) => compare(now, 'days@1'));
  expect(found.found).toEqual(found.expected);
  expect(found.expected.size).toBe(4);
  const left = "SELECT VALUE c.pk FROM c WHERE c.type = 'millrace.deferred' AND c.id = 'register'";
  expect((await stage.services.place.state.items.query<string>(left).fetchAll()).resources).toEqual([
    `deferred|${stage.loaded.pipeline.name}|Gone`,
  ]);
});

it('with effects, --since may not be later than the oldest change that is deferred', async () => {
  stage = { ...stage, loaded: declaring(stage, { effects: [search(new Shelves().sink())] }) };
  await place(1);
  await derive(stage);
  await defer('Orders');
  await expect(run({ since: '2026-01-06T00:00:00Z' })).rejects.toMatchObject({
    code: 'recover-undecided',
    hint: 'Say --since 2026-01-05T00:00:00.000Z, or an earlier time.',
  });
  expect((await run({ since: '2026-01-05T00:00:00Z' })).ok).toBe(true);
});
