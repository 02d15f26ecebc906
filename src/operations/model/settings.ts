import { z } from 'zod';
import type { RuleSettings } from '../../model/estimate.ts';

/** Flags that the verbs about rules share. */
export const ruleFlags = {
  directory: z.string().optional().describe('folder of the two documents (default: the pipeline folder)'),
  profile: z.enum(['microsoft', 'seed']).default('microsoft').describe('whose RU figures are used'),
  price: z.number().positive().optional().describe('price of 100 RU/s for one hour, in any currency'),
};

export const ruleSettings = ({
  profile,
  price,
}: {
  profile: RuleSettings['profile'];
  price?: number | undefined;
}): Partial<RuleSettings> => ({
  profile,
  ...(price !== undefined && { price }),
});
