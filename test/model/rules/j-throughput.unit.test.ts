import { expect, test } from 'vitest';
import { THROUGHPUTS } from '../../../src/model/rules/j-throughput.ts';
import { annotated } from './annotated.ts';

const rate = (facts: object) => ({ kind: 'throughput', of: 'database', ...facts });
const said = (annotations: object[], lines: string[] = []) =>
  annotated(lines, annotations, THROUGHPUTS).map(({ rule, message }) => `${rule} ${message}`);

test('throughput below the minimum is refused', () => {
  const users = rate({ of: 'container', name: 'users', mode: 'manual', ru: 100 });
  const [one, ...others] = said([users]);
  expect(others).toEqual([]);
  expect(one).toContain('J40 users 100 RU/s (line 1): manual throughput begins at 400 RU/s');
  expect(said([{ ...users, ru: 400 }])).toEqual([]);
  expect(said([{ ...users, mode: 'serverless' }])[0]).toContain('is called serverless');
  expect(said([rate({ name: 'shop', mode: 'autoscale', ru: 800 })])[0]).toContain('begins at 1,000 RU/s');
});

test('autoscale has no base beside its maximum', () => {
  expect(said([rate({ name: 'shop', mode: 'autoscale', ru: 4000, lowest: 800 })])[0]).toContain(
    'shop 800 to 4,000 RU/s (is 400 to 4,000): that is no setting',
  );
  expect(said([rate({ name: 'shop', mode: 'autoscale', ru: 4000, lowest: 400 })])).toEqual([]);
});

test('places that state another figure or mode of one database are a finding', () => {
  const staging = { name: 'staging', mode: 'autoscale' };
  expect(said([rate({ ...staging, ru: 1000 }), rate({ ...staging, ru: 4000 })])[0]).toContain(
    'staging has a maximum of 1,000 RU/s (line 1) and a maximum of 4,000 RU/s (line 2)',
  );
  expect(
    said([rate({ name: 'shop', mode: 'autoscale', ru: 4000 }), rate({ name: 'shop', mode: 'manual', ru: 400 })])[0],
  ).toContain('autoscale 4,000 RU/s (line 1) and manual 400 RU/s (line 2)');
  expect(said([rate({ ...staging, ru: 1000 }), rate({ name: 'shop', mode: 'autoscale', ru: 4000 })])).toEqual([]);
  // Of two environments each has its own.
  expect(
    said([rate({ ...staging, ru: 1000, environment: 'dev' }), rate({ ...staging, ru: 4000, environment: 'prod' })]),
  ).toEqual([]);
});

test('a plan in RU/s beside an open capacity mode is a finding', () => {
  const plan = rate({ name: 'shop', mode: 'autoscale', ru: 4000 });
  expect(said([plan], ['shop has 4000', 'The account is serverless or provisioned.'])[0]).toContain(
    'J40 The capacity mode is left open, serverless or provisioned (line 2)',
  );
  expect(said([plan], ['shop has 4000', 'We compared serverless or provisioned.'])).toEqual([]);
});

test('what is provisioned together fits the limit of the account', () => {
  const limit = rate({ of: 'account', mode: 'limit', ru: 1000 });
  const two = [rate({ name: 'a', mode: 'manual', ru: 400 }), rate({ name: 'b', mode: 'autoscale', ru: 4000 })];
  const [one, ...others] = said([limit, ...two]);
  expect(others).toEqual([]);
  expect(one).toContain('J41 a 400 and b 4,000 (maximum) RU/s are 4,400 RU/s together, and the account may have 1,000');
  expect(said([{ ...limit, ru: 5000 }, ...two])).toEqual([]);
  // Environments may have accounts of their own, unless the text says that there is one.
  const apart = two.map((one_, index) => ({ ...one_, environment: ['dev', 'prod'][index] }));
  expect(said([limit, ...apart])).toEqual([]);
  expect(said([limit, ...apart], ['one', 'two', 'three', 'All are in a single Cosmos DB account.'])).toHaveLength(1);
});

test('three containers at their minimum are more than the free tier gives', () => {
  const free = { kind: 'setting', of: 'account', setting: 'free tier', value: true };
  const all = ['a', 'b', 'c'].map((name) => rate({ of: 'container', name, mode: 'manual', ru: 400 }));
  const lines = ['The free tier has 1000 RU/s.'];
  expect(said([free, ...all], lines)[0]).toContain('are 1,200 RU/s together, with at least 400 RU/s for each');
  expect(said([free, ...all.slice(1)], lines)).toEqual([]);
  expect(said(all, lines)).toEqual([]);
});

test('serverless has no throughput and one region', () => {
  const account = { kind: 'throughput', of: 'account', mode: 'serverless' };
  expect(said([{ ...account, ru: 400 }])[0]).toContain('the account 400 RU/s (line 1) is called serverless');
  expect(said([account])).toEqual([]);
  const regions = (value: unknown) => ({ kind: 'setting', of: 'account', setting: 'regions', value });
  expect(said([account, regions('East US, West US')])[0]).toContain('A serverless account has one region');
  expect(said([account, regions('East US')])).toEqual([]);
  expect(said([account, regions('East US, West US'), rate({ mode: 'autoscale', ru: 4000 })])).toEqual([]);
});

test('a maximum that is refused is told once, of an account, too', () => {
  expect(said([rate({ of: 'account', mode: 'autoscale', ru: 400, lowest: 40 })])).toHaveLength(1);
  expect(said([rate({ name: 'shop', mode: 'autoscale', ru: 400, lowest: 100 })])).toHaveLength(1);
});
