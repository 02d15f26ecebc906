import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { UsageError } from '../../src/base/errors.ts';
import {
  loadAccounts,
  loadSettings,
  requireEventHubs,
  requireShardMaps,
  requireStorage,
} from '../../src/base/settings.ts';

const COSMOS = 'AccountEndpoint=https://shop.documents.azure.com:443/;AccountKey=c2VjcmV0LWtleQ==;';

const failure = (run: () => unknown): UsageError => {
  try {
    run();
  } catch (error) {
    if (error instanceof UsageError) return error;
    throw error;
  }
  throw new Error('no UsageError was thrown');
};

describe('settings', () => {
  it('the reader of settings reads a connection string and falls back to the same account for leases', () => {
    const settings = loadSettings({ processEnv: { COSMOS, COSMOS_DATABASE: 'shop' } });
    const account = { kind: 'key', endpoint: 'https://shop.documents.azure.com:443/', key: 'c2VjcmV0LWtleQ==' };
    expect(settings).toEqual({
      cosmos: account,
      database: 'shop',
      leases: { account, database: 'shop', container: 'leases' },
      stateContainer: 'millrace',
      preferredRegions: [],
      verify: { sample: '30 3 * * *', whole: '0 4 * * 0' },
    });
  });

  it('the reader of settings reads the accounts that shards are in', () => {
    const processEnv = { COSMOS, COSMOS_ACCOUNTS: ['east', 'west'].map((of) => COSMOS.replace('shop', of)).join('\n') };
    const { accounts = [] } = loadAccounts({ processEnv });
    expect(accounts.map(({ endpoint }) => new URL(endpoint).host)).toEqual([
      'east.documents.azure.com',
      'west.documents.azure.com',
    ]);
  });

  it('the reader of settings reads when to verify', () => {
    const cosmos = { COSMOS, COSMOS_DATABASE: 'shop' };
    const set = { VERIFY_SAMPLE: 'off', VERIFY_FULL: '0 30 4 * * SUN' };
    expect(loadSettings({ processEnv: { ...cosmos, ...set } }).verify).toEqual({ whole: '0 30 4 * * SUN' });
    for (const wrong of ['daily', '99 * * * *', '* *', '0 0 30 2 *'])
      expect(failure(() => loadSettings({ processEnv: { ...cosmos, VERIFY_FULL: wrong } }))).toMatchObject({
        code: 'setting-invalid',
        message: expect.stringContaining('VERIFY_FULL'),
      });
  });

  it('the reader of settings reads identities, an account of its own for leases, and regions', () => {
    const settings = loadSettings({
      processEnv: {
        COSMOS__accountEndpoint: 'https://shop.documents.azure.com:443/',
        COSMOS_DATABASE: 'shop',
        LEASES: COSMOS.replace('//shop', '//leases'),
        LEASES_DATABASE: 'ops',
        LEASES_CONTAINER: 'shop-leases',
        STATE_CONTAINER: 'state',
        COSMOS_PREFERRED_REGIONS: 'West Europe, North Europe',
      },
    });
    expect(settings.cosmos).toEqual({ kind: 'identity', endpoint: 'https://shop.documents.azure.com:443/' });
    expect(settings.leases).toMatchObject({
      account: { kind: 'key', endpoint: 'https://leases.documents.azure.com:443/' },
      database: 'ops',
      container: 'shop-leases',
    });
    expect(settings.stateContainer).toBe('state');
    expect(settings.preferredRegions).toEqual(['West Europe', 'North Europe']);
  });

  it.each([
    ['COSMOS', { COSMOS: 'AccountEndpoint=https://me:S3CRET@shop/;AccountKey=c2VjcmV0;' }],
    ['COSMOS', { COSMOS: 'AccountEndpoint=https://shop/?sig=S3CRET;AccountKey=c2VjcmV0;' }],
    ['COSMOS__accountEndpoint', { COSMOS__accountEndpoint: 'https://me:S3CRET@shop/' }],
    ['LEASES__accountEndpoint', { COSMOS, LEASES__accountEndpoint: 'https://shop/#S3CRET' }],
    ['LEASES', { COSMOS, LEASES: 'AccountEndpoint=https://S3CRET@shop/;AccountKey=c2VjcmV0;' }],
    ['STORAGE__blobServiceUri', { COSMOS, STORAGE__blobServiceUri: 'https://a.blob.core.windows.net/?sig=S3CRET' }],
  ])(
    'the reader of settings takes no endpoint that signs somebody in, and does not repeat it: %s',
    (setting, processEnv) => {
      const { code, message, hint } = failure(() =>
        loadSettings({ processEnv: { COSMOS_DATABASE: 'shop', ...processEnv } }),
      );
      expect(code).toBe('setting-invalid');
      expect(message).toMatch(new RegExp(`The setting ${setting}: .*without user, password, query or fragment`));
      expect(`${message}${hint}`).not.toContain('S3CRET');
    },
  );

  it('the reader of settings says where an account is that `dev` runs', () => {
    expect(failure(() => loadSettings({ processEnv: {} })).hint).toContain('the `export` lines that it prints');
  });

  it('the reader of settings reads where the shard maps are, in the same account unless another is named', () => {
    const cosmos = { COSMOS, COSMOS_DATABASE: 'shop' };
    const none = loadSettings({ processEnv: cosmos });
    expect(failure(() => requireShardMaps(none))).toMatchObject({
      code: 'setting-missing',
      hint: expect.stringContaining('millrace shards init'),
    });
    const here = { ...cosmos, SHARD_MAPS_DATABASE: 'maps' };
    expect(loadSettings({ processEnv: here }).shardMaps).toEqual({
      endpoint: 'https://shop.documents.azure.com:443/',
      database: 'maps',
    });
    const apart = { ...here, SHARD_MAPS__accountEndpoint: 'https://maps.documents.azure.com:443/' };
    expect(loadSettings({ processEnv: apart }).shardMaps?.endpoint).toBe('https://maps.documents.azure.com:443/');
  });

  it('the reader of settings reads what a process may spend', () => {
    const cosmos = { COSMOS, COSMOS_DATABASE: 'shop' };
    expect(loadSettings({ processEnv: { ...cosmos, RU_BUDGET: '4000' } }).ruBudget).toBe(4_000);
    expect('ruBudget' in loadSettings({ processEnv: cosmos })).toBe(false);
    for (const wrong of ['all', '0', '20000', '-1'])
      expect(failure(() => loadSettings({ processEnv: { ...cosmos, RU_BUDGET: wrong } }))).toMatchObject({
        code: 'setting-invalid',
        message: expect.stringContaining('RU_BUDGET'),
      });
  });

  it('the reader of settings reads the throughput bucket of bulk work', () => {
    const cosmos = { COSMOS, COSMOS_DATABASE: 'shop' };
    expect(loadSettings({ processEnv: { ...cosmos, BULK_THROUGHPUT_BUCKET: '3' } }).bulkBucket).toBe(3);
    expect('bulkBucket' in loadSettings({ processEnv: cosmos })).toBe(false);
    for (const wrong of ['0', '6', '1.5', 'low'])
      expect(failure(() => loadSettings({ processEnv: { ...cosmos, BULK_THROUGHPUT_BUCKET: wrong } }))).toMatchObject({
        code: 'setting-invalid',
        message: expect.stringContaining('BULK_THROUGHPUT_BUCKET'),
      });
  });

  it('the reader of settings reads where the archive lies, which only a pipeline with an archive needs', () => {
    const cosmos = { COSMOS, COSMOS_DATABASE: 'shop' };
    const none = loadSettings({ processEnv: cosmos });
    expect(none.storage).toBeUndefined();
    const error = failure(() => requireStorage(none));
    expect(error).toMatchObject({ code: 'setting-missing', hint: expect.stringContaining('STORAGE__blobServiceUri') });
    const connectionString = 'DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=c2VjcmV0;';
    expect(loadSettings({ processEnv: { ...cosmos, STORAGE: connectionString } }).storage).toEqual({
      account: { kind: 'key', connectionString },
      container: 'archive',
    });
    const endpoint = 'https://shop.blob.core.windows.net';
    expect(
      loadSettings({ processEnv: { ...cosmos, STORAGE__blobServiceUri: endpoint, STORAGE_CONTAINER: 'cold-1' } })
        .storage,
    ).toEqual({ account: { kind: 'identity', endpoint }, container: 'cold-1' });
  });

  it('the reader of settings reads the Event Hubs namespace, which only a pipeline that publishes or ingests needs', () => {
    const cosmos = { COSMOS, COSMOS_DATABASE: 'shop' };
    const error = failure(() => requireEventHubs(loadSettings({ processEnv: cosmos })));
    expect(error).toMatchObject({ code: 'setting-missing', hint: expect.stringContaining('EVENTHUBS__fully') });
    const connectionString =
      'Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=n;SharedAccessKey=c2VjcmV0';
    expect(loadSettings({ processEnv: { ...cosmos, EVENTHUBS: connectionString } }).eventHubs).toEqual({
      account: { kind: 'key', connectionString },
      checkpoints: 'checkpoints',
    });
    const namespace = 'shop.servicebus.windows.net';
    const identity = { EVENTHUBS__fullyQualifiedNamespace: namespace, CHECKPOINTS_CONTAINER: 'positions' };
    expect(loadSettings({ processEnv: { ...cosmos, ...identity } }).eventHubs).toEqual({
      account: { kind: 'identity', namespace },
      checkpoints: 'positions',
    });
    for (const wrong of ['c2VjcmV0', `${connectionString};EntityPath=orders`]) {
      const refused = failure(() => loadSettings({ processEnv: { ...cosmos, EVENTHUBS: wrong } }));
      expect(refused.code).toBe('setting-invalid');
      expect(refused.message).not.toContain('c2VjcmV0');
    }
  });

  it('the reader of settings prefers the exactly named setting, as the Functions host does', () => {
    const { cosmos } = loadSettings({
      processEnv: { COSMOS, COSMOS__accountEndpoint: 'https://other.documents.azure.com/', COSMOS_DATABASE: 'shop' },
    });
    expect(cosmos.kind).toBe('key');
  });

  it.each([
    [{}, 'setting-missing', 'COSMOS'],
    [{ COSMOS: '', COSMOS_DATABASE: 'shop' }, 'setting-missing', 'COSMOS'],
    [{ COSMOS }, 'setting-missing', 'COSMOS_DATABASE'],
    [{ COSMOS: 'AccountKey=c2VjcmV0LWtleQ==', COSMOS_DATABASE: 'shop' }, 'setting-invalid', 'COSMOS'],
    [{ COSMOS__accountEndpoint: 'shop', COSMOS_DATABASE: 'shop' }, 'setting-invalid', 'COSMOS__accountEndpoint'],
    [{ COSMOS, COSMOS_DATABASE: 'a/b' }, 'setting-invalid', 'COSMOS_DATABASE'],
    [{ COSMOS, COSMOS_DATABASE: 'shop', LEASES: 'nonsense' }, 'setting-invalid', 'LEASES'],
    [{ COSMOS, COSMOS_DATABASE: 'shop', STORAGE: 'c2VjcmV0' }, 'setting-invalid', 'STORAGE'],
    [{ COSMOS, COSMOS_DATABASE: 'shop', STORAGE__blobServiceUri: 'x' }, 'setting-invalid', 'STORAGE__blobServiceUri'],
    [{ COSMOS, COSMOS_DATABASE: 'shop', STORAGE_CONTAINER: 'A' }, 'setting-invalid', 'STORAGE_CONTAINER'],
  ])('the reader of settings names the setting and how to get it: %j', (processEnv, code, setting) => {
    const error = failure(() => loadSettings({ processEnv }));
    expect(error.code).toBe(code);
    expect(error.message).toContain(`The setting ${setting}`);
    expect(error.hint).toContain(setting);
    expect(error.message).not.toContain('c2VjcmV0');
  });
});

