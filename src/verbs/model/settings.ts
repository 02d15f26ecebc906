import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { z } from 'zod';
import { sharedError } from '../../base/shared-errors.ts';
import { messageOf } from '../../base/errors.ts';
import { DEFAULTS, type RuleSettings } from '../../model/estimate.ts';
import { duration } from '../../model/reader/text/quantity.ts';
import { suggestion } from '../../base/near.ts';

const profile = z.enum(['microsoft', 'seed']);
const price = z.number().positive();

/** The argument of the verbs about a model; without it they use `--pipeline`. */
export const pipelineDirectory = z
  .string()
  .optional()
  .describe('folder of the two documents, or a Markdown file (default: the pipeline folder)');

/** Flags that the verbs about rules share. */
export const ruleFlags = {
  directory: pipelineDirectory,
  profile: profile.default('microsoft').describe('whose RU figures to use'),
  price: price.optional().describe('price of 100 RU/s for one hour, in your currency'),
};

/** A team's settings for the rules, in a file beside its documents. A flag has priority over it. */
const file = z
  .strictObject({
    profile,
    price,
    indexRu: z.number().nonnegative(),
    frequent: z.number().positive(),
    outage: z
      .string()
      .transform((text, context) => duration(text) ?? context.addIssue(`${text} is not a duration such as "7 d"`)),
    headroom: z.number().positive().max(1),
    thresholds: z
      .strictObject({ single: z.number().min(0).max(100), multi: z.number().min(0).max(100) })
      .refine(({ single, multi }) => multi <= single, 'multi is above single'),
  })
  .partial();

const settingsFlag = z
  .string()
  .optional()
  .describe('JSON file with any of: profile, price, indexRu, frequent, outage, headroom, thresholds');

/** Of verbs that also take a file of settings, in which the profile may stand. */
export const settingsFlags = {
  ...ruleFlags,
  profile: profile.optional().describe('whose RU figures to use (default: "microsoft")'),
  settings: settingsFlag,
};

/** @throws UsageError `unreadable` */
export async function ruleSettings(
  flags: { profile?: RuleSettings['profile'] | undefined; price?: number | undefined; settings?: string | undefined },
  directory: string,
): Promise<RuleSettings> {
  const { outage, ...stated } = flags.settings === undefined ? {} : await read(resolve(directory, flags.settings));
  const given = {
    ...stated,
    outageMs: typeof outage === 'number' ? outage : undefined,
    ...(flags.profile && { profile: flags.profile }),
    ...(flags.price !== undefined && { price: flags.price }),
  };
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return { ...DEFAULTS, ...set };
}

async function read(path: string): Promise<z.output<typeof file>> {
  const known = Object.keys(file.shape);
  const hint = `Write one JSON object such as {"frequent": 25, "outage": "7 d"}. The settings are: ${known.join(', ')}.`;
  try {
    return file.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch (cause) {
    const [issue] = cause instanceof z.ZodError ? cause.issues : [];
    const [odd] = issue?.code === 'unrecognized_keys' ? issue.keys : [];
    const why = issue
      ? odd === undefined
        ? `${issue.path.join('.')}: ${issue.message}`
        : `there is no setting ${odd}${suggestion(odd, known)}`
      : messageOf(cause);
    throw sharedError('unreadable', `${path}: ${why}`, { cause, hint });
  }
}
