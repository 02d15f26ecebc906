import { expect, it } from 'vitest';
import type { FunctionMetadata } from '../../../src/host/local-host/core.ts';
import { cosmosTriggers } from '../../../src/host/local-host/cosmos-triggers.ts';
import { startTimers } from '../../../src/host/local-host/timers.ts';
import { missingSettings, settingsOf } from '../../../src/host/functions/app-settings.ts';

const ACCOUNT = 'AccountEndpoint=http://127.0.0.1:1/;AccountKey=a2V5;';
const env = { MAIN: ACCOUNT, DB: 'shop', HOLD: 'leases' };
const trigger = (name: string, more: Record<string, unknown> = {}): FunctionMetadata => ({
  name,
  bindings: {
    documents: {
      type: 'cosmosDBTrigger',
      direction: 'in',
      connection: 'MAIN',
      databaseName: '%DB%',
      containerName: 'Orders',
      leaseContainerName: '%HOLD%',
      ...more,
    },
  },
});
const timer = (schedule: string): FunctionMetadata => ({
  name: 'tick',
  bindings: { timer: { type: 'timerTrigger', direction: 'in', schedule } },
});

it('a trigger of Cosmos DB puts settings in, and takes the host’s defaults', () => {
  expect(cosmosTriggers([trigger('a', { leaseContainerPrefix: 'x.' })], env)).toEqual([
    {
      name: 'a',
      connection: 'MAIN',
      leaseConnection: 'MAIN',
      account: { kind: 'key', endpoint: 'http://127.0.0.1:1/', key: 'a2V5' },
      database: 'shop',
      container: 'Orders',
      leaseAccount: { kind: 'key', endpoint: 'http://127.0.0.1:1/', key: 'a2V5' },
      leaseDatabase: 'shop',
      leaseContainer: 'leases',
      prefix: 'x.',
      mode: 'latest-version',
      createLeases: false,
      maxItems: 100,
      start: 'now',
      pollMs: 5_000,
      retry: undefined,
    },
  ]);
});

it.each([
  [
    'two triggers with one prefix',
    () => cosmosTriggers([trigger('a'), trigger('b')], env),
    /a and b read Orders with the same leases/,
  ],
  [
    'an unknown feed',
    () => cosmosTriggers([trigger('a', { changeFeedMode: 'FullFidelity' })], env),
    /a has the unknown changeFeedMode "FullFidelity"/,
  ],
  [
    'a start of the all-versions feed',
    () => cosmosTriggers([trigger('a', { changeFeedMode: 'AllVersionsAndDeletes', startFromBeginning: true })], env),
    /a reads the all-versions feed, which begins when it is first read, and names a start/,
  ],
  [
    'two starts',
    () => cosmosTriggers([trigger('a', { startFromBeginning: true, startFromTime: '2026-01-01T00:00:00Z' })], env),
    /a names both startFromBeginning and startFromTime/,
  ],
  [
    'a start that is no time',
    () => cosmosTriggers([trigger('a', { startFromTime: 'yesterday' })], env),
    /a has the startFromTime "yesterday", which is no time/,
  ],
  [
    'a name without its setting',
    () => cosmosTriggers([trigger('a')], { MAIN: ACCOUNT }),
    /setting DB is missing; function a/,
  ],
  [
    'an invalid connection',
    () => cosmosTriggers([trigger('a')], { ...env, MAIN: 'secret' }),
    /The setting MAIN: must be a connection string/,
  ],
  [
    'names of an older extension',
    () => cosmosTriggers([trigger('a', { collectionName: 'x' })], env),
    /uses collectionName/,
  ],
  [
    'a schedule that isn’t valid',
    () => startTimers([timer('whenever')], {}, async () => undefined),
    /schedule of tick is "whenever"/,
  ],
  [
    'a schedule without its setting',
    () => startTimers([timer('%WHEN%')], {}, async () => undefined),
    /setting WHEN is missing/,
  ],
])('a trigger of Cosmos DB refuses %s, and hints at what to do', (_, act, message) => {
  let thrown: unknown;
  try {
    act();
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toMatchObject({ message: expect.stringMatching(message), hint: expect.any(String) });
  expect(String(thrown)).not.toContain('secret');
});

it('the local host lets two triggers read one container under prefixes of their own', () => {
  const two = [trigger('a', { leaseContainerPrefix: 'a.' }), trigger('b', { leaseContainerPrefix: 'b.' })];
  expect(cosmosTriggers(two, env)).toHaveLength(2);
});

it('the local host knows by which settings a binding can be served', () => {
  const bindings = [trigger('a')].flatMap(({ bindings: of }) => Object.values(of));
  expect(settingsOf(bindings)).toEqual([
    { name: 'DB', or: [] },
    { name: 'HOLD', or: [] },
    { name: 'MAIN', or: ['MAIN__accountEndpoint'] },
  ]);
  expect(missingSettings(bindings, env)).toBeUndefined();
  expect(missingSettings(bindings, { DB: 'a', HOLD: 'b', MAIN__accountEndpoint: 'c' })).toBeUndefined();
  expect(missingSettings(bindings, { DB: 'a', HOLD: 'b' })?.message).toContain(
    'MAIN or MAIN__accountEndpoint is missing',
  );
});
