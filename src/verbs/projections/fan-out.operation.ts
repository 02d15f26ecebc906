import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { openEngine } from '../../runtime/open-engine.ts';
import { plural } from '../../procedures/table.ts';

const PAUSE_MS = 500;

/** `done`: no work is left. */
interface FannedOut {
  readonly done: boolean;
  readonly writes: number;
  readonly parked: number;
}

/**
 * No verb: a timer of the function app runs it, where no process keeps running. Hosts of `millrace run` do the same in the
 * background.
 */
export const projectionsFanOut = defineOperation({
  name: 'projections fan-out',
  summary: 'Continue the unfinished fan-out of embeds: write changed parents’ fields into their remaining children',
  examples: [],
  shards: 'every',
  effect: 'changes',
  input: z.object({
    within: z.int().min(1).max(600).default(60).describe('seconds after which it ends, finished or not'),
  }),
  run: async ({ within }, { workspace, signal }): Promise<FannedOut> => {
    const loaded = await workspace.pipeline();
    const parts = { settings: workspace.settings(), services: await workspace.services(), loaded };
    const { engine } = openEngine(parts, 'live');
    const until = performance.now() + within * 1_000;
    for (;;) {
      signal.throwIfAborted();
      const done = await engine.resume(signal);
      const { writes, parked } = engine.stats.reduce(
        (sum, { meter, parked: more }) => ({ writes: sum.writes + meter.writes, parked: sum.parked + more }),
        { writes: 0, parked: 0 },
      );
      if (done || performance.now() >= until) return { done, writes, parked };
      await delay(PAUSE_MS, undefined, { signal });
    }
  },
  format: ({ done, writes, parked }) =>
    `${done ? 'The fan-out is finished' : 'The fan-out is not finished'}. ${plural(writes, 'document')} written, ${plural(parked, 'parent')} parked.`,
});
