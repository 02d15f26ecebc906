import { z } from 'zod';
import { countLetters } from '../../engine/dead-letters/dead-letter-counts.ts';
import type { DeadLetter } from '../../engine/dead-letters/dead-letters.ts';
import {
  type LetterFilter,
  type LetterGroup,
  groupLetters,
  listLetters,
} from '../../engine/dead-letters/letter-queries.ts';
import { suggestion } from '../../base/near.ts';
import { chooseDeclared, splitId } from '../projections/choose.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { operationsError } from '../errors.ts';
import { askedTenant, tenantInput } from '../tenants/tenant-flag.ts';

export const onlyInput = z.string().optional().describe('one projection, as name or name@version');

/** The flags that select dead letters by what they say. */
export const filterInput = {
  only: onlyInput,
  code: z.string().optional().describe('one reason, such as projection-threw'),
  key: z.string().optional().describe('full partition key of the source document as JSON, such as \'["store-1"]\''),
  ...tenantInput,
  since: z.iso
    .datetime({ offset: true })
    .optional()
    .describe('first parked at this time or later, such as 2026-03-01T03:10:00Z'),
};

/** The flags that select dead letters. */
export const selectionInput = {
  id: z.string().optional().describe('id of the source document (default: all dead letters)'),
  ...filterInput,
};

/** An id alone names no key: another tenant's document may have the same. */
export const namesLetterKeys = ({ key, tenant }: LetterSelection): boolean => key !== undefined || tenant !== undefined;

export interface LetterSelection {
  readonly id?: string | undefined;
  readonly only?: string | undefined;
  readonly code?: string | undefined;
  /** JSON. */
  readonly key?: string | undefined;
  readonly since?: string | undefined;
  readonly tenant?: string | undefined;
}

/** A workspace. The pipeline is loaded for a tenant, and if no dead letter matches, to see whether the projection exists. */
export interface LetterSources {
  services(): Promise<Services>;
  pipeline(): Promise<Pick<LoadedPipeline, 'pipeline' | 'model'>>;
}

/**
 * The dead letters of a selection. A declared projection may have none; a projection that was removed from the pipeline
 * may still have some.
 * @throws UsageError `not-found`, `input-invalid`, `container-missing`
 */
export async function selectLetters(from: LetterSources, asked: LetterSelection): Promise<DeadLetter[]> {
  const { state } = (await from.services()).place;
  const ofTenant = await tenantFilter(from, asked);
  const found = (await listLetters(state, filterOf(asked))).filter(ofTenant);
  const { id, only, code, key, since, tenant } = asked;
  if (found.length > 0) return found;
  await refuseUnknown(from, only);
  if (id === undefined) return found;
  const known = (await listLetters(state, filterOf({ only }))).map((letter) => letter.id);
  const filtered = [code, key, since, tenant].some((filter) => filter !== undefined);
  const hint = known.includes(id) ? '' : suggestion(id, known);
  throw sharedError('not-found', `No dead letter${filtered ? ' of the selection' : ''} has the id ${id}${hint}`, {
    hint: 'Run `millrace dead-letters list` to see the ids.',
  });
}

/** The dead letters of a selection, by their codes. @throws as `selectLetters` */
export async function selectGroups(
  from: LetterSources,
  asked: LetterSelection,
  signal: AbortSignal,
): Promise<LetterGroup[]> {
  const { state } = (await from.services()).place;
  const found = await groupLetters(state, filterOf(asked), await tenantFilter(from, asked), signal);
  if (found.length === 0) await refuseUnknown(from, asked.only);
  return found;
}

/** @throws UsageError `tenant-undeclared`, `input-invalid` */
async function tenantFilter(
  from: LetterSources,
  { tenant }: LetterSelection,
): Promise<(letter: DeadLetter) => boolean> {
  if (tenant === undefined) return () => true;
  const asked = askedTenant(await from.pipeline(), tenant);
  return (letter) => letter.tenant === asked.tenant;
}

/** A projection without dead letters must be declared. */
async function refuseUnknown(from: LetterSources, only: string | undefined): Promise<void> {
  if (only === undefined) return;
  const { state } = (await from.services()).place;
  if ((await countLetters(state)).some(({ projection }) => projection === only || splitId(projection).name === only))
    return;
  chooseDeclared((await from.pipeline()).pipeline, only);
}

const filterOf = ({ id, only, code, key, since }: LetterSelection): LetterFilter => ({
  projection: only,
  id,
  code,
  key: key === undefined ? undefined : parsedKey(key),
  since: since === undefined ? undefined : new Date(since).toISOString(),
});

/** @throws UsageError `input-invalid` */
export function parsedKey(text: string): readonly unknown[] {
  try {
    const key: unknown = JSON.parse(text);
    if (Array.isArray(key)) return key;
  } catch {
    // Reported below.
  }
  throw operationsError('input-invalid', `--key: ${text} is not a partition key`, {
    hint: 'Write it as a JSON array with a value for each level: --key \'["store-1"]\'.',
  });
}
