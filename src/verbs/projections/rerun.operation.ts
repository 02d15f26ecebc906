import { type KeyLevel, isKeyLevel } from '../../base/key-level.ts';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { optional, required } from '../flags.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { messageOf } from '../../base/errors.ts';
import { type ReactSpec, projectionId } from '../../pipeline/specs.ts';
import { tenantRuleOf } from '../../pipeline/tenant.ts';
import type { Model } from '../../model/model.ts';
import type { LoadedPipeline } from '../../runtime/workspace.ts';
import { audited } from '../../procedures/journal/runs.ts';
import { partsOf } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { operationsError } from '../../procedures/errors.ts';
import { plural, textTable } from '../../procedures/table.ts';
import { chooseReaction } from '../../procedures/projections/choose.ts';
import { RU_A_READ } from '../../procedures/projections/estimate.ts';
import { askedTenant, tenantInput } from '../../procedures/tenants/tenant-flag.ts';
import { type ListedEffect, rerun } from '../../procedures/replay/rerun.ts';

const input = z.object({
  name: required('the reaction, as name or name@version'),
  key: optional('partition key of the documents as JSON, such as \'["store-1"]\''),
  ids: optional('ids of documents of --key, separated by commas'),
  input: optional(
    'instead of --key and --ids: a file with {"key": ["store-1"], "id": "o-1"} on each line; - for standard input',
  ),
  ...tenantInput,
  repeat: z
    .int()
    .min(1)
    .default(1)
    .describe(
      'which repetition it is, part of the key that the receiver gets; after an interruption give the same again',
    ),
});
type ReactInput = z.output<typeof input>;

const PRINTED = 20;

export const projectionsRerun = defineOperation({
  name: 'projections rerun',
  summary: 'Run a reaction again for listed documents, each as it is now',
  examples: [
    `millrace projections rerun shipped-mail --key '["store-1"]' --ids order-1,order-2 --dry-run`,
    'millrace projections rerun shipped-mail --input orders.jsonl --yes',
    'millrace projections rerun shipped-mail --input orders.jsonl --repeat 2 --yes',
    'millrace projections rerun shipped-mail --input orders.jsonl --tenant store-1 --yes',
  ],
  effect: 'destroys',
  bulk: true,
  argument: 'name',
  input,
  plan: async (asked, { workspace }) => {
    const loaded = await workspace.pipeline();
    const { pipeline, model } = loaded;
    const spec = chooseReaction(pipeline, asked.name);
    assertTenant(loaded, spec, asked.tenant);
    // Standard input can be read once, so a dry run reads it as the run does.
    const documents = await listed(asked, spec, model);
    return {
      steps: [
        `read ${plural(documents.length, 'document')} of ${spec.from.container}, and run ${projectionId(spec)} for each that it is meant for${asked.tenant === undefined ? '' : `, but only for those of tenant ${asked.tenant}`}`,
      ],
      ru: Math.ceil(documents.length * RU_A_READ * 10),
    };
  },
  run: async (asked, context) => {
    const parts = await partsOf(context);
    const { pipeline, model } = parts.loaded;
    const spec = chooseReaction(pipeline, asked.name);
    const tenant = assertTenant(parts.loaded, spec, asked.tenant);
    const documents = await listed(asked, spec, model);
    return audited(context, 'projections rerun', { ...asked, documents: documents.length }, () =>
      rerun({
        ...parts,
        spec,
        documents,
        repeat: asked.repeat,
        tenant,
        progress: (done, of) => context.screen.progress(`${projectionId(spec)}: run`, done, of),
      }),
    );
  },
  format: (results) => {
    const count = (outcome: string): number => results.filter((one) => one.outcome === outcome).length;
    const others = results.filter(({ outcome }) => outcome !== 'ran');
    return [
      ...(others.length === 0
        ? []
        : [
            textTable(
              ['key', 'id', 'result', 'message'],
              others
                .slice(0, PRINTED)
                .map(({ key, id, outcome, message }) => [JSON.stringify(key), id, outcome, message ?? '']),
            ),
          ]),
      `${plural(results.length, 'document')}: ${count('ran')} run, ${count('left out')} left out, ${count('missing')} missing, ${count('failed')} failed.`,
    ].join('\n');
  },
  ok: (results) => results.every(({ outcome }) => outcome === 'ran' || outcome === 'left out'),
});

/** The tenant as changes name it. @throws UsageError `tenant-undeclared`, `input-invalid`, `not-found` */
function assertTenant(
  loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  { from: { container } }: ReactSpec,
  given: string | undefined,
): string | undefined {
  if (given === undefined) return undefined;
  const { tenant } = askedTenant(loaded, given);
  if (tenantRuleOf(loaded.pipeline, loaded.model, container)) return tenant;
  throw sharedError('not-found', `--tenant ${given}: the documents of ${container} belong to no tenant`, {
    hint: 'Leave out --tenant, and list the documents that are meant.',
  });
}

/** The documents that the flags list. */
async function listed(asked: ReactInput, spec: ReactSpec, { containers }: Model): Promise<ListedEffect[]> {
  const levels = containers.find(({ name }) => name === spec.from.container)?.partitionKey ?? [];
  const line = z.object({
    key: z.array(z.custom<KeyLevel>(isKeyLevel)).length(levels.length),
    id: z.string().min(1),
  });
  const accept = (value: () => unknown, where: string): ListedEffect => {
    const found = line.safeParse(parsed(value));
    if (found.success) return found.data;
    throw operationsError('input-invalid', `${where} doesn't name a document of ${spec.from.container}`, {
      hint: `Give an id, and the key as a JSON array with a value for each of ${levels.join(', ')}.`,
    });
  };
  if (asked.input !== undefined) {
    if (asked.key !== undefined || asked.ids !== undefined) throw together();
    const lines = (await contentOf(asked.input)).split('\n');
    return lines.flatMap((given, index) =>
      given.trim() === '' ? [] : [accept(() => JSON.parse(given), `Line ${index + 1} of --input`)],
    );
  }
  const { key, ids } = asked;
  if (key === undefined || ids === undefined) throw together();
  return ids
    .split(',')
    .map((id) => accept(() => ({ key: JSON.parse(key) as unknown, id: id.trim() }), `--key ${key} --ids ${ids}`));
}

const together = () =>
  operationsError('input-invalid', 'The documents are not listed', {
    hint: 'Give --key \'["store-1"]\' --ids order-1,order-2, or a file with --input alone.',
  });

function parsed(value: () => unknown): unknown {
  try {
    return value();
  } catch {
    return undefined;
  }
}

async function contentOf(file: string): Promise<string> {
  if (file === '-') return text(process.stdin);
  return readFile(file, 'utf8').catch((cause: unknown) => {
    throw operationsError('input-invalid', `--input ${file} can't be read: ${messageOf(cause)}`, { cause });
  });
}
