import { type PartitionKeyDefinition, PartitionKeyDefinitionVersion, PartitionKeyKind } from '@azure/cosmos';
import { type ChangesPage, readChanges } from 'millrace/feed';
import { describe, expect, it } from 'vitest';
import type { KeyLevel } from '../../../src/client.ts';
import { emulate } from '../../emulator/emulate.ts';

const numbers = (to: number): string[] => Array.from({ length: to }, (_, n) => `d${n}`);
async function stage({ partitions = 1 } = {}) {
  const { database, container } = await emulate({ throughput: 6_000 * partitions });
  const write = async (ids: readonly string[]): Promise<void> => {
    for (const id of ids) await container.items.upsert({ id, pk: id });
  };
  return { database, container, write };
}
const LEVELS: PartitionKeyDefinition = {
  paths: ['/a', '/b'],
  kind: PartitionKeyKind.MultiHash,
  version: PartitionKeyDefinitionVersion.V2,
};
async function idsOf(pages: AsyncIterable<ChangesPage>): Promise<string[]> {
  const found: string[] = [];
  for await (const { changes } of pages) found.push(...changes.map(({ id }) => id));
  return found;
}

describe('a reader without leases', () => {
  it('a reader without leases reads the ranges that the client names, each document once', async () => {
    const { container, write } = await stage({ partitions: 3 });
    await write(numbers(40));
    const ranges = await container.getFeedRanges();
    expect(ranges.length).toBeGreaterThan(1);
    const ids = async (of: typeof ranges): Promise<string[]> => idsOf(readChanges(container, { ranges: of }));
    expect((await ids(ranges)).toSorted()).toEqual(numbers(40).toSorted());
    const each: string[] = [];
    for (const range of ranges) each.push(...(await ids([range])));
    expect(each.toSorted()).toEqual(numbers(40).toSorted());
  });

  it.each<[string, PartitionKeyDefinition, KeyLevel | readonly KeyLevel[], readonly string[]]>([
    ['a text', { paths: ['/a'], version: PartitionKeyDefinitionVersion.V2 }, 'x', ['x1', 'x2', 'xnull']],
    ['of the old hash', { paths: ['/a'], version: PartitionKeyDefinitionVersion.V1 }, ['x'], ['x1', 'x2', 'xnull']],
    ['null', { paths: ['/b'], version: PartitionKeyDefinitionVersion.V2 }, null, ['xnull']],
    ['no value', { paths: ['/b'], version: PartitionKeyDefinitionVersion.V2 }, {}, ['none']],
    ['the first level', LEVELS, 'x', ['x1', 'x2', 'xnull']],
    ['all levels', LEVELS, ['x', 2], ['x2']],
    ['a key that no document has', LEVELS, ['y', 2], []],
  ])('a reader without leases reads one partition key alone: %s', async (_, partitionKey, key, expected) => {
    const { database } = await emulate({ throughput: 20_000 });
    const { container } = await database.containers.create({ id: 'keyed', partitionKey });
    for (let n = 0; n < 20; n++) await container.items.create({ id: `other${n}`, a: `a${n}`, b: `b${n}` });
    for (const b of [1, 2, null]) await container.items.create({ id: `x${b}`, a: 'x', b });
    await container.items.create({ id: 'none', a: 'z' });
    const found = await idsOf(readChanges(container, { partitionKey: key }));
    expect(found.toSorted()).toEqual(expected);
  });

  it.each([
    ['a range of no known form', { ranges: [{ from: '', to: 'FF' }] }, /ranges\[0\].*from/],
    ['a range in small letters', { ranges: [{ min: '', max: 'ff' }] }, /ranges\[0\]/],
    ['a range that has nothing', { ranges: [{ min: '0A', max: '0A' }] }, /ranges\[0\]/],
    ['ranges that are no list', { ranges: { minInclusive: '', maxExclusive: 'FF' } }, /not a list of ranges/],
    ['a key that is no key', { partitionKey: { a: 1 } }, /no partition key/],
    ['a key with too many levels', { partitionKey: ['a', 'b'] }, /2 levels, and c has 1/],
    ['ranges and a key', { ranges: [], partitionKey: 'a' }, /`ranges` and `partitionKey`/],
  ])('a reader without leases refuses %s', async (_, options, message) => {
    const { container } = await stage();
    const read = idsOf(readChanges(container, options as never));
    await expect(read).rejects.toMatchObject({
      code: 'option-invalid',
      message: expect.stringMatching(message) as string,
    });
  });
});
