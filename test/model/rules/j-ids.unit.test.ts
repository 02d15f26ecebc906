import { expect, test } from 'vitest';
import { ANNOTATED_IDS } from '../../../src/model/rules/j-ids.ts';
import { annotated } from './annotated.ts';

const LINES = [
  'orders, key /customerId',
  '{',
  '"id": "ORDER", "customerId": "c1"',
  '}',
  'The id is made so.',
  'The id is made otherwise.',
];
const orders = (key = '/customerId') => ({
  kind: 'container',
  line: 1,
  words: 'orders',
  container: 'orders',
  key: [key],
});
const id = (line: number, facts: object) => ({ kind: 'id', line, words: 'The id is made', type: 'order', ...facts });
const example = (facts: object = {}) => ({
  kind: 'example',
  line: 2,
  words: '{ "id"',
  to: 4,
  type: 'order',
  container: 'orders',
  ...facts,
});
const found = (text: string, ...annotations: object[]) => annotated(LINES.with(2, text), annotations, ANNOTATED_IDS);
const messages = (text: string, ...annotations: object[]) => found(text, ...annotations).map(({ message }) => message);
const FINE = '"id": "o1", "customerId": "c1"';

test('an example without the key’s field is an error, one that leaves fields out is not', () => {
  expect(messages(FINE, orders(), example())).toEqual([]);
  const [one] = found('"id": "o1", "CustomerID": "c1"', orders(), example());
  expect(one).toMatchObject({ severity: 'error', at: { line: 2 } });
  expect(one?.message).toContain('the example of order has no such field, but CustomerID');
  expect(messages('"id": "o1"', orders(), example({ partial: true }))).toEqual([]);
});

test('an example without an id is named', () => {
  expect(messages('"customerId": "c1"', orders(), { ...example(), words: '{ "customerId"' })[0]).toContain(
    'The example of order has no id',
  );
});

test.each([
  ['"id": "a/b", "customerId": "c1"', {}],
  [FINE, { format: '{customerId}#{number}' }],
  [FINE, { from: ['sourceUrl'] }],
])('an id with a sign that the service refuses: %s %o', (text, facts) => {
  expect(messages(text, orders(), example(), id(5, facts))).toContainEqual(
    expect.stringMatching(/^The id of order can’t be written/),
  );
});

test.each([
  { format: 'sha256(url) or a/b' },
  { from: ['sourceUrl'], format: 'sha256(sourceUrl)' },
  { format: '{customerId}:{number}' },
])('an id in prose, by a hash or with other signs is fine: %o', (facts) => {
  expect(messages('"id": "c1:5", "customerId": "c1"', orders(), example(), id(5, facts))).toEqual([]);
});

test('an id of free text may have any sign', () => {
  expect(messages(FINE, id(5, { from: ['customerId', 'fileName'] }))[0]).toContain(
    'The id of order is made of fileName: such a text may have',
  );
  expect(messages(FINE, id(5, { from: ['customerId', 'fileName'], format: 'md5(customerId + fileName)' }))).toEqual([]);
});

const SHA = 'a'.repeat(64);

test.each([
  ['"id": "o1", "customerId": "c1"', 'order:{number}', 'should be of the form order:{number} (line 5)'],
  ['"id": "c1:7", "customerId": "c1", "number": 8', '{customerId}:{number}', 'should be c1:8 by the form'],
  [`"id": "${SHA}", "customerId": "c1"`, 'sha256(mail)[:16]', 'should be of 16 digits'],
  [`"id": "${SHA.slice(32)}", "customerId": "c1"`, 'SHA-256 of the mail', 'should be of 64 digits'],
])('an id that isn’t made as the text says: %s, %s', (text, format, says) => {
  expect(messages(text, orders(), example(), id(5, { format }))[0]).toContain(says);
});

test.each([
  ['"id": "order:1", "customerId": "c1"', 'order:{number}'],
  ['"id": "c1:8", "customerId": "c1", "number": 8', '{customerId}:{number}'],
  ['"id": "<order id>", "customerId": "c1"', 'order:{number}'],
  [`"id": "${SHA}", "customerId": "c1"`, 'sha256(mail)'],
  ['"id": "o1", "customerId": "c1"', 'sha256(mail)'],
])('an id that may be: %s, %s', (text, format) => {
  expect(messages(text, orders(), example(), id(5, { format }))).toEqual([]);
});

test('an id has the values of the fields that it is made of', () => {
  const from = id(5, { from: ['customerId', 'day'] });
  const [one] = messages('"id": "c1-20260907", "customerId": "c2", "day": "2026-09-07"', orders(), example(), from);
  expect(one).toContain('doesn’t have customerId "c2"');
  expect(messages('"id": "c1-20260907", "customerId": "c1", "day": "2026-09-07"', orders(), example(), from)).toEqual(
    [],
  );
  expect(messages('"id": "xyz", "customerId": "c1", "day": "2026-09-07"', orders(), example(), from)).toEqual([]);
  expect(
    messages(
      '"id": "c1-x", "customerId": "c1", "day": "2026-09-07"',
      orders(),
      example(),
      id(5, { from: ['customerId', 'day'], format: 'hash of both' }),
    ),
  ).toEqual([]);
});

