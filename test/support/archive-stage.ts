import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob';
import { afterAll, afterEach, beforeAll, beforeEach, vi } from 'vitest';
import { type Azurite, startAzurite } from './azurite.ts';
import { type Stage, openStage } from './stage.ts';

interface ArchiveStage {
  readonly stage: Stage;
  readonly blobs: ContainerClient;
}

/**
 * For each test of a file: a stage of the pipeline in `folder`, with a blob container of its own on one Azurite, and the
 * settings of both for verbs that run by `cli`. `ready` gets it before the test.
 */
export function useArchiveStage(folder: string, ready: (opened: ArchiveStage) => Promise<void> | void): void {
  let azurite: Azurite | undefined;
  let stage: Stage | undefined;
  let used = 0;
  beforeAll(async () => {
    azurite = await startAzurite();
  });
  afterAll(async () => {
    await azurite?.close();
  });
  beforeEach(async () => {
    const { connectionString } = azurite!;
    const container = `archive-${(used += 1)}`;
    stage = await openStage({}, folder, { connectionString, container });
    for (const [name, value] of Object.entries({ ...stage.env, MILLRACE_PIPELINE: folder })) vi.stubEnv(name, value);
    const blobs = BlobServiceClient.fromConnectionString(connectionString).getContainerClient(container);
    await ready({ stage, blobs });
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await stage?.[Symbol.asyncDispose]();
  });
}