describe('--env', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'millrace-settings-'));
  });
  afterEach(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  it('`--env` reads millrace.NAME.env, and what the process has set wins', () => {
    writeFileSync(
      join(directory, 'millrace.test.env'),
      `# ours\nCOSMOS="${COSMOS}"\nCOSMOS_DATABASE=shop\nSTATE_CONTAINER=a\n`,
    );
    const settings = loadSettings({ env: 'test', directory, processEnv: { COSMOS_DATABASE: 'other' } });
    expect(settings.database).toBe('other');
    expect(settings.stateContainer).toBe('a');
    expect(settings.cosmos.endpoint).toContain('shop');
  });

  it.each(['x/../../s1', '../s1', '..', 'a.b', 'a b', ''])('`--env` takes no path for a name: %j', (env) => {
    expect(
      failure(() => loadSettings({ env, directory, processEnv: { COSMOS, COSMOS_DATABASE: 'shop' } })),
    ).toMatchObject({
      code: 'setting-invalid',
      hint: expect.stringContaining('letters, digits, - and _'),
    });
  });

  it('`--env` says which file it wanted', () => {
    const error = failure(() => loadSettings({ env: 'nowhere', directory, processEnv: {} }));
    expect(error.code).toBe('unreadable');
    expect(error.hint).toContain('millrace.nowhere.env');
  });
});
