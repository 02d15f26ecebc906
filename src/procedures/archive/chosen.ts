// Which archived documents a verb works on: by tenant and months, or by key and ids.
import { type KeyLevel, isKeyLevel } from '../../base/key-level.ts';
import { z } from 'zod';
import { unknownOf } from '../../archive/restore.ts';
import type { Archive, Selection } from '../../archive/types.ts';
import type { LoadedPipeline } from '../../runtime/workspace.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { operationsError } from '../errors.ts';
import { assertArchivedTenant } from './of-tenant.ts';
import type { OpenedArchive } from './open.ts';

const period = z
  .string()
  .regex(/^\d{4}(-(0[1-9]|1[0-2]))?$/, 'must be a month such as 2001-01, or a year')
  .optional();

const monthsInput = {
  from: period.describe('only documents from this month or year on, such as 2001-01'),
  to: period.describe('only documents up to the end of this month or year'),
};

export const archiveSelectionInput = {
  name: z.string().optional().describe('one archive (default: all)'),
  tenant: z.string().optional().describe('only this tenant’s documents'),
  ...monthsInput,
  key: z
    .string()
    .optional()
    .describe('only documents of one partition key, as JSON, such as \'["store-1","order-7"]\'; needs --id'),
  id: z.array(z.string().min(1)).min(1).optional().describe('only the document with this id; repeatable; needs --key'),
};

export type SelectionInput = Partial<z.output<z.ZodObject<typeof archiveSelectionInput>>>;

export interface Chosen {
  readonly archive: OpenedArchive;
  readonly selection: Selection;
}

/** @throws UsageError `input-invalid` */
export const chooseDocuments = (given: SelectionInput, archives: readonly OpenedArchive[]): Chosen[] =>
  archives.map((archive) => ({ archive, selection: selectionOf(given, archive) }));

/** @throws UsageError `not-found` */
export async function assertKnown(
  chosen: readonly Chosen[],
  { tenant }: SelectionInput,
  { loaded, signal }: { readonly loaded: Pick<LoadedPipeline, 'pipeline'>; readonly signal: AbortSignal },
): Promise<void> {
  const archives = chosen.map(({ archive }) => archive);
  await assertArchivedTenant(archives, tenant);
  // Over shards, another place may have archived them.
  if (!loaded.pipeline.part) await assertDocuments(chosen, signal);
}

/** Each named document must be known to one of the archives. */
async function assertDocuments(chosen: readonly Chosen[], signal: AbortSignal): Promise<void> {
  let unknown: Awaited<ReturnType<typeof unknownOf>> | undefined;
  for (const { archive, selection } of chosen)
    if ('documents' in selection) {
      const here = await unknownOf(archive, selection.documents, signal);
      unknown = unknown?.filter(({ id }) => here.some((other) => other.id === id)) ?? here;
    }
  const [first] = unknown ?? [];
  if (!first) return;
  const ids = unknown?.map(({ id }) => id).join(', ');
  throw sharedError('not-found', `The archive never had a document ${JSON.stringify(first.key)} ${ids}`, {
    hint: 'Give the key and the id that the document has in its container. `millrace archive list` shows the archive by month.',
  });
}

function selectionOf(given: SelectionInput, { source }: Archive): Selection {
  const { tenant, from, to, key, id } = given;
  if ((key === undefined) !== (id === undefined)) {
    throw operationsError('input-invalid', '--key and --id name documents together, and one of them is missing', {
      hint: `Give both: --key '${JSON.stringify(source.keyPaths.map((path) => path.join('.')))}' --id ID.`,
    });
  }
  if (key !== undefined && id !== undefined) {
    const chosen = { '--tenant': tenant, '--from': from, '--to': to };
    const [other] = Object.entries(chosen).flatMap(([name, value]) => (value === undefined ? [] : name));
    if (other !== undefined)
      throw operationsError('input-invalid', `--key and --id name documents, and ${other} chooses among all`, {
        hint: 'Give one of both.',
      });
    const named = keyOf(key, source);
    return { documents: [...new Set(id)].map((one) => ({ key: named, id: one })) };
  }
  // A month lies in its year, so the shorter text decides.
  if (from !== undefined && to !== undefined && from.slice(0, to.length) > to)
    throw operationsError('input-invalid', `--from ${from} is after --to ${to}, so no month lies between them`, {
      hint: 'Give the earlier one as --from.',
    });
  return {
    ...(tenant === undefined ? {} : { tenant }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
}

function keyOf(text: string, { name, keyPaths }: Archive['source']): KeyLevel[] {
  const found = z.array(z.custom<KeyLevel>(isKeyLevel)).length(keyPaths.length).safeParse(parseJson(text));
  if (found.success) return found.data;
  const paths = keyPaths.map((path) => `/${path.join('/')}`);
  throw operationsError('input-invalid', `--key ${text} is not a partition key of ${name}`, {
    hint: `Write it as a JSON array with a value for each of ${paths.join(', ')}.`,
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
