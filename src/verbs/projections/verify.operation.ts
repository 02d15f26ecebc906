import { z } from 'zod';
import { systemClock } from '../../base/clock.ts';
import { projectionId } from '../../pipeline/specs.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { Views } from '../../engine/views/views.ts';
import { audited } from '../../procedures/audit/record.ts';
import { type Enqueued, backgroundInput, enqueue, isEnqueued, sayEnqueued } from '../jobs/background.ts';
import { operationsError } from '../../procedures/errors.ts';
import { type Context, partsOf } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { secondsToRead } from '../../procedures/seconds.ts';
import { plural } from '../../procedures/table.ts';
import { askedTenant, tenantInput } from '../../procedures/tenants/tenant-flag.ts';
import { chooseProjection } from '../../procedures/projections/choose.ts';
import { RU_A_READ, estimate } from '../../procedures/projections/estimate.ts';
import { leftMeanwhile } from '../../procedures/verify/moved-meanwhile.ts';
import { readOrphans } from '../../procedures/verify/orphans.ts';
import { comparedHere, databasesOf } from '../../procedures/projections/over-shards.ts';
import { type DueVerification, isDueRight, sayAllDue, verifyDue } from '../../procedures/verify/verify-due.ts';
import { recordVerified, verifiedName, verifiedOf } from '../../procedures/verify/verified.ts';
import { othersOf } from '../../procedures/verify/verify-others.ts';
import { type Verification, currentOf, formatVerification, verify } from '../../procedures/verify/verify.ts';

const verifyWith = async (
  { name: only, key, repair, sample, tenant }: Asked,
  context: Context,
): Promise<Verification> => {
  const { loaded, services, settings, signal } = await partsOf(context);
  const ofTenant = tenant === undefined ? undefined : askedTenant(loaded, tenant);
  const left = await leftMeanwhile({ loaded, services, settings }, ofTenant, context);
  const result = await verify(loaded, services, {
    signal,
    screen: context.screen,
    only,
    ...(key !== undefined && { key: parsedKey(key) }),
    ...(ofTenant && { ofTenant }),
    settings,
    repair,
    sample,
  });
  const moved = await left();
  // The tables have the rows of all places and tenants.
  const whole = ofTenant === undefined && sample === undefined && loaded.pipeline.part?.place !== 'shard';
  const orphans = whole ? await readOrphans(loaded, () => context.workspace.tables(), { only, signal }) : [];
  return { ...result, ...(moved.length > 0 && { moved }), ...(orphans.length > 0 && { orphans }) };
};

/** Nothing differs, and all was compared that could be. */
const isRight = ({ different, behind, setAside, moved }: Verification): boolean =>
  different === 0 && !behind && setAside === undefined && moved === undefined;

interface Asked {
  readonly name?: string | undefined;
  /** JSON. */
  readonly key?: string | undefined;
  readonly repair: boolean;
  readonly sample?: string | undefined;
  readonly tenant?: string | undefined;
}

/** Stores the result for `status` and `doctor`, if all projections were verified for all tenants. */
async function verifyRecorded(asked: Asked, context: Context): Promise<Verification> {
  const { clock = systemClock, workspace, actor, screen } = context;
  const began = clock.monotonic();
  const result = await verifyWith(asked, context);
  if (asked.name !== undefined || asked.tenant !== undefined) return result;
  const [{ pipeline }, { place, global }] = await Promise.all([workspace.pipeline(), workspace.services()]);
  const { state } = global;
  const seconds = Math.round((clock.monotonic() - began) / 1_000);
  const at = new Date(clock.now()).toISOString();
  // An identity that may only read verifies too.
  const kind = asked.sample === undefined ? 'whole' : 'sample';
  const verified = verifiedOf(result, { at, actor, seconds });
  await recordVerified(state, verifiedName(pipeline, place), kind, verified).catch((error: unknown) => {
    if (failureOf(error).kind !== 'denied') throw error;
    screen.line(`\`status\` will not show this result: this identity may not write to ${state.id}.`);
  });
  return result;
}

/** @throws UsageError `input-invalid` */
function assertFits({ name, key, repair, sample, tenant, due, within, background }: Input): void {
  if (repair && sample !== undefined)
    throw operationsError('input-invalid', 'A sample can’t be repaired: other documents may be wrong too', {
      hint: 'Run `millrace projections verify --repair`, which compares all documents.',
    });
  if (key !== undefined && name === undefined)
    throw operationsError('input-invalid', '--key is of the sink of one projection, and none is named', {
      hint: 'Run `millrace projections verify NAME --key KEY`.',
    });
  if (key !== undefined) parsedKey(key);
  if (due && (repair || background || [name, key, sample, tenant].some((given) => given !== undefined)))
    throw operationsError('input-invalid', '--due does what the schedule says, and takes --within alone', {
      hint: 'Run `millrace projections verify --due`, or leave out --due.',
    });
  if (!due && within !== undefined)
    throw operationsError('input-invalid', '--within belongs to --due', { hint: 'Leave out --within.' });
}

