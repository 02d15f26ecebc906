// What engines do with the changes of a tenant that is erased, on the embedded server. ERASE-S3.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { MillraceError } from '../../../src/base/errors.ts';
import { FULL_RANGE } from '../../../src/cosmos/ranges.ts';
import { Meter } from '../../../src/cosmos/budget/charge-meter.ts';
import type { Doc } from '../../../src/pipeline/specs.ts';
import { DeadLetters } from '../../../src/engine/dead-letters/dead-letters.ts';
import { Engine } from '../../../src/engine/engine.ts';
import { ErasureRecords } from '../../../src/engine/erasures/record.ts';
import { ErasureWatch } from '../../../src/engine/erasures/watch.ts';
import { redriveLetter } from '../../../src/engine/redrive-letter.ts';
import { sourceContainers } from '../../../src/engine/runners.ts';
import type { Change, Page } from '../../../src/feed/reading/change.ts';
import { openSource } from '../../../src/feed/reading/open-source.ts';
import { untilStopped } from '../../../src/feed/tenure/fences.ts';
import { Poison, type Runner } from '../../../src/kinds/runner.ts';
import { type Purpose, openEngine } from '../../../src/runtime/open-engine.ts';
import { compose } from '../../../src/runtime/hosts/processor-host.ts';
import { triggerConsumer } from '../../../src/runtime/hosts/trigger-host.ts';
import { CosmosAccess } from '../../../src/access/cosmos-access.ts';
import { type Stage, openStage } from '../../support/stage.ts';

const NEVER = new AbortController().signal;
const FENCE = untilStopped(NEVER);
const NOW = Date.parse('2026-03-01T00:00:00Z');

let stage: Stage;
let tests = 0;
/** Tenants of this test alone: all tests share one server. */
let [gone, other] = ['', ''];
let records: ErasureRecords;

beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage[Symbol.asyncDispose]());
beforeEach(() => {
  tests += 1;
  [gone, other] = [`gone-${tests}`, `other-${tests}`];
  records = new ErasureRecords(stage.services.place.state, stage.loaded.pipeline.name);
});

const order = (storeId: string, id: string) => ({
  id,
  type: 'order',
  storeId,
  customerId: 'c1',
  placedAt: '2026-01-01T10:00:00.000Z',
  cents: 100,
});
const write = (storeId: string, id: string): Promise<unknown> =>
  stage.container('Orders').items.upsert(order(storeId, id));

const open = (purpose: Purpose = 'live') => openEngine({ ...stage, readLagMs: 0, viewsRefreshMs: 0 }, purpose);

/** All changes of the tenants of this test. */
async function page(): Promise<Page> {
  const map = sourceContainers(stage.loaded.pipeline, stage.loaded.model).get('Orders');
  if (!map) throw new Error('The pipeline does not read Orders');
  const { source } = await openSource(stage.container('Orders'), { map, state: stage.services.place.state });
  const changes: Change[] = [];
  for (let from = ''; ;) {
    const read: Page & { next: string } = await source.read(FULL_RANGE, from, NEVER);
    changes.push(...read.changes.filter(({ tenant }) => tenant === gone || tenant === other));
    if (read.next === from) return { changes, charge: 0, readAt: performance.now() };
    from = read.next;
  }
}

async function derived(): Promise<string[]> {
  const all = await Promise.all(
    ['Summaries', 'Days'].map((name) => stage.container(name).items.readAll<Doc>().fetchAll()),
  );
  return all
    .flatMap(({ resources }) => resources)
    .filter(({ type, storeId }) => ['summary', 'day'].includes(String(type)) && [gone, other].includes(String(storeId)))
    .map(({ type, storeId }) => `${String(type)} ${String(storeId)}`)
    .toSorted();
}
const letters = async () =>
  (await new DeadLetters(stage.services.place.state).list()).filter(
    ({ tenant }) => tenant === gone || tenant === other,
  );

