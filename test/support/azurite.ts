// The storage account of tests: Azurite, in a process of its own. It takes two seconds of processor time to start, so the
// files that share a process share those that were started: who is done hands one back empty.
import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { type ContainerClient, BlobServiceClient } from '@azure/storage-blob';
import { AzureBlobStore } from '../../src/archive/blobs/azure-blob-store.ts';
import type { BlobContainerOf } from '../../src/runtime/blob-container.ts';

export interface Azurite {
  readonly connectionString: string;
  close(): Promise<void>;
}

const ACCOUNT = 'millrace';
const LISTENS = /listens on http:\/\/[\d.]+:(\d+)/;
const free: string[] = [];

/** An empty storage account in memory, until `close`. Its process ends with the one that started it. */
export async function startAzurite(): Promise<Azurite> {
  const connectionString = free.pop() ?? (await start());
  return {
    connectionString,
    close: async () => {
      const account = BlobServiceClient.fromConnectionString(connectionString);
      for await (const { name } of account.listContainers()) await account.deleteContainer(name);
      free.push(connectionString);
    },
  };
}

/** A container of it as the services have one. */
export const blobsOf = (client: ContainerClient): BlobContainerOf => ({
  name: client.containerName,
  open: (options) => new AzureBlobStore(client, options),
  create: () => client.createIfNotExists(),
});

// When the parent ends, even by SIGKILL, its channel closes.
const PRELOAD = `data:text/javascript,${encodeURIComponent("process.once('disconnect', () => process.exit())")}`;

async function start(): Promise<string> {
  const key = randomBytes(64).toString('base64');
  const child = fork(
    createRequire(import.meta.url).resolve('azurite/dist/src/blob/main.js'),
    ['--inMemoryPersistence', '--skipApiVersionCheck', '--disableTelemetry', '--silent', '--blobPort', '0'],
    {
      execArgv: ['--import', PRELOAD],
      env: { ...process.env, AZURITE_ACCOUNTS: `${ACCOUNT}:${key}` },
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    },
  );
  const port = await listening(child);
  return [
    'DefaultEndpointsProtocol=http',
    `AccountName=${ACCOUNT}`,
    `AccountKey=${key}`,
    `BlobEndpoint=http://127.0.0.1:${port}/${ACCOUNT}`,
  ].join(';');
}

async function listening(child: ChildProcess): Promise<string> {
  let output = '';
  for await (const text of child.stdout ?? []) {
    output += String(text);
    const [, port] = LISTENS.exec(output) ?? [];
    if (port !== undefined) return port;
  }
  throw new Error(`Azurite did not start: ${output}`);
}
