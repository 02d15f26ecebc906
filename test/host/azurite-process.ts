// Run as its own process by the storage test: keeps a blob in the folder given, and tells when it is there.
import { BlobServiceClient } from '@azure/storage-blob';
import { startAzurite } from '../../src/host/dev/storage.ts';

const azurite = await startAzurite({ folder: process.argv[2]! });
const container = BlobServiceClient.fromConnectionString(azurite.connectionString).getContainerClient('kept');
await container.create();
await container.getBlockBlobClient('blob').upload('as it was', 9);
process.send?.(azurite.connectionString);