describe('changes of a tenant that is erased', () => {
  test('reach no runner and no letter, and those of others are applied; when it comes back, its changes are applied', async () => {
    await write(gone, 'o1');
    await write(other, 'o1');
    const { id } = await records.begin(gone, NOW);
    expect(await open().engine.consume(await page(), FENCE)).toEqual({ applied: 2, parked: 0 });
    expect([await derived(), await letters()]).toEqual([[`day ${other}`, `summary ${other}`], []]);
    await records.remove(id);
    await open().engine.consume(await page(), FENCE);
    expect(await derived()).toEqual([`day ${gone}`, `day ${other}`, `summary ${gone}`, `summary ${other}`]);
  });

  test('changes of a tenant that is erased stay out of a replay, a rebuild and a redrive, whose engines have no views', async () => {
    await write(gone, 'o1');
    await records.begin(gone, NOW);
    const changes = await page();
    expect(await open('redrive').engine.consume(changes, FENCE)).toEqual({ applied: 0, parked: 0 });
    expect(await open('redrive').engine.consume(changes, FENCE, { only: 'summaries@1' })).toEqual({
      applied: 0,
      parked: 0,
    });
    expect(await derived()).toEqual([]);
  });

  test('changes of a tenant that is erased stay out of a host that runs when the record comes, and of a function app', async () => {
    const options = { ...stage, readLagMs: 0, viewsRefreshMs: 0 };
    const app = await compose({ ...options, host: `host-${tests}`, timings: { pollMs: 40 } });
    await app.start();
    await write(gone, 'before');
    await app.drained(AbortSignal.timeout(30_000));
    expect(await derived()).toEqual([`day ${gone}`, `summary ${gone}`]);
    await records.begin(gone, NOW);
    await write(gone, 'after');
    await write(other, 'after');
    await app.drained(AbortSignal.timeout(30_000));
    await app.stop();
    expect(await derived()).toEqual([`day ${gone}`, `day ${other}`, `summary ${gone}`, `summary ${other}`]);
    const { resources: documents } = await stage
      .container('Orders')
      .items.query<Doc>({
        query: 'SELECT * FROM c WHERE c.storeId IN (@gone, @other)',
        parameters: [
          { name: '@gone', value: gone },
          { name: '@other', value: other },
        ],
      })
      .fetchAll();
    const batch = { container: 'Orders', documents: documents.map((doc) => ({ ...doc, _lsn: 1e6 })), again: false };
    expect(await triggerConsumer(options)({ ...batch, signal: NEVER })).toEqual({ applied: 2, parked: 0 });
    expect([(await derived()).length, await letters()]).toEqual([4, []]);
  });

  test('changes of a tenant that is erased stay letters when they are redriven, with the reason, and a deleted document stays one too', async () => {
    await write(gone, 'there');
    await write(gone, 'deleted');
    await write(other, 'there');
    const deadLetters = new DeadLetters(stage.services.place.state);
    const error = new MillraceError('refused', 'Refused');
    const { changes } = await page();
    await deadLetters.park(
      'summaries@1',
      changes.map((change) => ({ change, error })),
      new Date(NOW),
    );
    await stage.container('Orders').item('deleted', gone).delete();
    await records.begin(gone, NOW);
    const { engine, cold } = open('redrive');
    const results = await redriveLetter(await letters(), {
      engine,
      deadLetters: new DeadLetters(stage.services.place.state),
      sources: sourceContainers(stage.loaded.pipeline, stage.loaded.model),
      access: new CosmosAccess(stage.services.place.database, FENCE, new Meter()),
      cold,
      readLagMs: 0,
      signal: NEVER,
      fence: () => untilStopped(NEVER),
    });
    expect(results.map(({ id, outcome }) => `${id} ${outcome}`).toSorted()).toEqual([
      'deleted refused',
      'there applied',
      'there refused',
    ]);
    expect(results.find(({ outcome }) => outcome === 'refused')?.message).toContain('is erased');
    expect([await derived(), (await letters()).map(({ tenant }) => tenant)]).toEqual([
      [`summary ${other}`],
      [gone, gone],
    ]);
  });

  test('changes of a tenant that is erased are not taken from the letters in which they wait, and hold no other tenant back', async () => {
    const applied: string[] = [];
    let refuses = true;
    const runner: Runner = {
      id: `ordered-${tests}@1`,
      order: 'partitionKey',
      sources: [{ container: 'Orders', type: 'order' }],
      apply: async (changes) => {
        const head = refuses ? changes.find(({ id }) => id === 'head') : undefined;
        if (head) throw new Poison([{ change: head, error: new MillraceError('refused', 'Refused') }]);
        applied.push(...changes.map(({ id }) => id));
      },
    };
    const { database, state } = stage.services.place;
    const watch = new ErasureWatch(records, { refreshMs: 0 });
    const engine = new Engine({ database, runners: [runner], deadLetters: new DeadLetters(state), erasures: watch });
    // One key has the documents of two tenants.
    const change = (id: string, lsn: number, tenant: string): Change => ({
      container: 'Orders',
      type: 'order',
      key: ['shared'],
      id,
      version: { epoch: 1, lsn, etag: `${lsn}` },
      at: 0,
      op: 'upsert',
      doc: { id },
      tenant,
    });
    const consume = (...changes: Change[]) => engine.consume({ changes, charge: 0, readAt: 0 }, FENCE);
    await consume(change('head', 1, other), change('erased', 2, gone), change('kept', 3, other));
    await records.begin(gone, NOW);
    refuses = false;
    await consume(change('head', 4, other), change('new', 5, gone));
    expect(applied).toEqual(['kept', 'head']);
    await consume(change('last', 6, other));
    expect(applied).toEqual(['kept', 'head', 'last']);
  });

  test('changes of a tenant that is erased are dropped nowhere where the pipeline declares no tenant, and nothing is read', async () => {
    await records.begin(gone, NOW);
    const { tenant: _, ...pipeline } = stage.loaded.pipeline;
    const options = { ...stage, loaded: { ...stage.loaded, pipeline }, readLagMs: 0, viewsRefreshMs: 0 };
    expect(openEngine(options, 'live').erasures).toBeUndefined();
  });

  test('changes of a tenant that is erased aren’t applied by a host that can’t read the records', async () => {
    await write(other, 'o1');
    const erasures = { current: () => Promise.reject(new MillraceError('away', 'No answer', { retryable: true })) };
    const { database, state } = stage.services.place;
    const engine = new Engine({ database, runners: [], deadLetters: new DeadLetters(state), erasures });
    await expect(engine.consume(await page(), FENCE)).rejects.toMatchObject({ code: 'away' });
  });

  test('changes of a tenant that is erased and the tenant itself leave the figures of the host', async () => {
    await write(gone, 'o1');
    await write(other, 'o1');
    const { engine } = open();
    await engine.consume(await page(), FENCE);
    await records.begin(gone, NOW);
    await engine.erased();
    expect(engine.tenants().tenants.map(({ tenant }) => tenant)).toEqual([other]);
  });
});
