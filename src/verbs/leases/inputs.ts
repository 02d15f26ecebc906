import { z } from 'zod';

/** The lease expiration of the hosts whose leases the operation reads or changes. */
export const expiration = z
  .int()
  .min(100)
  .max(3_600_000)
  .default(60_000)
  .describe(
    'lease expiration of the hosts: milliseconds after which another host may take a lease that is not renewed',
  );
