// The storage account of tests. Azurite takes two seconds of processor time to start, so the files that share a process
// share those that were started: who is done hands one back empty.
import { BlobServiceClient } from '@azure/storage-blob';
import { type Azurite, startAzurite as start } from '../../src/host/dev/storage.ts';

export type { Azurite };

const free: Azurite[] = [];

/** An empty storage account in memory, until `close`. Its process ends with the one that started it. */
export async function startAzurite(): Promise<Azurite> {
  const azurite = free.pop() ?? (await start());
  return {
    connectionString: azurite.connectionString,
    ended: azurite.ended,
    close: async () => {
      const account = BlobServiceClient.fromConnectionString(azurite.connectionString);
      for await (const { name } of account.listContainers()) await account.deleteContainer(name);
      free.push(azurite);
    },
  };
}
