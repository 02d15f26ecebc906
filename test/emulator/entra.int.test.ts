import { Agent } from 'node:https';
import { CosmosClient } from '@azure/cosmos';
import type { Container, CosmosClientOptions } from '@azure/cosmos';
import { generateKeyPair, SignJWT } from 'jose';
import { expect, onTestFinished, test } from 'vitest';
import { UsageError } from '../../src/base/errors.ts';
import { TENANT } from '../../src/emulator/entra/access.ts';
import { startEmulator } from '../../src/emulator/index.ts';
import type { Credential, Emulator, EmulatorOptions } from '../../src/emulator/index.ts';
import { refusal } from './emulate.ts';

async function secured(options: EmulatorOptions = {}) {
  const emulator = await startEmulator({ seed: 2, tls: true, ...options });
  onTestFinished(() => emulator.close());
  const as = (credential: Partial<CosmosClientOptions>): Container => {
    const agent = new Agent({ ca: emulator.certificate!, keepAlive: true });
    const client = new CosmosClient({ endpoint: emulator.endpoint, agent, ...credential });
    onTestFinished(() => {
      client.dispose();
      agent.destroy();
    });
    return client.database('d').container('c');
  };
  const owner = as({ key: emulator.key });
  await owner.database.client.databases.create({ id: 'd' });
  await owner.database.containers.create({ id: 'c', partitionKey: '/pk' });
  await owner.database.containers.create({ id: 'other', partitionKey: '/pk' });
  return { emulator, owner, as };
}

/** A credential that has one token. */
const fixed = (token: string): Credential => ({
  getToken: () => Promise.resolve({ token, expiresOnTimestamp: Date.now() + 3_600_000 }),
});

test('the client speaks to it over TLS, by key and by token, with and without sockets', async () => {
  const { emulator, owner, as } = await secured();
  expect(emulator.endpoint).toMatch(/^https:/);
  await owner.items.create({ id: '1', pk: 'a' });
  const aadCredentials = emulator.credential('contributor');
  expect((await as({ aadCredentials }).items.upsert({ id: '1', pk: 'a', n: 1 })).statusCode).toBe(200);
  const { endpoint, httpClient } = emulator.clientOptions;
  const inside = new CosmosClient({ endpoint, httpClient, aadCredentials });
  const { resource } = await inside.database('d').container('c').item('1', 'a').read<{ n: number }>();
  expect(resource?.n).toBe(1);
  expect(JSON.stringify((await inside.getDatabaseAccount()).resource)).toContain(emulator.endpoint);
  inside.dispose();
  // Without trusting the certificate no one gets anywhere.
  const stranger = new CosmosClient({ endpoint: emulator.endpoint, key: emulator.key, agent: new Agent() });
  expect((await refusal(stranger.getDatabaseAccount())).message).toMatch(/self-signed/);
  stranger.dispose();
});

test('a role allows what the service’s role of that name allows', async () => {
  const { emulator, owner, as } = await secured({
    principals: {
      reader: 'reader',
      writer: 'contributor',
      clerk: [{ role: 'reader', scope: 'd/c' }],
      department: [{ role: 'contributor', scope: 'd' }],
      nobody: [],
    },
  });
  await owner.items.create({ id: '1', pk: 'a' });
  const RBAC = /does not have required RBAC permissions/;
  const refusals = new Set<string>();
  const all = async (container: Container): Promise<string[]> => {
    const told: string[] = [];
    const batch = (operationType: 'Read' | 'Create') =>
      operationType === 'Read'
        ? container.items.batch([{ operationType, id: '1' }], 'a')
        : container.items.batch([{ operationType, resourceBody: { id: `${Math.random()}`, pk: 'a' } }], 'a');
    const calls: [string, () => Promise<unknown>][] = [
      ['read', () => container.item('1', 'a').read()],
      ['query', () => container.items.query('SELECT * FROM c', { partitionKey: 'a' }).fetchAll()],
      ['feed', () => container.items.getChangeFeedIterator({}).readNext()],
      ['ranges', () => container.readPartitionKeyRanges().fetchAll()],
      ['batch of reads', () => batch('Read')],
      ['write', () => container.items.upsert({ id: '2', pk: 'a' })],
      ['batch of writes', () => batch('Create')],
      ['delete', () => container.item('2', 'a').delete()],
      ['databases', () => container.database.client.databases.readAll().fetchAll()],
    ];
    for (const [name, call] of calls) {
      const failure = await call().then(
        () => undefined,
        (error: { code: number; message: string; headers?: Record<string, string> }) => error,
      );
      // The client keeps nothing but the message of a batch's refusal.
      const how = [
        failure?.code ?? 'batch',
        failure?.headers?.['x-ms-substatus'],
        RBAC.exec(failure?.message ?? '')?.[0],
      ];
      if (failure) refusals.add(how.join(' '));
      else told.push(name);
    }
    return told;
  };
  const reads = ['read', 'query', 'feed', 'ranges', 'batch of reads'];
  const writes = ['write', 'batch of writes', 'delete'];
  const of = (name: string, id = 'c') => as({ aadCredentials: emulator.credential(name) }).database.container(id);
  expect(await all(of('reader'))).toEqual([...reads, 'databases']);
  expect(await all(of('writer'))).toEqual([...reads, ...writes, 'databases']);
  expect(await all(of('clerk'))).toEqual(reads);
  expect(await all(of('clerk', 'other'))).toEqual([]);
  expect(await all(of('department'))).toEqual([...reads, ...writes]);
  expect(await all(of('nobody'))).toEqual([]);
  expect(refusals).toEqual(
    new Set(['403 5301 does not have required RBAC permissions', 'batch  does not have required RBAC permissions']),
  );
});

