import { z } from 'zod';

/**
 * What a host can be told: `acquire` leases, making them first where no host has (`ForeignHost.bootstrap`); `work` a page of each of its ranges; `fail`,
 * the same with a handler that throws; `renew`; `stop`, offering the leases to others; `crash`, leaving them as they are.
 */
const STEPS = ['acquire', 'work', 'fail', 'renew', 'stop', 'crash'] as const;
export type Step = (typeof STEPS)[number];

/**
 * A script for the foreign host of a name; what isn't said of one that is there already is as before.
 * @internal
 */
export const script = z.strictObject({
  name: z.string().default('foreign'),
  /** Whose feed it reads, as `database/container`. */
  container: z.string(),
  leases: z.string(),
  prefix: z.string().optional(),
  processor: z.string().optional(),
  start: z.enum(['now', 'beginning']).optional(),
  advanceFailed: z.boolean().optional(),
  expirationMs: z.number().min(0).optional(),
  steps: z.array(z.enum(STEPS)).min(1),
});
/** @internal */
export type Script = z.output<typeof script>;

/** How a host stands after its steps. */
export interface Played {
  /** The GUID that its leases name; null after a crash, and the next one has another. */
  readonly owner: string | null;
  /** How many documents its handler got in these steps. */
  readonly read: number;
  /** What it believes to hold, by lease token, and how far it is by its own memory. */
  readonly held: Readonly<Record<string, string | null>>;
}
