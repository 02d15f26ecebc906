import { z } from 'zod';
import { isObject } from '../../base/json.ts';
import type { JobRow } from '../../jobs/jobs.ts';
import { defineOperation } from '../operation.ts';
import { agoText, plural, textTable } from '../../procedures/table.ts';
import { askedTenant, isGiven, tenantInput } from '../../procedures/tenants/tenant-flag.ts';

/** The operation of a job with its input, for the table. */
function subject({ name, payload }: JobRow): string {
  if (!isObject(payload)) return name;
  if (typeof payload['name'] !== 'string')
    return [name, ...Object.values(payload).filter((value) => typeof value === 'string')].join(' ');
  const input = isObject(payload['input']) ? Object.values(payload['input']).filter((value) => value !== false) : [];
  return [payload['name'], ...input.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))].join(
    ' ',
  );
}

const far = ({ done, of, state }: JobRow): string =>
  state === 'completed'
    ? '100 %'
    : done === null
      ? ''
      : of === null
        ? done.toLocaleString('en-US')
        : `${Math.floor((100 * done) / Math.max(1, of))} %`;

const inputIn = (payload: unknown): unknown => (isObject(payload) ? payload['input'] : undefined);

/** Jobs of each state among which those of a tenant are looked for; the queue keeps fewer that have ended. */
const MOST = 10_000;

export const jobsList = defineOperation({
  name: 'jobs list',
  summary: 'List the background jobs, newest first, with their progress and failures',
  examples: ['millrace jobs list', 'millrace jobs list --limit 10 --json', 'millrace jobs list --tenant store-1'],
  shards: 'itself',
  effect: 'reads',
  input: z.object({
    limit: z.int().min(1).max(1_000).default(50).describe('most jobs to show'),
    tenant: tenantInput.tenant.describe('only jobs that were queued with --tenant and this tenant'),
  }),
  run: async ({ limit, tenant }, { workspace }) => {
    const jobs = await workspace.jobs();
    if (tenant === undefined) return jobs.list(limit);
    const asked = askedTenant(await workspace.pipeline(), tenant);
    return (await jobs.list(MOST)).filter(({ payload }) => isGiven(asked, inputIn(payload))).slice(0, limit);
  },
  format: (jobs) =>
    jobs.length === 0
      ? 'No jobs.'
      : `${textTable(
          ['job', 'state', 'what', 'done', 'attempts', 'since', 'failure'],
          jobs.map((job) => [
            job.id,
            job.state,
            subject(job),
            far(job),
            job.attempts,
            agoText(job.createdAt),
            job.failure?.split('\n')[0] ?? '',
          ]),
        )}\n${plural(jobs.length, 'job')}`,
});
