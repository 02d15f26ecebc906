import { type PartitionKeyDefinition, PartitionKeyDefinitionVersion, PartitionKeyKind } from '@azure/cosmos';
import type { PartitionKind } from './epk.ts';

/** How a container hashes its keys: the arguments of `effectivePartitionKey`. */
export const keyHash = (
  key: PartitionKeyDefinition | undefined,
): { readonly kind: PartitionKind; readonly version: 1 | 2 } => ({
  kind: key?.kind === PartitionKeyKind.MultiHash ? 'MultiHash' : 'Hash',
  version: key?.version === PartitionKeyDefinitionVersion.V2 ? 2 : 1,
});
