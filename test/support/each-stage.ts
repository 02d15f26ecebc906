import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob';
import { afterAll, afterEach, beforeAll, beforeEach, vi } from 'vitest';
import type { EmulatorOptions } from '../../src/emulator/index.ts';
import { type Azurite, startAzurite } from './azurite.ts';
import { type Stage, openStage } from './stage.ts';

/** Each test of a file gets a stage by `ready`, and its settings as the environment of verbs that run by `cli`. */
export function useStage(
  {
    folder,
    env,
    ...options
  }: EmulatorOptions & { readonly folder?: string; readonly env?: Readonly<Record<string, string>> },
  ready: (stage: Stage) => Promise<void> | void = () => undefined,
): void {
  eachTest(async () => {
    const stage = await openStage(options, folder);
    return { opened: stage, stage, env };
  }, ready);
}

/** Each test of a file gets a stage of the pipeline in `folder`, with a blob container of its own on one Azurite. */
export function useArchiveStage(
  folder: string,
  ready: (opened: { readonly stage: Stage; readonly blobs: ContainerClient }) => Promise<void> | void,
): void {
  let azurite: Azurite | undefined;
  let used = 0;
  beforeAll(async () => {
    azurite = await startAzurite();
  });
  afterAll(async () => {
    await azurite?.close();
  });
  eachTest(async () => {
    const { connectionString } = azurite!;
    const container = `archive-${(used += 1)}`;
    const stage = await openStage({}, folder, { connectionString, container });
    const blobs = BlobServiceClient.fromConnectionString(connectionString).getContainerClient(container);
    return { opened: { stage, blobs }, stage, env: { MILLRACE_PIPELINE: folder } };
  }, ready);
}

interface Opened<T> {
  readonly opened: T;
  readonly stage: Stage;
  readonly env: Readonly<Record<string, string>> | undefined;
}

function eachTest<T>(open: () => Promise<Opened<T>>, ready: (opened: T) => Promise<void> | void): void {
  let stage: Stage | undefined;
  beforeEach(async () => {
    const found = await open();
    stage = found.stage;
    for (const [name, value] of Object.entries({ ...stage.env, ...found.env })) vi.stubEnv(name, value);
    await ready(found.opened);
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await stage?.[Symbol.asyncDispose]();
    stage = undefined;
  });
}
