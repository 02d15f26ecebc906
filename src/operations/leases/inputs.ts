import { z } from 'zod';

/** Of the hosts whose leases are touched. */
export const expiration = z
  .int()
  .min(100)
  .max(3_600_000)
  .default(60_000)
  .describe('milliseconds after which their hosts take over a lease that nobody renews; theirs, if they set another');
