import { z } from 'zod';
import { optional } from '../flags.ts';
import { suggestion } from '../../base/near.ts';
import { resourceName } from '../../base/settings.ts';
import type { LoadedPipeline } from '../../runtime/workspace.ts';
import { audited } from '../../procedures/journal/runs.ts';
import { operationsError } from '../../procedures/errors.ts';
import { type Enqueued, backgroundInput, enqueue, isEnqueued, sayEnqueued } from '../jobs/background.ts';
import { type Context, partsOf } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../../procedures/table.ts';
import { backfill } from '../../procedures/backfill/backfill.ts';
import type { BackfillOptions, Backfilled } from '../../procedures/backfill/options.ts';
import { planBackfill } from '../../procedures/backfill/plan.ts';

const input = z.object({
  container: resourceName('A container name').describe('the container whose documents lack the tenant field'),
  from: optional(
    'the field that has the tenant, with dots for deeper ones: FIELD of the same document; with --by, CONTAINER.FIELD of another one',
  ),
  by: optional(
    'how to find the other document: the field that has its id, or pairs such as id=customerId,region=country for its id and its partition key (default for a key field: the field of the same name)',
  ),
  value: optional('the one tenant of all these documents, as text'),
  type: optional('only documents of this type'),
  patience: z
    .number()
    .min(0)
    .optional()
    .describe('seconds to wait for hosts that have not processed a document’s last change yet (default: 60)'),
  ...backgroundInput,
});
type BackfillInput = z.output<typeof input>;

async function optionsOf(asked: BackfillInput, context: Context): Promise<BackfillOptions> {
  const { container, from, by, value, type, patience } = asked;
  const parts = await partsOf(context);
  assertType(parts.loaded, container, type);
  const { actor, clock } = context;
  return {
    ...parts,
    container,
    type,
    values: { from, by, value },
    actor,
    patienceMs: patience === undefined ? undefined : patience * 1_000,
    ...(clock && { clock }),
  };
}

/** @throws UsageError `input-invalid` if the data-model document designs the container without the type */
function assertType({ model }: LoadedPipeline, container: string, type: string | undefined): void {
  const known = model.containers.find(({ name }) => name === container)?.types.map(({ name }) => name);
  if (type === undefined || !known || known.includes(type)) return;
  throw operationsError('input-invalid', `${container} has no type ${type}${suggestion(type, known)}`, {
    hint: `Name one of: ${known.join(', ')}.`,
  });
}

export const tenantsBackfill = defineOperation({
  shards: 'one',
  name: 'tenants backfill',
  summary: 'Write the tenant field into documents that lack it, while applications write; resumable',
  examples: [
    'millrace tenants backfill --container Orders --from shop.storeId --dry-run',
    'millrace tenants backfill --container Orders --from shop.storeId --yes',
    'millrace tenants backfill --container Orders --from Customers.storeId --by customerId --yes',
    'millrace tenants backfill --container Orders --from Customers.storeId --by id=customerId,region=country --yes',
    'millrace tenants backfill --container Orders --type order --value store-1 --yes',
  ],
  effect: 'destroys',
  bulk: true,
  input,
  plan: async (asked, context) => planBackfill(await optionsOf(asked, context)),
  run: async (asked, context): Promise<Backfilled | Enqueued> => {
    const options = await optionsOf(asked, context);
    if (asked.background) return enqueue('tenants backfill', asked, context);
    const progress = (written: number): void => context.screen.progress('written', written);
    return audited(context, 'tenants backfill', asked, () => backfill({ ...options, progress }));
  },
  format: (result) => {
    if (isEnqueued(result)) return sayEnqueued(result);
    const { container, field, written, left, examples, ru } = result;
    const cost = (ru.reading + ru.writing).toLocaleString('en-US');
    const more = left - examples.length;
    return [
      `${container}: ${field} written into ${plural(written, 'document')}, for ${cost} RU.`,
      ...(left === 0 ? [] : [`${plural(left, 'document')} still without ${field}:`]),
      ...examples.map(({ key, id, why }) => `  ${id} (key ${JSON.stringify(key)}): ${why}`),
      ...(more > 0 ? [`  … and ${more.toLocaleString('en-US')} more`] : []),
    ].join('\n');
  },
  ok: (result) => isEnqueued(result) || result.left === 0,
});
