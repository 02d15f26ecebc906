import { expect, it, onTestFinished } from 'vitest';
import { Places, type PlacesOptions } from '../../../src/shards/places/places.ts';

const cosmos = { kind: 'key', endpoint: 'https://one.documents.azure.com:443/', key: 'b25l' } as const;
const identity = { getToken: async () => null };

const open = (more: Partial<PlacesOptions> = {}): { places: Places; opened: unknown[] } => {
  const opened: unknown[] = [];
  const places = new Places({ cosmos, ...more, opened: (client) => opened.push(client) });
  onTestFinished(places.close);
  return { places, opened };
};

it('a process has one client for all databases of an account', () => {
  const { places, opened } = open();
  const { connect } = places;
  const east = connect({ database: 'east' });
  const west = connect({ database: 'west', endpoint: 'https://ONE.documents.azure.com' });
  expect([east.id, west.id]).toEqual(['east', 'west']);
  expect(west.client).toBe(east.client);
  expect(opened).toEqual([east.client]);
});

it('a process has another client for another account, and for each credential', () => {
  const { places, opened } = open({ identities: { routing: identity } });
  const clientOf = (...given: Parameters<Places['connect']>) => places.connect(...given).client;
  const location = { database: 'shop' };
  const own = clientOf(location);
  const routing = clientOf(location, { purpose: 'routing' });
  const key = { key: 'dHdv' };
  const clients = [
    own,
    clientOf({ ...location, endpoint: 'https://two.documents.azure.com/' }),
    routing,
    clientOf(location, { purpose: 'routing', credential: key }),
  ];
  expect(new Set(clients).size).toBe(4);
  expect(clientOf(location, { purpose: 'administration' })).toBe(own);
  expect(clientOf({ database: 'other' }, { purpose: 'routing' })).toBe(routing);
  expect(clientOf(location, { credential: key })).toBe(clients[3]);
  expect(opened).toHaveLength(4);
});

it('a place is opened by the settings of the process', async () => {
  const COSMOS = 'AccountEndpoint=https://one.documents.azure.com/;AccountKey=b25l;';
  const places = await Places.ofSettings({}, { processEnv: { COSMOS } });
  onTestFinished(places.close);
  expect(places.connect({ database: 'shop' }).id).toBe('shop');
  const wrong = Places.ofSettings({}, { processEnv: { COSMOS, COSMOS_ACCOUNTS: 'https://two.documents.azure.com/' } });
  await expect(wrong).rejects.toMatchObject({
    code: 'setting-invalid',
    message: expect.stringContaining('COSMOS_ACCOUNTS') as string,
  });
});
