// Changes over 1 MB, whose bodies lie in a storage account where there is one.
import { gzipSync } from 'node:zlib';
import { BlobServiceClient } from '@azure/storage-blob';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { MillraceError } from '../../../src/base/errors.ts';
import { DeadLetters } from '../../../src/engine/dead-letters/dead-letters.ts';
import { letterBodies } from '../../../src/engine/dead-letters/letter-bodies.ts';
import { orderOf } from '../../../src/engine/dead-letters/letter-document.ts';
import type { Change } from '../../../src/feed/reading/change.ts';
import { emulate } from '../../emulator/emulate.ts';
import { type Azurite, blobsOf, startAzurite } from '../../support/azurite.ts';

const P = 'taken@1';
const NOW = new Date(Date.UTC(2026, 0, 1));
const change = (lsn: number, bytes: number): Change => ({
  container: 'hub',
  type: 'event',
  key: ['k'],
  id: 'e1',
  version: { epoch: 1, lsn, etag: `"${lsn}"` },
  at: 0,
  op: 'upsert',
  doc: { id: 'e1', text: 'ü'.repeat(bytes / 2) },
});
const refused = (of: Change) => [{ change: of, error: new MillraceError('event-refused', 'No') }];

let azurite: Azurite;
let used = 0;
beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(() => azurite.close());

async function stage() {
  const { container } = await emulate();
  const client = BlobServiceClient.fromConnectionString(azurite.connectionString);
  const blobs = client.getContainerClient(`letters-${(used += 1)}`);
  const names = async (): Promise<string[]> => {
    const found: string[] = [];
    for await (const { name } of blobs.listBlobsFlat()) found.push(name);
    return found;
  };
  const kinds = async () =>
    (await container.items.query<string>('SELECT VALUE c.kind FROM c').fetchAll()).resources.toSorted();
  return {
    container,
    blobs,
    names,
    kinds,
    letters: new DeadLetters(container, letterBodies({ blobs: async () => blobsOf(blobs) })),
  };
}

it('the bodies of letters go to a blob that is read back whole, replaced with its letter, and gone with it', async () => {
  const { letters, blobs, names, kinds } = await stage();
  await blobs.create();
  const first = change(1, 1_500_000);
  await letters.park(P, refused(first), NOW, { whole: true });
  const [before] = await names();
  expect([await names(), await kinds()]).toEqual([[expect.stringMatching(/^dead-letters\//)], ['dead-letter']]);
  const [letter] = await letters.list(P);
  if (!letter) throw new Error('No letter');
  expect(await letters.kept(letter)).toEqual(first);
  await letters.park(P, refused(change(2, 1_800_000)), NOW, { whole: true });
  expect(await names()).toHaveLength(1);
  expect(await names()).not.toEqual([before]);
  const [second] = await letters.list(P);
  expect(second && (await letters.discard(second))).toBe(true);
  expect([await names(), await kinds()]).toEqual([[], []]);
});

it('the bodies of letters of half a megabyte stay with their letter', async () => {
  const { letters, blobs, names } = await stage();
  await blobs.create();
  await letters.park(P, refused(change(1, 400_000)), NOW, { whole: true });
  expect(await names()).toEqual([]);
});

it('the bodies of letters are kept in documents where the account has no container, or is away', async () => {
  const { container, letters, kinds } = await stage();
  const large = change(1, 1_500_000);
  await letters.park(P, refused(large), NOW, { whole: true });
  expect(await kinds()).toEqual(['dead-letter', 'dead-letter-part', 'dead-letter-part']);
  const [letter] = await letters.list(P);
  expect(letter && (await letters.kept(letter))).toEqual(large);
  const away = new DeadLetters(container, letterBodies({ blobs: () => Promise.reject(new Error('away')) }));
  const newer = change(2, 1_500_000);
  await away.park(P, refused(newer), NOW, { whole: true });
  const [again] = await away.list(P);
  expect(again && (await away.kept(again))).toEqual(newer);
});

it.each([
  ['unpacks to gigabytes', () => gzipSync(Buffer.alloc(200_000_000))],
  ['is no gzip file', () => Buffer.from('gone')],
  ['holds no JSON', () => gzipSync('gone')],
])('the bodies of letters are refused where the blob %s, for that letter alone', async (_, bytes) => {
  const { letters, blobs, names } = await stage();
  await blobs.create();
  const [large, small] = [change(1, 1_500_000), { ...change(1, 100), id: 'e2' }];
  await letters.parkWaiting(P, [large, small], NOW);
  const [name = ''] = await names();
  const damaged = bytes();
  await blobs.getBlockBlobClient(name).upload(damaged, damaged.length);
  const [first, second] = (await letters.list(P)).toSorted((a, b) => (a.id < b.id ? -1 : 1));
  if (!first || !second) throw new Error('No letters');
  await expect(letters.kept(first)).rejects.toMatchObject({ code: 'letter-body-damaged' });
  expect(await letters.kept(second)).toEqual(small);
  expect(await letters.waiting(P, new Set([orderOf(large)]))).toEqual([small]);
  expect(await letters.discard(first)).toBe(true);
});
