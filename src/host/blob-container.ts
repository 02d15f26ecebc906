import type { ContainerClient, StoragePipelineOptions } from '@azure/storage-blob';
import { type Settings, requireStorage } from '../base/settings.ts';
import { UsageError } from '../base/errors.ts';

/** The archive tries again by itself: it knows what may be sent twice. */
const ONCE: StoragePipelineOptions = { retryOptions: { maxTries: 1 } };

/**
 * The blob container of the settings, without asking whether it is there.
 * @throws UsageError `setting-missing`, `setting-invalid`
 */
export async function blobContainer(settings: Settings): Promise<ContainerClient> {
  const { account, container } = requireStorage(settings);
  // Imported here and not above: only a pipeline with an archive needs the client.
  const { BlobServiceClient } = await import('@azure/storage-blob');
  if (account.kind === 'identity') {
    const { DefaultAzureCredential } = await import('@azure/identity');
    return new BlobServiceClient(account.endpoint, new DefaultAzureCredential(), ONCE).getContainerClient(container);
  }
  try {
    return BlobServiceClient.fromConnectionString(account.connectionString, ONCE).getContainerClient(container);
  } catch (cause) {
    // Without the client's message, which may repeat the key.
    throw new UsageError('setting-invalid', 'The setting STORAGE: is no connection string that the client takes', {
      cause,
      mend: 'Copy it from the Azure portal: storage account → Access keys → Connection string.',
    });
  }
}
