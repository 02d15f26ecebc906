import { canonical } from '../../base/json.ts';
import type { Jobs } from '../../jobs/jobs.ts';
import { Poison, type Runner } from '../../kinds/runner.ts';

/** From half a minute up to about a day, after the attempts that were made while the page waited. */
const RETRIES = { delayMs: 30_000, backoffMs: 30_000, attempts: 12 } as const;

/**
 * A reaction's runner that gives its failed changes to background jobs as well. Each change is parked as usual, and a job
 * redrives its dead letter until that succeeds, a newer version resolves it, or a day has passed. If the job can't be
 * added, the change stays parked. `shard`: the one whose hosts run it.
 */
export function retriedByJob(runner: Runner, open: () => Promise<Jobs>, shard?: string): Runner {
  return {
    ...runner,
    apply: async (changes, access) => {
      try {
        await runner.apply(changes, access);
      } catch (error) {
        if (error instanceof Poison)
          await leave({ projection: runner.id, ...(shard !== undefined && { shard }) }, error, open).catch(
            () => undefined,
          );
        throw error;
      }
    },
  };
}

async function leave(
  of: { readonly projection: string; readonly shard?: string },
  { refusals }: Poison,
  open: () => Promise<Jobs>,
): Promise<void> {
  const jobs = await open();
  try {
    for (const { change } of refusals) {
      const where = of.shard === undefined ? [] : [of.shard];
      const dedupe = canonical([of.projection, change.container, change.key, change.id, ...where]);
      await jobs.enqueue('reaction', { ...of, id: change.id, key: change.key }, { ...RETRIES, dedupe, lane: 'live' });
    }
  } finally {
    await jobs.close();
  }
}
