import { MoveStage, TenantWriters } from '../test/procedures/move/move-stage.ts';
import { type Benchmark, none, sized } from './support/measure.ts';

/** There and back, so many times. */
const MOVES = 2 * Math.ceil(Number(process.env['MILLRACE_MOVES'] ?? sized(20, 2)) / 2);

/** How long writes of a tenant are held by its moves, and whether one is lost. */
export const b26: Benchmark = {
  id: 'B26',
  title: `a tenant of 120 documents moves there and back under writes, ${MOVES} moves`,
  run: async () => {
    await using stage = await MoveStage.open();
    const writers = new TenantWriters(stage);
    const began = performance.now();
    await writers.start({ tenants: [1, 2] });
    await writers.more(200);
    const pauses: number[] = [];
    let tries = 0;
    for (let at = 0; at < MOVES; at++) {
      const moved = await stage.move(1, at % 2 === 0 ? stage.east : stage.west);
      pauses.push(moved.pausedMs ?? Number.NaN);
      tries += moved.tries ?? 0;
      await writers.more(10);
    }
    const rate = (1_000 * writers.count) / (performance.now() - began);
    await writers.stop();
    const sorted = pauses.toSorted((a, b) => a - b);
    const [median, most] = [sorted[MOVES >> 1]!, sorted.at(-1)!];
    const stored = new Map((await stage.stored(stage.west, 1)).map(({ id, n }) => [id, n]));
    const lost = writers.expected(1).filter(({ id, n }) => stored.get(id) !== n).length;
    const twice = (await stage.everything(stage.east, 1)).length;
    return [
      { name: 'writes were held, in the median', value: median, unit: 'ms', target: '< 1,000', met: median < 1_000 },
      { name: 'writes were held, at most', value: most, unit: 'ms', target: '< 1,000', met: most < 1_000 },
      { name: 'longest wait of a write', value: writers.longestMs, unit: 'ms' },
      { name: 'tries of a switch', value: tries / MOVES, unit: 'a move' },
      { name: 'writes', value: rate, unit: 'a second' },
      none('acknowledged documents lost', lost, 'documents'),
      none('documents on both sides', twice, 'documents'),
    ];
  },
};
