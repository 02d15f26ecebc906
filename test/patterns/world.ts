import { type Container, CosmosClient, type CosmosClientOptions } from '@azure/cosmos';
import { type Emulator, startEmulator } from '../../src/emulator/index.ts';

/** An embedded server with one database, without sockets. */
export interface World extends AsyncDisposable {
  readonly emulator: Emulator;
  /** A client of its own, as another process would have. `before` is asked ahead of each request, and may throw. */
  client(before?: () => void | Promise<void>): (container: string) => Container;
  create(id: string, paths: readonly string[], more?: object): Promise<Container>;
}

export async function openWorld(seed: number): Promise<World> {
  const emulator = await startEmulator({ seed });
  const clients: CosmosClient[] = [];
  const client = (before: () => void | Promise<void> = () => undefined) => {
    const inner = emulator.clientOptions.httpClient;
    const httpClient: NonNullable<CosmosClientOptions['httpClient']> = {
      sendRequest: async (request) => {
        await before();
        return inner.sendRequest(request);
      },
    };
    const made = new CosmosClient({ ...emulator.clientOptions, httpClient });
    clients.push(made);
    return (container: string) => made.database('patterns').container(container);
  };
  const own = client();
  await clients[0]?.databases.create({ id: 'patterns' });
  return {
    emulator,
    client,
    create: async (id, paths, more = {}) => {
      const kind = paths.length > 1 ? 'MultiHash' : 'Hash';
      const partitionKey = { paths: [...paths], kind, version: 2 };
      await clients[0]?.database('patterns').containers.create({ id, partitionKey, ...more } as { id: string });
      return own(id);
    },
    [Symbol.asyncDispose]: async () => {
      for (const made of clients) made.dispose();
      await emulator.close();
    },
  };
}
