import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { type Enqueued, backgroundInput, enqueue, isEnqueued, sayEnqueued } from '../jobs/background.ts';
import { defineOperation } from '../operation.ts';
import { openEngine } from '../../runtime/open-engine.ts';
import { plural } from '../table.ts';

const PAUSE_MS = 500;

/** `done`: no work is left. */
interface FannedOut {
  readonly done: boolean;
  readonly writes: number;
  readonly parked: number;
}

/** For deployments without a permanent process; hosts of `millrace run` do the same in the background. */
export const projectionsFanOut = defineOperation({
  noun: 'projections',
  verb: 'fan-out',
  summary: 'Continue the unfinished fan-out of embeds: write changed parents’ fields into their remaining children',
  examples: ['millrace projections fan-out --env production', 'millrace projections fan-out --within 50 --json'],
  shards: 'every',
  effect: 'changes',
  input: z.object({
    ...backgroundInput,
    within: z.int().min(1).max(600).default(60).describe('seconds after which the command ends, finished or not'),
  }),
  plan: async (_, { workspace }) => {
    const { pipeline } = await workspace.pipeline();
    return { steps: pipeline.embeds.map(({ name }) => `write the remaining children of ${name}`), ru: 0 };
  },
  run: async (asked, context): Promise<FannedOut | Enqueued> => {
    if (asked.background) return enqueue('projections fan-out', asked, context);
    const { within } = asked;
    const { workspace, signal } = context;
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
  format: (result) => {
    if (isEnqueued(result)) return sayEnqueued(result);
    const { done, writes, parked } = result;
    return `${done ? 'The fan-out is finished' : 'The fan-out is not finished: run the command again'}. ${plural(writes, 'document')} written, ${plural(parked, 'parent')} parked.`;
  },
});
