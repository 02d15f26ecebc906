import type { Container } from '@azure/cosmos';
import { z } from 'zod';
import { flag, named, optional } from '../flags.ts';
import { systemClock } from '../../base/clock.ts';
import { digest } from '../../base/json.ts';
import { absent, failureOf } from '../../cosmos/failure.ts';
import { audited } from '../../procedures/journal/runs.ts';
import { type Enqueued, backgroundInput, enqueue, isEnqueued, sayEnqueued } from '../jobs/background.ts';
import { operationsError } from '../../procedures/errors.ts';
import { type Context, partsOf } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { secondsToRead } from '../../procedures/seconds.ts';
import { plural } from '../../procedures/table.ts';
import { askedTenant, tenantInput } from '../../procedures/tenants/tenant-flag.ts';
import { splitId } from '../../procedures/projections/choose.ts';
import { RU_A_READ, estimate } from '../../procedures/projections/estimate.ts';
import { parsedKey } from '../../procedures/dead-letters/select.ts';
import { againstOf, verifyAgainst } from '../../procedures/verify/against.ts';
import { readDiscarded } from '../../procedures/verify/discarded.ts';
import { leftMeanwhile } from '../../procedures/verify/moved-meanwhile.ts';
import { beyondOf } from '../../procedures/verify/verify-beyond.ts';
import { othersOf } from '../../procedures/verify/verify-others.ts';
import type { LoadedPipeline } from '../../runtime/workspace.ts';
import { readOrphans } from '../../procedures/verify/orphans.ts';
import { databasesOf } from '../../procedures/projections/over-shards.ts';
import {
  type DueVerification,
  isDueRight,
  nextOf,
  readStanding,
  sayAllDue,
  verifyDue,
} from '../../procedures/verify/verify-due.ts';
import { readVerified, recordVerified, verifiedName, verifiedOf } from '../../procedures/verify/verified.ts';
import {
  type Verification,
  NOTHING,
  formatVerification,
  isVerified,
  selectionOf,
  verify,
} from '../../procedures/verify/verify.ts';

const verifyWith = async (
  { name: only, key, repair, sample, tenant }: AskedVerification,
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
  const differing = result.differences.flatMap(({ projections }) => projections);
  return {
    ...result,
    ...(moved.length > 0 && { moved }),
    ...(orphans.length > 0 && { orphans }),
    ...(await readDiscarded(services.global.state, differing, signal)),
  };
};

/** With a copy that a team keeps by hand; the result is stored for `status`. It isn't due: the last one. */
async function verifyBeside(
  { name, due, ...asked }: Input & { readonly name: string; readonly against: string },
  context: Context,
): Promise<Verification | DueVerification[]> {
  const { loaded, services, settings, signal } = await partsOf(context);
  const against = await againstOf(asked, context.workspace.directory);
  const kind = `against~${splitId(name).name}~${digest(asked.against)}` as const;
  const own = verifiedName(loaded.pipeline, services.place);
  const { clock = systemClock, screen } = context;
  const last = due ? await readVerified(services.global.state, own, kind).catch(absent) : undefined;
  const next = last ? nextOf(settings.verify?.whole, last) : null;
  if (last && (next === null || Date.parse(next) > clock.now())) return [{ kind: 'against', result: last, next }];
  return stored(context, kind, () =>
    verifyAgainst(loaded, services, name, against, { signal, screen, settings, clock }),
  );
}

interface AskedVerification {
  readonly name?: string | undefined;
  /** JSON. */
  readonly key?: string | undefined;
  readonly repair: boolean;
  readonly sample?: string | undefined;
  readonly tenant?: string | undefined;
}

/** Stores the result for `status` and `doctor`, if all projections were verified for all tenants. */
async function verifyRecorded(asked: AskedVerification, context: Context): Promise<Verification> {
  const { name, key, tenant, sample } = asked;
  const one = key !== undefined || (name !== undefined && !isOnly(await context.workspace.pipeline()));
  if (one || tenant !== undefined) return verifyWith(asked, context);
  return stored(context, sample === undefined ? 'whole' : 'sample', () => verifyWith(asked, context));
}

/** Whether one projection is all that the pipeline declares, so that its name means no less than none. */
const isOnly = ({ pipeline }: LoadedPipeline): boolean =>
  [...pipeline.projections, ...othersOf(pipeline), ...beyondOf(pipeline)].length === 1;

async function stored(
  { clock = systemClock, workspace, actor, screen }: Context,
  kind: Parameters<typeof recordVerified>[2],
  work: () => Promise<Verification>,
): Promise<Verification> {
  const began = clock.monotonic();
  const result = await work();
  if (result === NOTHING) return result;
  const [{ pipeline }, { place, global }] = await Promise.all([workspace.pipeline(), workspace.services()]);
  const { state } = global;
  const seconds = Math.round((clock.monotonic() - began) / 1_000);
  const at = new Date(clock.now()).toISOString();
  // An identity that may only read verifies too.
  const verified = verifiedOf(result, { at, actor, seconds });
  await recordVerified(state, verifiedName(pipeline, place), kind, verified).catch((error: unknown) => {
    const { kind: failed } = failureOf(error);
    if (failed !== 'denied' && failed !== 'not-found') throw error;
    screen.line(
      failed === 'denied'
        ? `\`status\` will not show this result: this identity may not write to ${state.id}.`
        : noState(state),
    );
  });
  return result;
}

