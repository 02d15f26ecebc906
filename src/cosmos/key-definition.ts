import type { PartitionKeyDefinition } from '@azure/cosmos';
import type { PartitionKind } from './effective-partition-key.ts';

/**
 * How a container hashes its keys: the arguments of `effectivePartitionKey`. It compares with the values of the client's
 * enumerations and doesn't load them, since the door of applications opens without that package.
 */
export const keyHash = (
  key: PartitionKeyDefinition | undefined,
): { readonly kind: PartitionKind; readonly version: 1 | 2 } => ({
  kind: String(key?.kind) === 'MultiHash' ? 'MultiHash' : 'Hash',
  version: Number(key?.version) === 2 ? 2 : 1,
});
