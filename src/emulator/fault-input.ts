import { z } from 'zod';
import type { Faults } from './cosmos/time-and-charge/faults.ts';
import { isKind, KINDS } from './cosmos/wire/kind.ts';
import { sharedError } from '../base/shared-errors.ts';

const share = z.number().min(0).max(1);
const ms = z.number().min(0);

/** An unknown kind is refused: the rule would never apply, and you would not notice. */
const kind = z.string().refine(isKind, {
  error: ({ input }) =>
    `there is no kind of request '${String(input)}': name one of ${KINDS.join(', ')}, or a resource and a method, such as pkranges.get`,
});

/** An id contains none of these characters, so a rule for such a name would never apply. */
const container = z
  .string()
  .regex(/^[^/\\?#]+(?:\/[^/\\?#]+)?$/, { error: "name a container by its id, or as 'database/container'" });

const rule = z.strictObject({
  operation: z.union([kind, z.array(kind).min(1)]).optional(),
  container: container.optional(),
  nth: z.int().min(1).optional(),
  times: z.int().min(0).optional(),
  probability: share.optional(),
  status: z.union([z.int().min(400).max(599), z.literal('reset')]),
  substatus: z.int().min(0).optional(),
  retryAfterMs: ms.optional(),
  effect: z.enum(['before', 'after']).optional(),
});

const faults = z.strictObject({
  replicaLagMs: ms.optional(),
  failAfterEffect: share.optional(),
  failBefore: share.optional(),
  throttle: share.optional(),
  rules: z.array(rule).optional(),
  latencyMs: ms.optional(),
  jitterMs: ms.optional(),
  enforceThroughput: z.boolean().optional(),
  priorityLevels: z.boolean().optional(),
  throughputBuckets: z.partialRecord(z.enum(['1', '2', '3', '4', '5']), z.number().min(1).max(100)).optional(),
  purge: z.boolean().optional(),
  countExpired: z.boolean().optional(),
  loosePrefixes: z.boolean().optional(),
  demandPlans: z.boolean().optional(),
  indexFrom: z.int().min(0).optional(),
  historyMs: ms.optional(),
  shuffleInLsn: z.boolean().optional(),
});

/**
 * All faults of a bad day, for tests that must hold on one: replicas lag, some requests fail without effect, some answers
 * of writes are lost, some requests are throttled, all take longer, and the order inside an lsn is random. The server's
 * seed decides which requests fail.
 */
export const ADVERSE: Faults = {
  replicaLagMs: 50,
  failAfterEffect: 0.03,
  failBefore: 0.02,
  throttle: 0.03,
  jitterMs: 2,
  shuffleInLsn: true,
};

/** Returns the faults of a preset, or checks the given ones. Throws UsageError. */
export function emulatorFaultsOf(given: Faults | 'adverse'): Faults {
  if (given === 'adverse') return ADVERSE;
  const { success, error } = faults.safeParse(given);
  if (success) return given;
  throw sharedError('option-invalid', `These faults are not valid: ${z.prettifyError(error)}`, {
    hint: `Name one or more of ${Object.keys(faults.shape).join(', ')}, or 'adverse' for all faults of a bad day.`,
  });
}