const noState = ({ id }: Pick<Container, 'id'>): string =>
  `\`status\` will not show this result: there is no container ${id}. \`millrace model apply\` creates it.`;

/** @throws UsageError `input-invalid` */
function assertFits({ name, key, repair, sample, tenant, due, within, background, ...beside }: Input): void {
  const { against, map, ignore } = beside;
  if (against !== undefined) {
    const others = repair || background || [key, sample, tenant, within].some((given) => given !== undefined);
    if (name !== undefined && !others) return;
    throw operationsError(
      'input-invalid',
      '--against compares one projection whole, and takes --map, --ignore and --due',
      {
        hint: 'Run `millrace projections verify NAME --against CONTAINER/TYPE`.',
      },
    );
  }
  if (map !== undefined || ignore !== undefined)
    throw operationsError('input-invalid', '--map and --ignore belong to --against', {
      hint: 'Name the other copy: `--against CONTAINER/TYPE`.',
    });
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

const input = z.object({
  name: optional('one projection (default: all); live hosts may keep running'),
  key: optional('of one projection: only this partition key of its sink, as JSON such as \'["store-1"]\''),
  repair: flag('correct the documents that differ'),
  sample: z
    .string()
    .regex(
      /^([1-9]\d{0,5}|(100|\d{0,1}[1-9](\.\d+)?|[1-9]0(\.\d+)?|0\.\d*[1-9])%)$/,
      'must be a number such as 1000, or a share such as 1%',
    )
    .optional()
    .describe('compare only so many documents of each type, drawn by chance: 1000 or 1%'),
  ...tenantInput,
  against: z
    .string()
    .regex(/^[^/]+(\/[^/]+)?$/, 'must be CONTAINER or CONTAINER/TYPE')
    .optional()
    .describe('of one projection: compare it with a copy that you keep by hand, as CONTAINER or CONTAINER/TYPE'),
  map: named('of --against: JSON file with our field for each of theirs, as {"amount": "total"}'),
  ignore: named('of --against: fields that are not compared, ours or theirs, as updatedAt,total.currency'),
  due: flag('do what VERIFY_SAMPLE and VERIFY_FULL say is due, and nothing else; hosts do it by themselves'),
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
  name: 'projections verify',
  summary: 'Verify projections: recompute them and compare each document with the stored one',
  examples: [
    'millrace projections verify',
    'millrace projections verify route-totals --json',
    'millrace projections verify route-totals --repair',
    'millrace projections verify --sample 1000',
    'millrace projections verify --tenant store-1 --repair',
    `millrace projections verify store-days --key '["store-1"]' --repair --dry-run`,
    'millrace projections verify --due --within 240 --env production',
    'millrace projections verify route-totals --against LegacyTotals/total --map fields.json --ignore updatedAt',
  ],
  shards: 'every',
  // A repair in the global place corrects what shards read.
  sideBySide: ({ repair }) => repair !== true,
  effect: 'changes',
  bulk: true,
  argument: 'name',
  input,
  plan: async (asked, context) => {
    assertFits(asked);
    const { workspace } = context;
    const { name, key, repair, sample, tenant, due, against } = asked;
    if (against !== undefined) {
      const { state } = (await workspace.services()).global;
      const steps = [`recompute ${name} and compare it with the documents of ${against}`];
      return { steps: (await state.read().catch(absent)) ? steps : [...steps, noState(state)], ru: 0 };
    }
    if (due) return { steps: ['do the verifications that are due'], ru: 0 };
    if (key !== undefined && repair) {
      const { differences } = await verifyWith({ ...asked, repair: false }, context);
      const steps = differences.map((of) => `correct ${of.container} ${of.document} (${of.kind})`);
      return { steps, ru: 0 };
    }
    const services = await workspace.services();
    const selected = await selectionOf(await workspace.pipeline(), services, {
      only: name,
      sample,
      ...(key !== undefined && { key: parsedKey(key) }),
    });
    if (sample !== undefined)
      return { steps: [`draw ${sample} of the documents of each type and compare them`], ru: 0 };
    let documents = 0;
    if (selected) {
      const { loaded, chosen, others } = selected;
      const databases = await databasesOf(loaded.pipeline, services);
      for (const spec of [...chosen, ...others.filter(({ kind }) => kind === 'embed')])
        documents += 2 * (await estimate(spec, services, loaded.pipeline.sources, databases)).documents;
    }
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
    const { name, against } = asked;
    if (name !== undefined && against !== undefined) return verifyBeside({ ...asked, name, against }, context);
    if (asked.due) {
      const done = await verifyDue(context, asked.within === undefined ? undefined : 1_000 * asked.within);
      return [...done, ...(await readStanding(context, done))];
    }
    if (asked.background) return enqueue('projections verify', asked, context);
    if (!asked.repair) return verifyRecorded(asked, context);
    return audited(context, 'projections verify --repair', asked, () => verifyRecorded(asked, context));
  },
  format: (result) =>
    isEnqueued(result) ? sayEnqueued(result) : Array.isArray(result) ? sayAllDue(result) : formatVerification(result),
  ok: (result) => isEnqueued(result) || (Array.isArray(result) ? result.every(isDueRight) : isVerified(result)),
});
