import { expect, test } from 'vitest';
import { MARKS } from '../../src/engine/runners.ts';
import { RESTORING, type SourceContainer } from '../../src/feed/reading/mapper.ts';
import { deliveredVersions } from '../../src/runtime/delivered-versions.ts';

const source: SourceContainer = { name: 'C', keyPaths: [['day']], types: new Map([['thing', {}]]), marks: MARKS };

test('the placeholder of a restore is delivered, also where its key has a date', async () => {
  const day = '2026-01-01T10:00:00.000Z';
  const current = { id: 'a', day, type: RESTORING, ttl: 300, _etag: '"4"', _ts: 4 };
  const metadata = { operationType: 'create', lsn: 4, crts: 4 };
  const asStored = async (delivered: readonly Record<string, unknown>[]) =>
    new Map(delivered.map((raw) => [raw, { ...raw, day }]));
  const options = { epoch: 1, again: true, now: 86_400_000, stored: asStored, identified: asStored };
  expect(await deliveredVersions(source, [{ current, metadata }], options)).toMatchObject([
    { type: RESTORING, key: [day], id: 'a' },
  ]);
});