test('two formulas of one id, and chance beside a formula', () => {
  const [one] = messages(FINE, id(5, { from: ['tenantId', 'name'] }), id(6, { from: ['tenantId', 'canonicalName'] }));
  expect(one).toContain('the id is made of tenantId + name (line 5), and of tenantId + canonicalName (line 6)');
  expect(messages(FINE, id(5, { from: ['tenantId', 'name'] }), id(6, { random: true }))[0]).toContain(
    'the id is random (line 6)',
  );
  expect(messages(FINE, id(5, { from: ['tenantId', 'name'] }), id(6, { from: ['name', 'tenantId'] }))).toEqual([]);
  expect(messages(FINE, id(5, { from: ['orderId'] }), id(6, { random: true }))).toEqual([]);
});

test('an id is a string, and the same value as a number is another key', () => {
  const type = (sort: string) => ({
    kind: 'type',
    line: 6,
    words: 'otherwise',
    type: 'order',
    container: 'orders',
    fields: [{ path: 'customerId', type: sort }],
  });
  expect(messages(FINE, orders(), type('number'), id(5, { from: ['customerId'] }))[0]).toContain(
    'customerId, the key of orders, is a number (line 6)',
  );
  expect(messages(FINE, orders(), type('string'), id(5, { from: ['customerId'] }))).toEqual([]);
});

test('values of an example have the form of their field', () => {
  const form = (format: string) => ({
    kind: 'type',
    line: 5,
    words: 'The id is made',
    type: 'order',
    fields: [{ path: 'customerId', format }],
  });
  expect(messages(FINE, orders(), example(), form('GUID'))[0]).toContain(
    'order.customerId "c1" (line 2), which should be GUID (line 5)',
  );
  expect(messages(FINE, orders(), example(), form('/^[a-z]\\d$/'))).toEqual([]);
  expect(messages(FINE, orders(), example(), form('a customer’s number'))).toEqual([]);
  expect(messages('"id": "o1", "customerId": "<uuid>"', orders(), example(), form('uuid'))).toEqual([]);
});

test('an id has its parts also where signs stand for a slash, and one type has one finding', () => {
  const made = id(5, { from: ['customerId', 'day'] });
  const both = (first: string, second: string) => {
    const lines = [first, second].map((value) => `{ "id": "${value}", "customerId": "c1", "day": "2026/03/01" }`);
    return annotated(
      [...lines, 'key /customerId', '', 'The id is made so.'],
      [
        ...lines.map((words, index) => ({ ...example(), line: index + 1, words, to: index + 1 })),
        { ...orders(), line: 3, words: 'key /customerId' },
        made,
      ],
      ANNOTATED_IDS,
    ).map(({ message }) => message);
  };
  expect(both('c1:2026~2F03~2F01', 'c1:2026%2f03%2F01')).toEqual([]);
  const [one, ...others] = both('c1:2026~2F03~2F02', 'c1:2026~2F03~2F03');
  expect(others).toEqual([]);
  expect(one).toContain('doesn’t have day "2026/03/01"');
  expect(one).toContain('1 more example is like it (line 2)');
  // Of a letter or a digit, the sign stands for itself.
  expect(both('c1:2026~3203/01', 'c1:2026~2F03~2F01')).not.toEqual([]);
});

test('a form is met by an id with escaped signs', () => {
  const form = id(5, { format: '{customerId}:{day}' });
  const text = (value: string) => `"id": "${value}", "customerId": "c1", "day": "2026/03/01"`;
  expect(messages(text('c1:2026%2F03%2F01'), orders(), example(), form)).toEqual([]);
  expect(messages(text('c1:2026%2F03%2F02'), orders(), example(), form)[0]).toContain('and should be');
});

test('a definition that lists all fields has an id', () => {
  const lines = ['orders, key /customerId', 'interface Order', 'Primary key: orderId', 'id = orderId'];
  const order = (facts: object = {}, ...fields: object[]) => ({
    kind: 'type',
    line: 2,
    words: 'interface Order',
    type: 'order',
    container: 'orders',
    complete: true,
    fields: [{ path: 'orderId' }, { path: 'customerId' }, { path: 'total' }, ...fields],
    ...facts,
  });
  const made = (line: number) => ({ kind: 'id', line, words: lines[line - 1], type: 'order', from: ['orderId'] });
  const ids = (...annotations: object[]) => annotated(lines, [orders(), ...annotations], ANNOTATED_IDS);
  expect(ids(order())[0]?.message).toContain('id isn’t among them, only orderId');
  expect(ids(order(), made(3))).toHaveLength(1);
  expect(ids(order(), made(4))).toEqual([]);
  expect(ids(order({}, { path: 'id' }))).toEqual([]);
  expect(ids(order({ complete: false }))).toEqual([]);
  expect(ids(order({ existing: true }))).toEqual([]);
});
