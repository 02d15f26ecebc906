import { join } from 'node:path';
import type { BlobServiceClient, ContainerClient, StoragePipelineOptions } from '@azure/storage-blob';
import { AzureBlobStore, type AzureBlobStoreOptions } from '../archive/blobs/azure-blob-store.ts';
import type { HoldingStore } from '../access/blob-store.ts';
import { FolderBlobStore } from '../archive/blobs/folder-blob-store.ts';
import { type Settings, requireStorage } from '../base/settings.ts';
import { sharedError } from '../base/shared-errors.ts';

/** A blob container of the settings. It may not exist. */
export interface BlobContainerOf {
  readonly name: string;
  open(options?: AzureBlobStoreOptions): HoldingStore;
  create(): Promise<unknown>;
}

type Storage = Pick<Settings, 'storage'>;

/**
 * A blob container of the settings; without a name, the archive's. Sends no request.
 * @throws UsageError `setting-missing`, `setting-invalid`
 */
export async function blobContainer(settings: Storage, named?: string): Promise<BlobContainerOf> {
  const { account, container: archive } = requireStorage(settings);
  const name = named ?? archive;
  if (account.kind === 'folder')
    return { name, open: () => new FolderBlobStore(join(account.path, name)), create: async () => undefined };
  // The store has its own retries, for the requests that allow it.
  const client = await containerClient(settings, name, 1);
  return {
    name,
    open: (options) => new AzureBlobStore(client, options),
    create: () => client.createIfNotExists(),
  };
}

/** The client itself. `attempts`: how often it may send a request. */
export const containerClient = async (settings: Storage, name: string, attempts: number): Promise<ContainerClient> =>
  (await blobService(settings, attempts)).getContainerClient(name);

/** The days for which the account keeps what was deleted. Undefined: it can't be read. */
export async function softDeleteDays(settings: Storage): Promise<number | undefined> {
  if (requireStorage(settings).account.kind === 'folder') return 0;
  const service = await blobService(settings, 3);
  try {
    const { deleteRetentionPolicy } = await service.getProperties();
    return deleteRetentionPolicy?.enabled ? (deleteRetentionPolicy.days ?? 0) : 0;
  } catch {
    // Reading it needs a right that no other work needs.
    return undefined;
  }
}

async function blobService(settings: Storage, attempts: number): Promise<BlobServiceClient> {
  const { account } = requireStorage(settings);
  const pipeline: StoragePipelineOptions = { retryOptions: { maxTries: attempts } };
  // A lazy import: only a pipeline with an archive needs the client.
  const { BlobServiceClient } = await import('@azure/storage-blob');
  if (account.kind === 'folder') throw new TypeError('A folder has no client');
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
