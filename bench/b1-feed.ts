import { CHECKPOINT_MS } from '../src/runtime/source-reading.ts';
import type { Runner } from '../src/kinds/runner.ts';
import { type Benchmark, type Figure, atLeast, plain, ratios, seconds, sized } from './support/measure.ts';
import { pull } from './support/pull.ts';
import { readAll } from './support/reader.ts';
import { fill, openStage } from './support/stage.ts';

const DOCUMENTS = sized(100_000, 2_000);

/** What reading by leases, with checkpoints and the engine around it, costs over the SDK's iterator alone. */
export const b1: Benchmark = {
  id: 'B1',
  title: 'no-op projection ÷ raw SDK pull of the same feed',
  run: async () => {
    await using stage = await openStage();
    const source = await stage.container('Source', '/key');
    const leases = await stage.container('leases', '/id');
    const state = await stage.container('millrace', '/pk');
    const text = 'x'.repeat(850);
    await fill(
      source,
      Array.from({ length: DOCUMENTS }, (_, index) => ({
        id: `${index}`,
        key: `k${index % 500}`,
        type: 'thing',
        text,
      })),
      ({ key }) => String(key),
    );
    const noop: Runner = {
      id: 'noop@1',
      order: 'document',
      sources: [{ container: 'Source', type: 'thing' }],
      apply: async () => {},
    };
    const figures: Figure[] = [];
    for (const [how, checkpointMs, least] of [
      ['a checkpoint a page', 0, 0.92],
      [`one each ${CHECKPOINT_MS / 1000} s, as hosts do`, CHECKPOINT_MS, 1],
    ] as const) {
      const { ratio, ours, theirs } = await ratios(5, async () => {
        const raw = DOCUMENTS / (await seconds(() => pull(source, DOCUMENTS)));
        const { database } = stage;
        const read = { source, keyPath: 'key', type: 'thing', leases, state, database, runners: [noop], checkpointMs };
        const own = DOCUMENTS / (await seconds(async () => void (await readAll(read))));
        return [own, raw];
      });
      figures.push(
        atLeast(`processor ÷ raw pull: ${how}`, ratio, least),
        plain('processor', ours, 'documents/s'),
        plain('raw pull', theirs, 'documents/s'),
      );
    }
    return figures;
  },
};
