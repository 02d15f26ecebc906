import { type KeyLevel } from '../base/key-level.ts';
import type { Container, CosmosClient } from '@azure/cosmos';
import { shown } from '../base/json.ts';
import { once } from '../base/once.ts';
import { throwMissing } from '../cosmos/container-missing.ts';
import { type KeyPath, splitPath } from '../cosmos/paths.ts';
import { withRetry } from '../cosmos/retry.ts';
import { sharedError } from '../base/shared-errors.ts';
import { clientError } from './errors.ts';

/** The value of the tenant field: a text that is not empty, or a finite number. 1 and "1" are two tenants. */
export type Tenant = string | number;

/** The service refuses longer values of a key (ASM-E40). */
const LONGEST_BYTES = 2_048;

/** @throws UsageError `option-invalid` */
export function checkedTenant(tenant: unknown): Tenant {
  // 0 and -0 are one key.
  if (typeof tenant === 'number' && Number.isFinite(tenant)) return tenant === 0 ? 0 : tenant;
  // Half a surrogate pair can't be sent, and the service would store something else.
  const isText = typeof tenant === 'string' && tenant !== '' && tenant.isWellFormed();
  if (isText && Buffer.byteLength(tenant) <= LONGEST_BYTES) return tenant;
  throw sharedError('option-invalid', `${shown(tenant)} can't be a tenant`, {
    hint: 'Pass the value that the tenant’s documents have in the first level of the partition key.',
  });
}

/** `/tenantId`, or `tenantId` for short. */
export const fieldPath = (field: string): KeyPath => splitPath(field.startsWith('/') ? field : `/${field}`);

export const pathText = (path: KeyPath): string => `/${path.join('/')}`;

/** `withinMs`: gives a request up after this long. Default 60 s. */
type Retry = { readonly withinMs?: number };
type Read = (container: Container, retry: Retry) => Promise<readonly KeyPath[]>;
const known = new WeakMap<CosmosClient, Map<string, Read>>();

/**
 * The levels of a container's partition key. They never change, so a client reads them once for each container.
 * @throws UsageError `container-missing`
 */
export function storedKeyPathsOf(container: Container, retry: Retry = {}): Promise<readonly KeyPath[]> {
  const { client } = container.database;
  const reads = known.get(client) ?? new Map<string, Read>();
  known.set(client, reads);
  const read = reads.get(container.url) ?? once(readKeyPaths);
  reads.set(container.url, read);
  return read(container, retry);
}

async function readKeyPaths(container: Container, retry: Retry): Promise<readonly KeyPath[]> {
  const read = () => container.read();
  const { resource } = await withRetry(read, { ...retry, reads: true }).catch(throwMissing(container));
  return (resource?.partitionKey?.paths ?? []).map(splitPath);
}

/** The levels of a container's key, of which the first is the tenant's. @throws UsageError `tenant-field-wrong` */
export async function tenantPaths(
  container: Container,
  field: string | undefined,
  retry: Retry = {},
): Promise<readonly KeyPath[]> {
  const paths = await storedKeyPathsOf(container, retry);
  const [first] = paths;
  const wanted = field === undefined ? undefined : pathText(fieldPath(field));
  if (first && (wanted === undefined || pathText(first) === wanted)) return paths;
  const is = first ? `${pathText(first)} is the first level of its key` : 'it has no key';
  throw clientError(
    'tenant-field-wrong',
    `${wanted ?? 'A tenant'} does not lead the partition key of ${container.id}: ${is}`,
  );
}

/**
 * The full key of a document. `rest`: the levels after the tenant; the last may be missing where it is the id.
 * @throws UsageError `option-invalid`
 */
export function fullKeyOf(
  { id: container }: Container,
  paths: readonly KeyPath[],
  tenant: Tenant,
  rest: readonly KeyLevel[],
  id: string,
): KeyLevel[] {
  const endsInId = pathText(paths.at(-1)!) === '/id' && rest.length === paths.length - 2;
  const key = [tenant, ...rest, ...(endsInId ? [id] : [])];
  if (key.length === paths.length) return key;
  const levels = paths.slice(1).map(pathText).join(', ') || 'no further level';
  throw sharedError(
    'option-invalid',
    `${rest.length} values for the key of ${container} after the tenant: it has ${levels}`,
  );
}
