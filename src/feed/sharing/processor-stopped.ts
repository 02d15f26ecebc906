import { UsageError } from '../../base/errors.ts';

export const processorStopped = (what: string): UsageError =>
  new UsageError('processor-stopped', `A processor that was stopped ${what}`, {
    mend: 'Make a new one: it goes on with the leases of its name.',
  });
