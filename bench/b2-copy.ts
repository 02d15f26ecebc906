import { ChangeFeedStartFrom, type Container } from '@azure/cosmos';
import pMap from 'p-map';
import type { CopySpec, Doc } from '../src/pipeline/specs.ts';
import { copyRunner } from '../src/kinds/copy/copy-runner.ts';
import { type Benchmark, type Figure, atLeast, plain, ratios, seconds, sized } from './support/measure.ts';
import { readAll } from './support/reader.ts';
import { fill, openStage, type Stage } from './support/stage.ts';

const CHANGES = sized(10_000, 300);

/** A copy under the version guard against a hand-written function that upserts each change. */
export const b2: Benchmark = {
  id: 'B2',
  title: 'copy with version guard ÷ one awaited upsert a change, and ÷ the same 32-way',
  run: async () => {
    await using stage = await openStage();
    const shared = await compare(stage, 'shared', (index) => `s${index % 100}`, 20, 8);
    const own = await compare(stage, 'own', (index) => `s${index}`, 4, 1);
    return [...shared, ...own];
  },
};

async function compare(
  stage: Stage,
  name: string,
  sinkKey: (index: number) => string,
  sequential: number,
  parallel: number,
): Promise<Figure[]> {
  const source = await stage.container(`${name}-source`, '/key');
  const leases = await stage.container(`${name}-leases`, '/id');
  const state = await stage.container(`${name}-state`, '/pk');
  const text = 'x'.repeat(700);
  const documents = Array.from({ length: CHANGES }, (_, index) => ({
    id: `${index}`,
    key: `k${index % 200}`,
    type: 'thing',
    sink: sinkKey(index),
    text,
  }));
  await fill(source, documents, ({ key }) => String(key));

  const run = async (round: number, kind: string, apply: (sink: Container) => Promise<void>): Promise<number> => {
    const sink = await stage.container(`${name}-${kind}-${round}`, '/sink');
    const rate = CHANGES / (await seconds(() => apply(sink)));
    await assertEqual(sink, documents);
    await sink.delete();
    return rate;
  };
  const millrace = async (sink: Container): Promise<void> => {
    const spec: CopySpec = {
      kind: 'copy',
      name: 'copied',
      version: 1,
      from: { container: source.id, type: 'thing' },
      into: { container: sink.id, type: 'copied' },
      onDelete: 'remove',
      stable: true,
      joins: [],
      map: (doc) => ({ id: doc['id'], sink: doc['sink'], text: doc['text'] }),
    };
    const runner = copyRunner(
      spec,
      { name: sink.id, keyPaths: [['sink']] },
      { stateContainer: state.id, sources: new Map(), readLagMs: 0 },
    );
    const read = { source, keyPath: 'key', type: 'thing', leases, state, database: stage.database, runners: [runner] };
    await readAll(read);
  };
  const one = await ratios(5, async (round) => [
    await run(round, 'millrace', millrace),
    await run(round, 'naive', (sink) => naive(source, sink, 1)),
  ]);
  const many = await ratios(5, async (round) => [
    await run(round, 'again', millrace),
    await run(round, 'parallel', (sink) => naive(source, sink, 32)),
  ]);
  // A zombie's redelivery after the end changes nothing: the run is repeated over its own sink.
  const sink = await stage.container(`${name}-zombie`, '/sink');
  await millrace(sink);
  await millrace(sink);
  await assertEqual(sink, documents);
  return [
    atLeast(`${name} sink keys ÷ one at a time`, one.ratio, sequential),
    atLeast(`${name} sink keys ÷ 32-way`, many.ratio, parallel),
    plain(`${name}: Millrace`, many.ours, 'changes/s'),
    plain(`${name}: one at a time`, one.theirs, 'changes/s'),
    plain(`${name}: 32-way`, many.theirs, 'changes/s'),
  ];
}

/** What teams write by hand: no guard, no batch, a blind upsert. */
async function naive(source: Container, sink: Container, concurrency: number): Promise<void> {
  const iterator = source.items.getChangeFeedIterator<Doc>({
    changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
    maxItemCount: 1_000,
  });
  for (;;) {
    const page = await iterator.readNext();
    if (page.statusCode === 304) return;
    await pMap(
      page.result,
      (doc) => sink.items.upsert({ id: doc['id'], sink: doc['sink'], text: doc['text'], type: 'copied' }),
      { concurrency },
    );
  }
}

async function assertEqual(sink: Container, documents: readonly Doc[]): Promise<void> {
  const { resources } = await sink.items.query<Doc>('SELECT c.id, c.sink, c.text FROM c').fetchAll();
  const wanted = new Set(documents.map(({ id, sink: key, text }) => `${String(id)} ${String(key)} ${String(text)}`));
  const right = resources.filter(({ id, sink: key, text }) =>
    wanted.has(`${String(id)} ${String(key)} ${String(text)}`),
  );
  if (right.length !== documents.length || resources.length !== documents.length)
    throw new Error(`${sink.id} holds ${right.length} right copies of ${documents.length}`);
}
