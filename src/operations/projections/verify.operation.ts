import { z } from 'zod';
import { UsageError } from '../../base/errors.ts';
import { projectionId } from '../../definition/specs.ts';
import { Views } from '../../engine/views/views.ts';
import { audited } from '../audit/record.ts';
import { type Enqueued, backgroundInput, enqueue, isEnqueued, sayEnqueued } from '../jobs/background.ts';
import { type Context, defineOperation } from '../operation.ts';
import { secondsToRead } from '../seconds.ts';
import { plural } from '../table.ts';
import { chooseProjection } from './choose.ts';
import { RU_A_READ, estimate } from './estimate.ts';
import { othersOf } from './verify-others.ts';
import { type Verification, currentOf, formatVerification, verify } from './verify.ts';

const verifyWith = async (
  { name: only, key, repair: mend }: { name?: string | undefined; key?: readonly unknown[]; repair: boolean },
  { workspace, signal, screen }: Context,
): Promise<Verification> =>
  verify(await workspace.pipeline(), await workspace.services(), {
    signal,
    screen,
    only,
    ...(key === undefined ? {} : { key }),
    settings: workspace.settings(),
    repair: mend,
  });

export const projectionsVerify = defineOperation({
  noun: 'projections',
  verb: 'verify',
  summary: 'Work projections out anew and compare them with what is stored, document by document',
  examples: [
    'millrace projections verify',
    'millrace projections verify route-totals --json',
    'millrace projections verify route-totals --repair',
  ],
  effect: 'changes',
  argument: 'name',
  input: z.object({
    name: z.string().optional().describe('one projection; all of them if absent. Live hosts may go on'),
    repair: z.boolean().default(false).describe('put right what differs'),
    ...backgroundInput,
  }),
  plan: async ({ name, repair: mend }, { workspace }) => {
    const loaded = await workspace.pipeline();
    const services = await workspace.services();
    const views = await new Views(services.state, loaded.pipeline.name).read();
    const kept = currentOf(loaded.pipeline.projections, views);
    const others = othersOf(loaded.pipeline).filter(
      (spec) => name === undefined || spec.name === name || projectionId(spec) === name,
    );
    const one =
      name === undefined || others.length > 0
        ? undefined
        : (kept.find((of) => of.name === name) ?? chooseProjection(loaded.pipeline, name));
    const embeds = others.filter((spec) => spec.kind === 'embed');
    let documents = 0;
    for (const spec of [...(one ? [one] : name === undefined ? kept : []), ...embeds])
      documents += 2 * (await estimate(spec, services, loaded.pipeline.sources)).documents;
    return {
      steps: [
        `read about ${plural(documents, 'document')} of sources and sinks and compare them`,
        ...(mend ? ['set back or remove what differs, and apply the changes it is derived from again'] : []),
      ],
      ru: Math.ceil(documents * RU_A_READ),
      seconds: secondsToRead(documents),
    };
  },
  run: async (asked, context): Promise<Verification | Enqueued> => {
    if (asked.background) return enqueue('projections verify', asked, context);
    if (!asked.repair) return verifyWith(asked, context);
    return audited(context, 'projections verify --repair', asked, () => verifyWith(asked, context));
  },
  format: (result) => (isEnqueued(result) ? sayEnqueued(result) : formatVerification(result)),
  ok: (result) => isEnqueued(result) || result.different === 0,
});

export const projectionsRepair = defineOperation({
  noun: 'projections',
  verb: 'repair',
  summary: 'Work out anew what a projection has under one partition key, and put right what differs',
  examples: [
    `millrace projections repair store-days --key '["store-1"]'`,
    `millrace projections repair store-days --key '["store-1"]' --dry-run`,
  ],
  effect: 'changes',
  argument: 'name',
  input: z.object({
    name: z.string().describe('the projection'),
    key: z.string().describe('partition key of its sink as JSON, such as \'["store-1"]\''),
  }),
  plan: async ({ name, key }, context) => {
    const { differences } = await verifyWith({ name, key: keyOf(key), repair: false }, context);
    return {
      steps: differences.map(({ kind, container, document }) => `put right ${container} ${document} (${kind})`),
      ru: 0,
    };
  },
  run: async ({ name, key }, context) =>
    audited(context, 'projections repair', { name, key }, () =>
      verifyWith({ name, key: keyOf(key), repair: true }, context),
    ),
  format: formatVerification,
  ok: ({ different }) => different === 0,
});

function keyOf(text: string): unknown[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    parsed = undefined;
  }
  if (Array.isArray(parsed)) return parsed;
  throw new UsageError('input-invalid', `--key ${text} is no partition key`, {
    mend: 'Write it as a JSON array with a value for each level: --key \'["store-1"]\'.',
  });
}
