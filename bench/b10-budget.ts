import { randomInt } from 'node:crypto';
import type { CopySpec } from '../src/pipeline/specs.ts';
import { Budget } from '../src/cosmos/budget/limit.ts';
import { Meter } from '../src/cosmos/budget/charge-meter.ts';
import { Spending } from '../src/cosmos/budget/meter.ts';
import type { Change } from '../src/feed/reading/change.ts';
import { copyRunner } from '../src/kinds/copy/copy-runner.ts';
import { untilStopped } from '../src/feed/tenure/fences.ts';
import { CosmosAccess } from '../src/access/cosmos-access.ts';
import { type Benchmark, atMost, plain, sized } from './support/measure.ts';
import { openStage } from './support/stage.ts';

const RU_PER_SECOND = 4_000;
const SECONDS = sized(20, 1);

/** Copies of documents of 1 to 64 KB as fast as a budget lets them, live changes and bulk work side by side. */
export const b10: Benchmark = {
  id: 'B10',
  title: 'RU spent a second under mixed documents ÷ the budget',
  run: async () => {
    await using stage = await openStage();
    const [sink, state] = [await stage.container('sink', '/key'), await stage.container('state', '/pk')];
    const spec: CopySpec = {
      kind: 'copy',
      name: 'copied',
      version: 1,
      from: { container: 'source', type: 'thing' },
      into: { container: sink.id, type: 'copied' },
      onDelete: 'remove',
      stable: true,
      joins: [],
      map: (doc) => ({ id: doc['id'], key: doc['key'], text: doc['text'] }),
    };
    const runner = copyRunner(
      spec,
      { name: sink.id, keyPaths: [['key']] },
      { stateContainer: state.id, sources: new Map(), readLagMs: 0 },
    );
    const budget = new Budget(RU_PER_SECOND);
    const stop = new AbortController();
    const work = async (lane: 'live' | 'bulk', meter: Meter, name: string): Promise<void> => {
      const access = new CosmosAccess(
        stage.database,
        untilStopped(stop.signal),
        meter,
        new Spending(stage.database, budget, lane),
      );
      for (let lsn = 1; !stop.signal.aborted; lsn++) {
        const changes = Array.from({ length: 10 }, (_, n) => changeOf(`${name}-${lsn}-${n}`, lsn));
        await runner.apply(changes, access).catch((error: unknown) => {
          if (!stop.signal.aborted) throw error;
        });
      }
    };
    const [live, bulk] = [new Meter(), new Meter()];
    const working = Promise.all([work('live', live, 'one'), work('live', live, 'two'), work('bulk', bulk, 'three')]);
    // The second's worth that may have been saved up is spent first.
    const spent = async (seconds: number): Promise<number> => {
      const before = live.charge + bulk.charge;
      await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
      return live.charge + bulk.charge - before;
    };
    await spent(3);
    const rate = (await spent(SECONDS)) / SECONDS;
    stop.abort();
    await working;
    return [
      atMost('off the budget', Math.abs(rate / RU_PER_SECOND - 1), 0.05, ''),
      plain('spent', rate, `RU/s of ${RU_PER_SECOND}`),
      plain('by live changes', live.charge / (live.charge + bulk.charge), 'of all'),
      plain('throttled', live.throttled + bulk.throttled, 'requests'),
    ];
  },
};

function changeOf(id: string, lsn: number): Change {
  const text = 'x'.repeat(1_000 * 2 ** randomInt(7));
  return {
    container: 'source',
    type: 'thing',
    key: [id],
    id,
    version: { epoch: 1, lsn, etag: `"${id}"` },
    at: Date.now(),
    op: 'upsert',
    doc: { id, key: `k${randomInt(50)}`, text },
  };
}
