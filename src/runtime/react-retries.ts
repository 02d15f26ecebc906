import { canonical } from '../base/json.ts';
import type { Jobs } from '../jobs/jobs.ts';
import { Poison, type Runner } from '../projections/runner.ts';

/** From half a minute to about a day, after the attempts that were made while the page waited. */
const RETRIES = { delayMs: 30_000, backoffMs: 30_000, attempts: 12 } as const;

/**
 * A reaction's runner that leaves what it refused to the workers of background jobs: each change is parked, as it would
 * be, and tried again by redriving its letter until that succeeds, a newer version settles it, or a day has passed. What
 * can't be left to them stays parked all the same.
 */
export function retriedByJob(runner: Runner, open: () => Promise<Jobs>): Runner {
  return {
    ...runner,
    apply: async (changes, session) => {
      try {
        await runner.apply(changes, session);
      } catch (error) {
        if (error instanceof Poison) await leave(runner.id, error, open).catch(() => undefined);
        throw error;
      }
    },
  };
}

async function leave(projection: string, { refusals }: Poison, open: () => Promise<Jobs>): Promise<void> {
  const jobs = await open();
  try {
    for (const { change } of refusals) {
      const dedupe = canonical([projection, change.container, change.key, change.id]);
      await jobs.enqueue('reaction', { projection, id: change.id }, { ...RETRIES, dedupe, lane: 'live' });
    }
  } finally {
    await jobs.close();
  }
}
