import { z } from 'zod';

/**
 * The steps of a host: `acquire` leases, after creating them if no host has (`ForeignHost.bootstrap`); `work`: read a page
 * of each of its ranges; `fail`: the same, with a handler that throws; `renew`; `stop`: release the leases; `crash`: keep
 * them.
 */
const STEPS = ['acquire', 'work', 'fail', 'renew', 'stop', 'crash'] as const;
export type Step = (typeof STEPS)[number];

/**
 * A script for the named foreign host. An existing host keeps the options that the script doesn't name.
 * @internal
 */
export const script = z.strictObject({
  name: z.string().default('foreign'),
  /** The container whose feed the host reads, as `database/container`. */
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

/** The state of a host after its steps. */
export interface Played {
  /** The GUID in its leases; null after a crash. The next host has another GUID. */
  readonly owner: string | null;
  /** How many documents its handler got in these steps. */
  readonly read: number;
  /** The positions in its memory, by lease token. */
  readonly held: Readonly<Record<string, string | null>>;
}
