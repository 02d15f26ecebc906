import type { BlobServiceClient, ContainerClient, StoragePipelineOptions } from '@azure/storage-blob';
import { type Settings, requireStorage } from '../base/settings.ts';
import { sharedError } from '../base/shared-errors.ts';

export interface BlobContainerOptions {
  /** Default: the archive's container. */
  readonly container?: string;
  /** How often the client may send a request. Default 1: the archive has its own retries, for the requests that allow it. */
  readonly attempts?: number;
}

/**
 * A client for a blob container of the settings. Sends no request, so the container may be missing.
 * @throws UsageError `setting-missing`, `setting-invalid`
 */
export async function blobContainer(
  settings: Pick<Settings, 'storage'>,
  options: BlobContainerOptions = {},
): Promise<ContainerClient> {
  const { container: archive } = requireStorage(settings);
  const { container = archive, attempts = 1 } = options;
  return (await blobService(settings, attempts)).getContainerClient(container);
}

/** The days for which the account keeps what was deleted. Undefined: it can't be read. */
export async function softDeleteDays(settings: Pick<Settings, 'storage'>): Promise<number | undefined> {
  const service = await blobService(settings, 3);
  try {
    const { deleteRetentionPolicy } = await service.getProperties();
    return deleteRetentionPolicy?.enabled ? (deleteRetentionPolicy.days ?? 0) : 0;
  } catch {
    // Reading it needs a right that no other work needs.
    return undefined;
  }
}

async function blobService(settings: Pick<Settings, 'storage'>, attempts: number): Promise<BlobServiceClient> {
  const { account } = requireStorage(settings);
  const pipeline: StoragePipelineOptions = { retryOptions: { maxTries: attempts } };
  // A lazy import: only a pipeline with an archive needs the client.
  const { BlobServiceClient } = await import('@azure/storage-blob');
  if (account.kind === 'identity') {
    const { DefaultAzureCredential } = await import('@azure/identity');
    return new BlobServiceClient(account.endpoint, new DefaultAzureCredential(), pipeline);
  }
  try {
    return BlobServiceClient.fromConnectionString(account.connectionString, pipeline);
  } catch (cause) {
    // The client's message may contain the key, so it is left out.
    throw sharedError('setting-invalid', 'The setting STORAGE: the Azure client can’t read this connection string', {
      cause,
      hint: 'Copy it from the Azure portal: storage account → Access keys → Connection string.',
    });
  }
}
