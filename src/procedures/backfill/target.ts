import { startsNow } from '../../pipeline/kind-facts.ts';
import type { Container } from '@azure/cosmos';
import { throwMissing } from '../../cosmos/container-missing.ts';
import { type KeyPath, splitPath } from '../../cosmos/paths.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { feedReaders, sourcesOf } from '../../pipeline/pipeline.ts';
import type { DerivedSpec, Pipeline } from '../../pipeline/specs.ts';
import type { TenantRule } from '../../pipeline/tenant.ts';
import { type Model, containerOf } from '../../model/model.ts';
import type { Parts } from '../../runtime/open-feed.ts';
import { declaredTenant } from '../tenants/tenant-flag.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { operationsError } from '../errors.ts';
import { byLookup, lookupOf } from './lookup.ts';
import { type BackfillValues, type ValuesInput, assertOne, fromField, sameValue } from './values.ts';

/** A container whose documents are backfilled. */
export interface BackfillTarget {
  readonly rid: string;
  readonly keyPaths: readonly KeyPath[];
  /** Seconds; undefined: documents don't expire. */
  readonly defaultTtl: number | undefined;
}

/** The projections that make events of a container's changes. */
export const eventReaders = (pipeline: Pipeline, container: string): DerivedSpec[] =>
  feedReaders(pipeline).filter((spec) => startsNow(spec) && sourcesOf(spec).some((of) => of.container === container));

/** @throws UsageError `not-found`, `container-missing`, `backfill-key` */
export async function openTarget(container: Container, { field }: TenantRule, model: Model): Promise<BackfillTarget> {
  if (containerOf(model, container.id)?.reference)
    throw sharedError('not-found', `${container.id} is reference data, which belongs to no tenant`, {
      hint: `If its documents belong to tenants, correct the description of ${container.id} in the data-model document.`,
    });
  const read = withRetry(() => container.read(), { reads: true });
  const { resource } = await read.catch(throwMissing(container));
  const keyPaths = (resource?.partitionKey?.paths ?? []).map(splitPath);
  if (keyPaths.some(([first]) => first === field))
    throw operationsError('backfill-key', `${field} is part of the partition key of ${container.id}`, {
      hint: `A key can't be changed in place. Move the documents: \`millrace migrate ${container.id} --into TARGET\`.`,
    });
  return { rid: resource?._rid ?? '', keyPaths, defaultTtl: resource?.defaultTtl };
}

/** @throws UsageError `input-invalid`, `container-missing` */
export async function openValues(
  input: ValuesInput,
  { services, loaded }: Pick<Parts, 'services' | 'loaded'>,
): Promise<BackfillValues> {
  assertOne(input);
  const rule = declaredTenant(loaded);
  const lookup = lookupOf(input);
  if (input.value !== undefined) return sameValue(input.value, rule);
  if (!lookup) return fromField(input.from ?? '', rule);
  const other = services.place.database.container(lookup.container);
  const { resource } = await withRetry(() => other.read(), { reads: true }).catch(throwMissing(other));
  return byLookup(lookup, rule, (resource?.partitionKey?.paths ?? []).map(splitPath));
}
