// Takes a job and dies while it runs it.
import { Jobs } from '../../src/jobs/jobs.ts';

const [, , url = '', name = ''] = process.argv;
const jobs = await Jobs.open<{ add: object }>(url, name);
jobs.work(
  {
    add: async () => {
      process.kill(process.pid, 'SIGKILL');
    },
  },
  { lostAfterMs: 1_000 },
);
