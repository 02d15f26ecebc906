import type { CosmosClientOptions } from '@azure/cosmos';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { startEmulator, type Emulator } from '../../../src/emulator/index.ts';
import { Places, type PlacesOptions } from '../../../src/shards/places/places.ts';

let servers: readonly [Emulator, Emulator];
beforeAll(async () => {
  const principals = { router: 'reader' } as const;
  servers = await Promise.all([startEmulator({ principals, tls: true }), startEmulator()]);
});
afterAll(() => Promise.all(servers.map((server) => server.close())));

const account = ({ endpoint, key }: Emulator) => ({ kind: 'key', endpoint, key }) as const;

/** Sends each request to the server of its address, in this process. */
const httpClient: Required<CosmosClientOptions>['httpClient'] = {
  sendRequest: (request) => {
    const server = servers.find(({ endpoint }) => new URL(request.url).origin === new URL(endpoint).origin);
    if (!server) throw new Error(`No server has ${request.url}`);
    return server.clientOptions.httpClient.sendRequest(request);
  },
};

function open(more: Partial<PlacesOptions> = {}): Places {
  const [one, two] = servers;
  const places = new Places({ cosmos: account(one), accounts: [account(two)], client: { httpClient }, ...more });
  onTestFinished(places.close);
  return places;
}

it('the opener of places opens databases of one name in two accounts, each with the key of its account', async () => {
  const [, two] = servers;
  const places = open();
  const here = await places.open({ database: 'shop' });
  const there = await places.open({ database: 'shop', endpoint: two.endpoint });
  await here.client.databases.create({ id: 'shop' });
  await expect(there.read()).rejects.toMatchObject({ code: 404 });
  await there.client.databases.create({ id: 'shop' });
  await there.containers.create({ id: 'Orders', partitionKey: '/id' });
  expect((await here.containers.readAll().fetchAll()).resources).toEqual([]);
});

it('the opener of places signs in for routing by an identity that only reads, and for connections by the key', async () => {
  const [one] = servers;
  const places = open({ identities: { routing: one.credential('router') } });
  const location = { database: 'maps' };
  const { database } = await places.connect(location).client.databases.create({ id: 'maps' });
  await database.containers.create({ id: 'shardmaps', partitionKey: '/pk' });
  const document = { id: 'a', pk: 'a' };
  await places.connect(location).container('shardmaps').items.create(document);
  const container = places.connect(location, { purpose: 'routing' }).container('shardmaps');
  expect((await container.item('a', 'a').read()).resource).toMatchObject(document);
  await expect(container.items.upsert(document)).rejects.toMatchObject({ code: 403 });
});

it('the opener of places names the setting of an account that refuses, and opens it by another credential', async () => {
  const [one, two] = servers;
  const places = open({ accounts: [{ ...account(two), key: one.key.replaceAll(/[A-Z]/g, 'a') }] });
  const location = { database: 'shop', endpoint: two.endpoint };
  const refused = { code: 'denied', hint: expect.stringContaining('COSMOS_ACCOUNTS') as string };
  await expect(places.open(location)).rejects.toMatchObject(refused);
  await expect(places.open(location)).rejects.toMatchObject(refused);
  expect((await places.open(location, { credential: { key: two.key } })).id).toBe('shop');
});
