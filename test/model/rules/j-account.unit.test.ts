import { expect, test } from 'vitest';
import { ACCOUNTS } from '../../../src/model/rules/j-account.ts';
import { annotated } from './annotated.ts';

const said = (annotations: object[], lines: string[] = []) =>
  annotated(lines, annotations, ACCOUNTS).map(({ rule, message }) => `${rule} ${message}`);
const setting = (facts: object) => ({ kind: 'setting', of: 'database', setting: 'backup', ...facts });

test('a setting of the account isn’t told differently for its databases', () => {
  const [one, ...others] = said([setting({ name: 'dev', value: false }), setting({ name: 'prod', value: '30 days' })]);
  expect(others).toEqual([]);
  expect(one).toContain('J42 backup differs: dev none (line 1) and prod 30 days (line 2)');
  expect(said([setting({ name: 'dev', value: '7 days' }), setting({ name: 'prod', value: '7 days' })])).toEqual([]);
  expect(
    said([
      setting({ name: 'dev', setting: 'encryption', value: 'a' }),
      setting({ name: 'prod', setting: 'encryption', value: 'b' }),
    ]),
  ).toEqual([]);
});

test('isolation that one key opens is a finding', () => {
  const byKey = { kind: 'tenancy', by: 'account-key' };
  const lines = ['Programs use the connection string.', 'Complete isolation of environments.'];
  expect(said([byKey], lines)[0]).toContain('J43 The data are called isolated (line 2)');
  expect(said([byKey], [lines[0] ?? '', 'There is no complete isolation.'])).toEqual([]);
  expect(said([{ ...byKey, by: 'role' }], lines)).toEqual([]);
  expect(said([byKey], [...lines, 'Production signs in by managed identity.'])).toEqual([]);
});

test('autoscale at the manual price is a finding', () => {
  const price = (facts: object) => ({ kind: 'throughput', of: 'database', monthly: 24, ...facts });
  const manual = price({ name: 'dev', mode: 'manual', ru: 400 });
  const [one, ...others] = said([manual, price({ name: 'prod', mode: 'autoscale', ru: 4000, lowest: 400 })]);
  expect(others).toEqual([]);
  expect(one).toContain('J44 prod at 400 RU/s of autoscale for 24 a month: autoscale costs 1.5 times the manual rate');
  expect(said([manual, price({ name: 'prod', mode: 'autoscale', ru: 4000, lowest: 400, monthly: 36 })])).toEqual([]);
  expect(said([manual])).toEqual([]);
  expect(said([price({ name: 'dev', mode: 'manual', ru: 400, monthly: 240 })])[0]).toContain(
    '100 RU/s cost about 5.84',
  );
});
