import type { Pipeline } from '../pipeline/specs.ts';
import type { Jobs } from '../jobs/jobs.ts';

/** Opens the queue of a pipeline's background jobs. Each pipeline has one. */
export async function openJobs(url: string, { name }: Pick<Pipeline, 'name'>): Promise<Jobs> {
  // A lazy import: BullMQ is large, and few calls need it.
  const { Jobs } = await import('../jobs/jobs.ts');
  return Jobs.open(url, `jobs-${name}`);
}
