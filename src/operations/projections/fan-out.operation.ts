import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { type Enqueued, backgroundInput, enqueue, isEnqueued, sayEnqueued } from '../jobs/background.ts';
import { defineOperation } from '../operation.ts';
import { openEngine } from '../../runtime/open-engine.ts';

const PAUSE_MS = 500;

/** `done`: nothing was left. */
interface FannedOut {
  readonly done: boolean;
  readonly writes: number;
  readonly parked: number;
}

/** For who has no process that stays: hosts of `millrace run` do the same by themselves. */
export const projectionsFanOut = defineOperation({
  noun: 'projections',
  verb: 'fan-out',
  summary: 'Go on with the children of changed parents that embeds have left to do, whoever left them',
  examples: ['millrace projections fan-out --env production', 'millrace projections fan-out --within 50 --json'],
  effect: 'changes',
  input: z.object({
    ...backgroundInput,
    within: z.int().min(1).max(600).default(60).describe('seconds after which it ends, whether all is done or not'),
  }),
  plan: async (_, { workspace }) => {
    const { pipeline } = await workspace.pipeline();
    return { steps: pipeline.embeds.map(({ name }) => `write what ${name} has left to write`), ru: 0 };
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
    return `${done ? 'Nothing is left to do' : 'There is more to do: run it again'}; ${writes} documents written, ${parked} parents parked.`;
  },
});
