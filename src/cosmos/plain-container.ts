import type { ContainerDefinition } from '@azure/cosmos';
import { sharedError } from '../base/shared-errors.ts';

/**
 * Always Encrypted stores fields as ciphertext, which only clients with its keys can read (ASM-F31): projections would
 * derive from the ciphertext, and write what no such client can decrypt.
 * @throws UsageError `container-unfit`
 */
export function assertPlain(container: ContainerDefinition | undefined): void {
  if (container?.clientEncryptionPolicy)
    throw sharedError('container-unfit', `Container ${container.id} is Always Encrypted`);
}
