import type { Pipeline } from '../definition/specs.ts';
import type { Jobs } from '../jobs/jobs.ts';

/** A pipeline's background jobs: one queue a pipeline. */
export async function openJobs(url: string, { name }: Pick<Pipeline, 'name'>): Promise<Jobs> {
  // Imported here and not above: BullMQ is large, and hardly anything ever needs it.
  const { Jobs } = await import('../jobs/jobs.ts');
  return Jobs.open(url, `jobs-${name}`);
}
