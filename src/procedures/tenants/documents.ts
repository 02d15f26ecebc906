import type { Container } from '@azure/cosmos';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import type { TenantRule } from '../../pipeline/tenant.ts';
import type { Container as Designed } from '../../model/model.ts';

/** A tenant as documents store it. */
interface Stored {
  readonly rule: TenantRule;
  readonly value: string | number;
}

/** Whether a tenant's documents in a container are one logical partition: its key has the tenant's field alone. */
export const isOnePartition = ({ partitionKey }: Designed, { field }: TenantRule): boolean =>
  partitionKey.length === 1 && partitionKey[0] === `/${field}`;

/** The stored documents of a tenant in one container, with Millrace's own. `most`: so many at most; absent: all. */
export function storedDocuments<T>(
  container: Container,
  designed: Designed,
  { rule, value }: Stored,
  { signal, most }: { readonly signal: AbortSignal; readonly most?: number },
): AsyncGenerator<T> {
  const query = {
    query: `SELECT ${most === undefined ? '' : `TOP ${most} `}* FROM c WHERE c[${JSON.stringify(rule.field)}] = @tenant`,
    parameters: [{ name: '@tenant', value }],
  };
  const within = isOnePartition(designed, rule) ? { partitionKey: value } : {};
  return fetchAll<T>(container, query, signal, { ...within, anyFormat: true });
}