test('a token may not manage resources, whatever the role', async () => {
  const { emulator, as } = await secured();
  const container = as({ aadCredentials: emulator.credential('contributor') });
  const { database } = container;
  const definition = (await container.read()).resource!;
  for (const call of [
    () => database.client.databases.create({ id: 'x' }),
    () => database.delete(),
    () => database.containers.create({ id: 'x', partitionKey: '/pk' }),
    () => container.replace(definition),
    () => container.delete(),
    () => container.readOffer(),
  ]) {
    const { code, substatus, message } = await refusal(call());
    expect([code, substatus]).toEqual([403, 5300]);
    expect(message).toContain('cannot be authorized by AAD token in data plane');
  }
});

test('a token that is not good is refused with the reason', async () => {
  const { emulator, as } = await secured();
  const good = emulator.credential('contributor');
  const foreign = (await generateKeyPair('RS256')).privateKey;
  const forged = (issuer: string): Promise<string> =>
    new SignJWT({ oid: 'x' })
      .setProtectedHeader({ alg: 'RS256' })
      .setIssuer(issuer)
      .setAudience(emulator.endpoint.replace(/\/$/, ''))
      .setExpirationTime('1h')
      .sign(foreign);
  const { token: elsewhere } = (await good.getToken('https://vault.azure.net/.default'))!;
  const { token } = (await good.getToken(`${emulator.endpoint}.default`))!;
  const [head, claims] = token.split('.');
  const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${claims}.`;
  const account = async (credential: Credential) => {
    const container = as({ aadCredentials: credential });
    return refusal(container.items.upsert({ id: '1', pk: 'a' }));
  };
  expect(await account(fixed('nonsense'))).toMatchObject({ code: 401, substatus: 5003 });
  expect(await account(fixed(unsigned))).toMatchObject({ code: 401, substatus: 5003 });
  expect(await account(fixed(`${head}.${claims}.AAAA`))).toMatchObject({ code: 401, substatus: 5004 });
  expect(await account(fixed(await forged(`${emulator.endpoint}${TENANT}/v2.0`)))).toMatchObject({ substatus: 5004 });
  expect(await account(fixed(elsewhere))).toMatchObject({ code: 401, substatus: 5008 });
  // The clock that counts is the server's.
  const container = as({ aadCredentials: fixed(token) });
  expect((await container.items.upsert({ id: '1', pk: 'a' })).statusCode).toBeLessThan(300);
  emulator.advance(3_601_000);
  const late = await refusal(container.items.upsert({ id: '1', pk: 'a' }));
  expect(late).toMatchObject({ code: 401, substatus: 5006 });
  expect(late.message).toContain('Provided AAD token has been expired since');
});

test('tokens of other servers and tenants are told apart', async () => {
  const one = await secured();
  const two = await startEmulator({ tls: true });
  onTestFinished(() => two.close());
  const credential: Credential = {
    getToken: () => two.credential('contributor').getToken(`${one.emulator.endpoint.replace(/\/$/, '')}/.default`),
  };
  const told = await refusal(one.as({ aadCredentials: credential }).items.upsert({ id: '1', pk: 'a' }));
  // Another server has other keys, which are looked at first.
  expect(told).toMatchObject({ code: 401, substatus: 5004 });
});

test('what makes no sense is refused before anything starts', async () => {
  const principals = { a: 'owner' } as unknown as NonNullable<EmulatorOptions['principals']>;
  await expect(startEmulator({ tls: true, principals })).rejects.toThrow(/principals are not valid/);
  await expect(startEmulator({ principals: {} })).rejects.toThrow('only over TLS');
  const plain: Emulator = await startEmulator();
  onTestFinished(() => plain.close());
  expect(() => plain.credential('reader')).toThrow(UsageError);
  expect(plain.certificate).toBeUndefined();
  const { emulator } = await secured();
  expect(() => emulator.credential('x')).toThrow("There is no principal 'x'");
  const answer = await fetch(new URL('dbs', plain.endpoint), {
    headers: { authorization: 'type=aad&ver=1.0&sig=x.y.z' },
  });
  expect([answer.status, answer.headers.get('x-ms-substatus')]).toEqual([401, '5002']);
});