/** @throws UsageError `input-invalid` */
function parsedKey(text: string): readonly unknown[] {
  try {
    const key: unknown = JSON.parse(text);
    if (Array.isArray(key)) return key;
  } catch {
    // Reported below.
  }
  throw operationsError('input-invalid', `--key ${text} is not a partition key`, {
    hint: 'Write it as a JSON array with a value for each level: --key \'["store-1"]\'.',
  });
}

const input = z.object({
  name: z.string().optional().describe('one projection (default: all); live hosts may keep running'),
  key: z
    .string()
    .optional()
    .describe('of one projection: only this partition key of its sink, as JSON such as \'["store-1"]\''),
  repair: z.boolean().default(false).describe('correct the documents that differ'),
  sample: z
    .string()
    .regex(
      /^([1-9]\d{0,5}|(100|\d{0,1}[1-9](\.\d+)?|[1-9]0(\.\d+)?|0\.\d*[1-9])%)$/,
      'must be a number such as 1000, or a share such as 1%',
    )
    .optional()
    .describe('compare only so many documents of each type, drawn by chance: 1000 or 1%'),
  ...tenantInput,
  due: z
    .boolean()
    .default(false)
    .describe('do what VERIFY_SAMPLE and VERIFY_FULL say is due, and nothing else; hosts do it by themselves'),
  within: z.coerce
    .number()
    .int()
    .min(1)
    .optional()
    .describe('of --due: seconds after which it ends; the next call continues (default: no limit)'),
  ...backgroundInput,
});
type Input = z.output<typeof input>;

export const projectionsVerify = defineOperation({
  noun: 'projections',
  verb: 'verify',
  summary: 'Verify projections: recompute them and compare each document with the stored one',
  examples: [
    'millrace projections verify',
    'millrace projections verify route-totals --json',
    'millrace projections verify route-totals --repair',
    'millrace projections verify --sample 1000',
    'millrace projections verify --tenant store-1 --repair',
    `millrace projections verify store-days --key '["store-1"]' --repair --dry-run`,
    'millrace projections verify --due --within 240 --env production',
  ],
  shards: 'every',
  effect: 'changes',
  bulk: true,
  argument: 'name',
  input,
  plan: async (asked, context) => {
    assertFits(asked);
    const { workspace } = context;
    const { name, key, repair, sample, tenant, due } = asked;
    if (due) return { steps: ['do the verifications that are due'], ru: 0 };
    if (key !== undefined && repair) {
      const { differences } = await verifyWith({ ...asked, repair: false }, context);
      const steps = differences.map((of) => `correct ${of.container} ${of.document} (${of.kind})`);
      return { steps, ru: 0 };
    }
    const given = await workspace.pipeline();
    const loaded = { ...given, pipeline: comparedHere(given.pipeline) };
    const services = await workspace.services();
    const databases = await databasesOf(loaded.pipeline, services);
    const views = await new Views(services.global.state, loaded.pipeline.name).read();
    const kept = currentOf(loaded.pipeline.projections, views);
    const others = othersOf(loaded.pipeline).filter(
      (spec) => name === undefined || spec.name === name || projectionId(spec) === name,
    );
    const here = ({ name: of }: { readonly name: string }): boolean => of === name?.split('@')[0];
    const elsewhere = given.pipeline.part && ![...loaded.pipeline.projections, ...others].some(here);
    const one =
      name === undefined || others.length > 0 || elsewhere
        ? undefined
        : (kept.find((of) => of.name === name) ?? chooseProjection(loaded.pipeline, name));
    const embeds = others.filter((spec) => spec.kind === 'embed');
    let documents = 0;
    for (const spec of [...(one ? [one] : name === undefined ? kept : []), ...embeds])
      documents += 2 * (await estimate(spec, services, loaded.pipeline.sources, databases)).documents;
    if (sample !== undefined)
      return { steps: [`draw ${sample} of the documents of each type and compare them`], ru: 0 };
    return {
      steps: [
        `read ${tenant === undefined ? 'about' : 'at most'} ${plural(documents, 'document')} of sources and sinks and compare them`,
        ...(repair ? ['reset or remove the documents that differ, and apply their changes again'] : []),
      ],
      ru: Math.ceil(documents * RU_A_READ),
      seconds: secondsToRead(documents),
    };
  },
  run: async (asked, context): Promise<Verification | DueVerification[] | Enqueued> => {
    assertFits(asked);
    if (asked.due) return verifyDue(context, asked.within === undefined ? undefined : 1_000 * asked.within);
    if (asked.background) return enqueue('projections verify', asked, context);
    if (!asked.repair) return verifyRecorded(asked, context);
    return audited(context, 'projections verify --repair', asked, () => verifyRecorded(asked, context));
  },
  format: (result) =>
    isEnqueued(result) ? sayEnqueued(result) : Array.isArray(result) ? sayAllDue(result) : formatVerification(result),
  ok: (result) => isEnqueued(result) || (Array.isArray(result) ? result.every(isDueRight) : isRight(result)),
});
