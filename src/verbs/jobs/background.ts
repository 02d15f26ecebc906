import { flag } from '../flags.ts';
import { canonical } from '../../base/json.ts';
import type { Context } from '../../procedures/context.ts';

/** For the input of an operation that may take long. */
export const backgroundInput = {
  background: flag('run it as a background job (`millrace jobs work`), and return immediately'),
};

/** What an operation returns instead of its result when it runs as a background job. */
export interface Enqueued {
  readonly job: string;
}

export const isEnqueued = (value: object): value is Enqueued => 'job' in value;

/** Queues an operation as a job, which works in the same place. The same operation queued twice runs once. */
export async function enqueue(
  name: string,
  asked: Readonly<Record<string, unknown>>,
  { workspace, place, actor }: Context,
): Promise<Enqueued> {
  const input = { ...asked, background: false, ...(place !== undefined && { shard: place }) };
  const jobs = await workspace.jobs();
  return { job: await jobs.enqueue('operation', { name, input, actor }, { dedupe: canonical([name, input]) }) };
}

export const sayEnqueued = ({ job }: Enqueued): string =>
  `Job ${job} waits for a worker (\`millrace jobs work\`). \`millrace jobs list\` shows its progress.`;
