import { expect, test } from 'vitest';
import { CLOSED_LISTS } from '../../../src/model/rules/j-values.ts';
import { annotated } from './annotated.ts';

const LINES = [
  'status: PENDING, DONE',
  'The worker asks for Pending jobs.',
  "SELECT * FROM c WHERE c.status = 'Pending'",
  'status is pending, done or failed',
  '{',
  '"id": "1", "status": "active|closed"',
  '}',
  "SELECT * FROM c WHERE c.status IN ('DONE', 'OPEN')",
];
const list = (line: number, words: string, values: string[]) => ({
  kind: 'type',
  line,
  words,
  type: 'job',
  fields: [{ path: 'status', values }],
});
const query = (line: number, type?: string) => ({
  kind: 'access',
  line,
  words: LINES[line - 1],
  name: 'Find jobs',
  operation: 'query',
  sql: LINES[line - 1],
  ...(type !== undefined && { type }),
});
const found = (...annotations: object[]) => annotated(LINES, annotations, CLOSED_LISTS);

test('a spelling that a query has and the list doesn’t is named with both lines', () => {
  const [first, ...others] = found(list(1, 'PENDING, DONE', ['PENDING', 'DONE']), query(3, 'job'));
  expect(others).toEqual([]);
  expect(first?.message).toContain('job.status: PENDING (line 1) and Pending (line 3)');
  expect(first?.message).toContain('case-sensitive');
});

test('a query without a type belongs to the only type with the field', () => {
  expect(found(list(1, 'PENDING, DONE', ['PENDING', 'DONE']), query(3))).toHaveLength(1);
});

test('a value of a fact is a spelling, too', () => {
  const fact = {
    kind: 'fact',
    line: 2,
    words: 'Pending jobs',
    of: 'status',
    property: 'value of pending',
    value: 'Pending',
  };
  expect(found(list(1, 'PENDING, DONE', ['PENDING', 'DONE']), fact)[0]?.message).toContain('Pending (line 2)');
});

test('two lists with other values, and a literal in no list', () => {
  const fact = {
    kind: 'fact',
    line: 4,
    words: 'pending, done or failed',
    of: 'status of job',
    property: 'values',
    value: 'PENDING, DONE, FAILED',
  };
  expect(found(list(1, 'PENDING, DONE', ['PENDING', 'DONE']), fact)[0]?.message).toContain(
    'FAILED (line 4) is not in every list',
  );
  expect(found(list(1, 'PENDING, DONE', ['PENDING', 'DONE']), query(8, 'job'))[0]?.message).toContain(
    'OPEN (line 8) is in no list',
  );
});

test('alternatives in an example are a list', () => {
  const example = { kind: 'example', line: 5, words: '{ "id"', to: 7, type: 'job' };
  expect(found(list(1, 'PENDING, DONE', ['active', 'closed']), example)).toEqual([]);
  expect(found(list(1, 'PENDING, DONE', ['active', 'done']), example)[0]?.message).toContain('closed');
});

test('a fact of another status isn’t compared', () => {
  const fact = {
    kind: 'fact',
    line: 4,
    words: 'pending, done or failed',
    of: 'status of a mail of the job',
    property: 'values',
    value: 'PENDING, DONE, FAILED',
  };
  expect(found(list(1, 'PENDING, DONE', ['PENDING', 'DONE']), fact)).toEqual([]);
});

test('lists that share little are of other fields', () => {
  expect(
    found(list(1, 'PENDING, DONE', ['PENDING', 'DONE']), list(2, 'Pending jobs', ['ACTIVE', 'CLOSED', 'DONE2'])),
  ).toEqual([]);
});

test('equal lists are fine, and lists of other types aren’t compared', () => {
  const other = {
    kind: 'type',
    line: 4,
    words: 'pending, done or failed',
    type: 'mail',
    fields: [{ path: 'status', values: ['pending', 'done', 'failed'] }],
  };
  expect(
    found(list(1, 'PENDING, DONE', ['PENDING', 'DONE']), list(2, 'Pending jobs', ['DONE', 'PENDING']), other),
  ).toEqual([]);
});

test('an id or a date that is made of parts is no list, and a list of states is', () => {
  const both = (path: string, first: string, second: string) => {
    const lines = [first, second].map((value, index) => `{ "n": ${index}, "store": "s1", "${path}": "${value}" }`);
    return annotated(
      lines,
      lines.map((words, index) => ({ kind: 'example', line: index + 1, words, to: index + 1, type: 'total' })),
      CLOSED_LISTS,
    ).map(({ message }) => message);
  };
  expect(both('id', 'total|customer-1', 'total|customer-2')).toEqual([]);
  expect(both('parentId', 'total|customer-1', 'total|customer-2')).toEqual([]);
  expect(both('range', '2026-03-01/open', '2026-03-02/open')).toEqual([]);
  // It has the value of another field.
  expect(both('slug', 'a|s1', 'b|s1')).toEqual([]);
  expect(both('status', 'open|done', 'open|closed')[0]).toContain('total.status');
});
