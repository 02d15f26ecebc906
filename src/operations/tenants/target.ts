import type { Container } from '@azure/cosmos';
import { throwMissing } from '../../cosmos/container-missing.ts';
import { type KeyPath, splitPath } from '../../cosmos/paths.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { feedReaders } from '../../definition/pipeline.ts';
import type { DerivedSpec, Pipeline } from '../../definition/specs.ts';
import type { Parts } from '../../runtime/open-feed.ts';
import { operationsError } from '../errors.ts';
import { type Values, type ValuesInput, lookupOf, openValues } from './values.ts';

/** A container whose documents are backfilled. */
export interface Target {
  readonly rid: string;
  readonly keyPaths: readonly KeyPath[];
  /** Seconds; undefined: documents don't expire. */
  readonly defaultTtl: number | undefined;
}

/** The projections that make events of a container's changes. */
export const eventReaders = (pipeline: Pipeline, container: string): DerivedSpec[] =>
  feedReaders(pipeline).filter(
    (spec) => (spec.kind === 'react' || spec.kind === 'publish') && spec.from.container === container,
  );

/** The pipeline's tenant field. @throws UsageError `tenant-undeclared` */
export function tenantField({ pipeline }: Parts['loaded']): string {
  if (pipeline.tenant !== undefined) return pipeline.tenant;
  throw operationsError('tenant-undeclared', `Pipeline ${pipeline.name} declares no tenant field`);
}

/** @throws UsageError `container-missing`, `backfill-key` */
export async function openTarget(container: Container, field: string): Promise<Target> {
  const read = withRetry(() => container.read(), { reads: true });
  const { resource } = await read.catch(throwMissing(container));
  const keyPaths = (resource?.partitionKey?.paths ?? []).map(splitPath);
  if (keyPaths.some(([first]) => first === field))
    throw operationsError('backfill-key', `${field} is part of the partition key of ${container.id}`, {
      hint: `Move the documents: create a container with the same key, give each document its ${field}, and run \`millrace containers migrate ${container.id} --into TARGET\`.`,
    });
  return { rid: resource?._rid ?? '', keyPaths, defaultTtl: resource?.defaultTtl };
}

/** @throws UsageError `input-invalid`, `container-missing` */
export async function valuesOf(
  values: ValuesInput,
  { services, loaded }: Pick<Parts, 'services' | 'loaded'>,
): Promise<Values> {
  const lookup = lookupOf(values);
  const other = lookup && services.database.container(lookup.container);
  const read = other && withRetry(() => other.read(), { reads: true }).catch(throwMissing(other));
  const paths = (await read)?.resource?.partitionKey?.paths ?? [];
  return openValues(values, tenantField(loaded), paths.map(splitPath));
}
