import { z } from 'zod';
import { UsageError } from '../base/errors.ts';
import type { Faults } from './cosmos/physics/faults.ts';
import { isKind, KINDS } from './cosmos/wire/kind.ts';

const share = z.number().min(0).max(1);
const ms = z.number().min(0);

/** A kind that no request has would never strike, and nobody would know. */
const kind = z.string().refine(isKind, {
  error: ({ input }) =>
    `there is no kind of request '${String(input)}': name one of ${KINDS.join(', ')}, or a resource and a method, as in pkranges.get`,
});

/** No id holds any of these, so that a rule for such a name would never strike. */
const container = z
  .string()
  .regex(/^[^/\\?#]+(?:\/[^/\\?#]+)?$/, { error: "a container is named by its id, or as 'database/container'" });

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
  purge: z.boolean().optional(),
  countExpired: z.boolean().optional(),
  historyMs: ms.optional(),
  shuffleInLsn: z.boolean().optional(),
});

/**
 * A bad day, for every test that is to hold on one: replicas lag behind, answers get lost after their effect and requests
 * before it, some are throttled, all take their time, and transactions come in any order. Which request is struck is
 * drawn from the server's seed.
 */
export const ADVERSE: Faults = {
  replicaLagMs: 50,
  failAfterEffect: 0.03,
  failBefore: 0.02,
  throttle: 0.03,
  jitterMs: 2,
  shuffleInLsn: true,
};

/** Faults by name, or checked one by one. Throws UsageError. */
export function faultsOf(given: Faults | 'adverse'): Faults {
  if (given === 'adverse') return ADVERSE;
  const { success, error } = faults.safeParse(given);
  if (success) return given;
  throw new UsageError('emulator-faults-invalid', `These faults can't be had: ${z.prettifyError(error)}`, {
    mend: `Name some of ${Object.keys(faults.shape).join(', ')}, or say 'adverse' for a bad day as a whole.`,
  });
}
