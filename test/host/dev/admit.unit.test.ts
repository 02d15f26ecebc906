import { expect, it } from 'vitest';
import { admitSteps } from '../../../src/host/dev/admit.ts';

const CONTAINERS = new Map([['C', [['a'], ['b']]]]);
const admit = (upsert: { id: string; [field: string]: unknown }) => admitSteps({ container: 'C', upsert }, CONTAINERS);

it('takes a document that lacks levels of its key, and keeps them apart from null', () => {
  expect(admit({ id: 'x', b: null })).toMatchObject({ key: [{}, null] });
  expect(admit({ id: 'x', a: [1], b: 1 })).toContain("its value at /a, part of the partition key of C, can't be a key");
});

it('takes the ids that Cosmos DB takes, and no others', () => {
  for (const id of ['a?b', '?', 'a b', 'ü', 'x'.repeat(1_023)]) expect(admit({ id })).toMatchObject({ id });
  for (const id of ['a/b', 'a\\b', 'a#b']) expect(admit({ id })).toContain('contains one of / \\ #');
  expect(admit({ id: '' })).toBe('its id is empty');
  expect(admit({ id: 'é'.repeat(512) })).toContain('has 1,024 bytes');
});

it('refuses a whole number that its parse may have rounded, with its path', () => {
  expect(admit({ id: 'x', list: [{ n: 2 ** 53 }] })).toContain('its /list/0/n is the whole number 9007199254740992');
  expect(admit({ id: 'x', n: 2 ** 53 - 1, far: 1e300 })).toMatchObject({ id: 'x' });
});
