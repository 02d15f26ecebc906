import type { ContainerClient, StoragePipelineOptions } from '@azure/storage-blob';
import { type Settings, requireStorage } from '../base/settings.ts';
import { UsageError } from '../base/errors.ts';

export interface BlobContainerOptions {
  /** Default: the archive's. */
  readonly container?: string;
  /** How often the client sends a request. Default once: the archive tries again by itself, as it knows what may be sent twice. */
  readonly attempts?: number;
}

/**
 * A blob container of the settings, without asking whether it is there.
 * @throws UsageError `setting-missing`, `setting-invalid`
 */
export async function blobContainer(
  settings: Pick<Settings, 'storage'>,
  options: BlobContainerOptions = {},
): Promise<ContainerClient> {
  const { account, container: archive } = requireStorage(settings);
  const { container = archive, attempts = 1 } = options;
  const pipeline: StoragePipelineOptions = { retryOptions: { maxTries: attempts } };
  // Imported here and not above: only a pipeline with an archive needs the client.
  const { BlobServiceClient } = await import('@azure/storage-blob');
  if (account.kind === 'identity') {
    const { DefaultAzureCredential } = await import('@azure/identity');
    return new BlobServiceClient(account.endpoint, new DefaultAzureCredential(), pipeline).getContainerClient(
      container,
    );
  }
  try {
    return BlobServiceClient.fromConnectionString(account.connectionString, pipeline).getContainerClient(container);
  } catch (cause) {
    // Without the client's message, which may repeat the key.
    throw new UsageError('setting-invalid', 'The setting STORAGE: is no connection string that the client takes', {
      cause,
      mend: 'Copy it from the Azure portal: storage account → Access keys → Connection string.',
    });
  }
}
