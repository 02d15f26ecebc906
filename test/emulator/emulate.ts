import { createHmac } from 'node:crypto';
import { CosmosClient, PartitionKeyDefinitionVersion, PartitionKeyKind } from '@azure/cosmos';
import type { Container, ContainerRequest, CosmosClientOptions, Database } from '@azure/cosmos';
import { onTestFinished, vi } from 'vitest';
import { startEmulator } from '../../src/emulator/index.ts';
import type { Emulator, EmulatorOptions } from '../../src/emulator/index.ts';

export const HASH_KEY = { paths: ['/pk'], version: PartitionKeyDefinitionVersion.V2 };
export const TWO_LEVELS = {
  paths: ['/t', '/u'],
  kind: PartitionKeyKind.MultiHash,
  version: PartitionKeyDefinitionVersion.V2,
};

export interface Emulated {
  readonly emulator: Emulator;
  readonly client: CosmosClient;
  readonly database: Database;
  readonly container: Container;
}

/** A client over sockets that keeps session tokens, as Millrace's own clients do. */
export function clientOf(emulator: Emulator, session = true): CosmosClient {
  const { endpoint, key } = emulator;
  return newClient({ endpoint, key }, session);
}

/** The same without sockets, where the wire isn't what is tested. */
export const clientInside = (emulator: Emulator): CosmosClient => newClient(emulator.clientOptions, true);

function newClient(options: CosmosClientOptions, session: boolean): CosmosClient {
  return new CosmosClient({
    ...options,
    ...(session ? { consistencyLevel: 'Session' } : {}),
    connectionPolicy: {
      retryOptions: { maxRetryAttemptCount: 0, fixedRetryIntervalInMilliseconds: 0, maxWaitTimeInSeconds: 0 },
    },
  });
}

/** A server with one container, both gone when the test is. */
export async function emulate(request: ContainerRequest = {}, options: EmulatorOptions = {}): Promise<Emulated> {
  const emulator = await startEmulator({ seed: 7, ...options });
  const client = clientOf(emulator);
  onTestFinished(async () => {
    client.dispose();
    await emulator.close();
  });
  const { database } = await client.databases.create({ id: 'd' });
  const { container } = await database.containers.create({
    id: 'c',
    partitionKey: HASH_KEY,
    ...request,
  });
  return { emulator, client, database, container };
}

/** Of a request that the client wouldn't send. */
export function signedHeaders(
  { key }: Emulator,
  method: string,
  type = 'docs',
  link = 'dbs/d/colls/c',
): Record<string, string> {
  const date = new Date().toUTCString();
  const text = `${method.toLowerCase()}\n${type}\n${link}\n${date.toLowerCase()}\n\n`;
  const signature = createHmac('sha256', Buffer.from(key, 'base64')).update(text).digest('base64');
  return { 'x-ms-date': date, authorization: encodeURIComponent(`type=master&ver=1.0&sig=${signature}`) };
}

/** What a call was refused with. */
export async function refusal(call: Promise<unknown>): Promise<{ code: unknown; substatus: unknown; message: string }> {
  try {
    await call;
  } catch (error) {
    const { code, substatus, message } = error as { code?: unknown; substatus?: unknown; message: string };
    return { code, substatus, message };
  }
  throw new Error('The call was not refused.');
}

const PASSING: readonly unknown[] = [408, 429, 449, 503, 'ECONNRESET'];

/** Calls again until nothing is in the way; what is called may have happened before, or happen twice. */
export async function insist<T>(call: (attempt: number) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call(attempt);
    } catch (error) {
      const { code, message } = error as { code?: unknown; message: string };
      // The client keeps nothing but the message of a batch's refusal.
      if (!PASSING.includes(code) && !message.startsWith('Batch request error')) throw error;
    }
  }
}

/** Deletes an item that is there, or was before a delete whose answer got lost. */
export const remove = (container: Container, id: string, pk: string): Promise<unknown> =>
  insist(() => container.item(id, pk).delete()).catch((error: unknown) => {
    if ((error as { code?: unknown }).code !== 404) throw error;
  });

/** From here on time stands still but for `pass`. A condition is waited for without any time (`expect.poll` takes some). */
export function heldTime(): { pass(ms: number): Promise<void>; until(holds: () => boolean): Promise<void> } {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return {
    pass: async (ms) => {
      vi.advanceTimersByTime(ms);
      // What is due now has this long to come.
      for (let turns = 0; turns < 20; turns++) await turn();
    },
    until: async (holds) => {
      while (!holds()) await turn();
    },
  };
}

/** Whether a call has been answered, refused too. */
export function watched(call: Promise<unknown>): { readonly done: boolean } {
  const state = { done: false };
  const end = (): void => void (state.done = true);
  call.then(end, end);
  return state;
}
