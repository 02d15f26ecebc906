import type { AggregateSpec, Doc } from '../src/pipeline/specs.ts';
import { applyIsolating } from '../src/engine/isolate.ts';
import { aggregateRunner } from '../src/kinds/aggregate/aggregate-runner.ts';
import { type Benchmark, type Figure, atLeast, atMost, plain, ratios, seconds, sized } from './support/measure.ts';
import { readAll } from './support/reader.ts';
import { type Stage, fill, openStage } from './support/stage.ts';

const CHANGES = sized(10_000, 1_000);
const BATCH = 1_000;

/** A feed in which one change of a thousand can't be applied, against the same without. */
export const b11: Benchmark = {
  id: 'B11',
  title: '0.1 % poison ÷ clean; attempts to find one bad change',
  run: async () => {
    await using stage = await openStage();
    const one = await ratios(5, async (round) => [
      await rate(stage, `poison-${round}`, (index) => index % 1_000 === 500),
      await rate(stage, `clean-${round}`, () => false),
    ]);
    return [
      atLeast('0.1 % poison ÷ clean', one.ratio, 0.95),
      plain('with poison', one.ours, 'changes/s'),
      await attempts(),
    ];
  },
};

async function rate(stage: Stage, name: string, isBad: (index: number) => boolean): Promise<number> {
  const source = await stage.container(`${name}-source`, '/key');
  const [sink, leases, state] = [
    await stage.container(`${name}-sink`, '/group'),
    await stage.container(`${name}-leases`, '/id'),
    await stage.container(`${name}-state`, '/pk'),
  ];
  const documents = Array.from({ length: CHANGES }, (_, index) => ({
    id: `${index}`,
    key: `k${index % 200}`,
    type: 'thing',
    group: `g${index % 100}`,
    cents: isBad(index) ? 'many' : 1,
    text: 'x'.repeat(700),
  }));
  await fill(source, documents, ({ key }) => String(key));
  const spec: AggregateSpec = {
    kind: 'aggregate',
    name: 'summed',
    version: 1,
    from: { container: source.id, type: 'thing' },
    into: { container: sink.id, type: 'sum' },
    onDelete: 'remove',
    stable: true,
    groupBy: (_row, doc) => ({ group: doc['group'] }),
    measures: { cents: { kind: 'sum', of: (row) => (row as Doc)['cents'] as number } },
  };
  const runner = aggregateRunner(spec, { name: sink.id, keyPaths: [['group']] }, { stateContainer: state.id });
  const read = { source, keyPath: 'key', type: 'thing', leases, state, database: stage.database, runners: [runner] };
  const taken = CHANGES / (await seconds(async () => void (await readAll(read))));
  const { resources } = await sink.items
    .query<number>("SELECT VALUE SUM(c.cents) FROM c WHERE c.type = 'sum'")
    .fetchAll();
  const good = documents.filter(({ cents }) => cents === 1).length;
  if (resources[0] !== good) throw new Error(`${name} sums ${resources[0]} instead of ${good}`);
  for (const container of [source, sink, leases, state]) await container.delete();
  return taken;
}

/** A throw that names nobody is found by halving. */
async function attempts(): Promise<Figure> {
  let most = 0;
  for (let bad = 0; bad < BATCH; bad += 37) {
    let tries = 0;
    const changes = Array.from({ length: BATCH }, (_, index) => ({ index }));
    await applyIsolating(changes as never, async (some) => {
      tries += 1;
      if ((some as unknown as { index: number }[]).some(({ index }) => index === bad)) throw new Error('bad');
    });
    most = Math.max(most, tries);
  }
  return atMost(`attempts for one of ${BATCH}`, most, 2 * Math.ceil(Math.log2(BATCH)) + 1, '');
}
