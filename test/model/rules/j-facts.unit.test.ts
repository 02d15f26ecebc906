import { expect, test } from 'vitest';
import { STATED_TWICE } from '../../../src/model/rules/j-facts.ts';
import { annotated } from './annotated.ts';

const LINES = Array.from({ length: 12 }, (_, index) => `This is line number ${index + 1}.`);
const at = (line: number) => ({ line, words: `line number ${line}.` });
const fact = (line: number, of: string, property: string, value: unknown, unit?: string) => ({
  kind: 'fact',
  ...at(line),
  of,
  property,
  value,
  ...(unit !== undefined && { unit }),
});
const messages = (...annotations: object[]) =>
  annotated(LINES, annotations, STATED_TWICE).map(({ message }) => message);

test('two numbers of one thing are a finding with both and their lines', () => {
  const [found, ...others] = annotated(
    LINES,
    [fact(1, 'user_id', 'length', 8), fact(2, 'user_id', 'length', 8), fact(5, 'user_id', 'length', 16)],
    STATED_TWICE,
  );
  expect(others).toEqual([]);
  expect(found?.message).toMatch(/^user_id: length is 8 \(lines 1 and 2\) and 16 \(line 5\)/);
  expect(found?.at.line).toBe(5);
});

test('units are converted, and another subject or property is another thing', () => {
  expect(messages(fact(1, 'logs', 'kept', 90, 'days'), fact(2, 'logs', 'kept', 7_776_000, 's'))).toEqual([]);
  expect(
    messages(
      fact(1, 'logs', 'kept', 90, 'days'),
      fact(2, 'audits', 'kept', 30, 'days'),
      fact(3, 'logs', 'read', 30, 'days'),
    ),
  ).toEqual([]);
  // `_ts` is the service's, `ts` the application's.
  expect(messages(fact(1, '_ts', 'digits', 10), fact(2, 'ts', 'digits', 13))).toEqual([]);
});

test('contradictions of one place are one finding', () => {
  const [found, ...others] = messages(
    fact(1, 'tts task', 'number', 3),
    fact(1, 'image task', 'number', 4),
    fact(2, 'tts task', 'number', 5),
    fact(3, 'image task', 'number', 6),
  );
  expect(others).toEqual([]);
  expect(found).toContain('tts task: number');
  expect(found).toContain('image task: number');
});

test('an example may shorten a list, but not the length of a value', () => {
  const lines = ['The vector has 1536 dimensions.', '{', '"embedding": [0.1, 0.2],', '"id": "a"', '}'];
  const example = { kind: 'example', line: 2, words: '{ "embedding"', to: 5, type: 'memory' };
  const facts = [
    { kind: 'fact', line: 1, words: '1536 dimensions', of: 'embedding', property: 'dimensions', value: 1536 },
    { kind: 'fact', line: 3, words: '"embedding": [0.1, 0.2]', of: 'embedding', property: 'dimensions', value: 2 },
  ];
  expect(annotated(lines, [example, ...facts], STATED_TWICE)).toEqual([]);
  expect(annotated(lines, facts, STATED_TWICE)).toHaveLength(1);
});

test('samples, environments and lists of one thing each don’t contradict one another', () => {
  const users = { kind: 'container', ...at(1), container: 'Users', key: ['/id'] };
  expect(messages({ ...fact(2, 'retry', 'delay', 5), example: true }, fact(3, 'retry', 'delay', 9))).toEqual([]);
  expect(messages({ ...fact(2, 'retry', 'delay', 5), environment: 'dev' }, fact(3, 'retry', 'delay', 9))).toEqual([]);
  expect(
    messages(
      users,
      fact(2, 'Users', 'partition', 'person'),
      fact(3, 'Users', 'partition', 'team'),
      fact(4, 'Users', 'partition', 'role'),
    ),
  ).toEqual([]);
});

test('free words are compared only where another word is another value', () => {
  const users = { kind: 'container', ...at(1), container: 'Users', key: ['/id'] };
  expect(
    messages(users, fact(2, 'Users', 'stored in', 'Blob Storage'), fact(3, 'Users', 'stored in', 'the database')),
  ).toEqual([]);
  expect(
    messages(
      users,
      fact(2, 'Users', 'update', 'each successful build of it'),
      fact(3, 'Users', 'update', 'whenever somebody asks for it'),
    ),
  ).toEqual([]);
  expect(messages(fact(2, 'Vue', 'editor', 'vim'), fact(3, 'Vue', 'editor', 'emacs'))).toEqual([]);
  expect(
    messages(
      users,
      fact(2, 'Users', 'granularity', 'one per person'),
      fact(3, 'Users', 'granularity', 'one per person and month'),
    ),
  ).toEqual([]);
  expect(
    messages(
      users,
      fact(2, 'Users', 'granularity', 'one per person'),
      fact(3, 'Users', 'granularity', 'one per tenant'),
    ),
  ).toHaveLength(1);
  expect(messages(fact(2, 'sign-in', 'required', true), fact(3, 'sign-in', 'required', false))).toHaveLength(1);
});

test('TTL and database of a container are compared', () => {
  const container = (line: number, facts: object) => ({ kind: 'container', ...at(line), container: 'Logs', ...facts });
  expect(messages(container(1, { ttl: 86_400 }), container(2, { ttl: 3600 }))[0]).toContain(
    'Logs: the TTL is 86,400 s (line 1) and 3,600 s (line 2)',
  );
  expect(messages(container(1, { ttl: 86_400 }), container(2, { ttl: 86_400 }))).toEqual([]);
  expect(messages(container(1, { database: 'shop' }), container(2, { database: 'store' }))[0]).toContain(
    'the database',
  );
});

test('a field has one JSON type in declarations and examples; a date may be a string', () => {
  const type = (line: number, fields: object[]) => ({ kind: 'type', ...at(line), type: 'order', fields });
  expect(
    messages(type(1, [{ path: 'number', type: 'string' }]), type(2, [{ path: 'number', type: 'number' }]))[0],
  ).toContain('order: number is string (line 1) and number (line 2)');
  expect(messages(type(1, [{ path: 'at', type: 'date' }]), type(2, [{ path: 'at', type: 'string' }]))).toEqual([]);
  const lines = ['| at | date |', '{', '"id": "1", "at": true', '}'];
  const shown = annotated(
    lines,
    [
      { kind: 'type', line: 1, words: 'at | date', type: 'order', fields: [{ path: 'at', type: 'date' }] },
      { kind: 'example', line: 2, words: '{ "id"', to: 4, type: 'order' },
    ],
    STATED_TWICE,
  );
  expect(shown[0]?.message).toContain('at is date (line 1) and boolean (line 2)');
});

test('lower bounds agree with what is above them, and hopes are no design', () => {
  const lines = ['At most 70%+ of it.', 'At most 83%+ of it.', 'It is 60 % of it.', '', '', '', ''];
  const share = (line: number, property: string, value: number, words: string) => ({
    ...fact(line, 'throughput', property, value, '%'),
    words,
  });
  const [seventy, more, sixty] = [
    share(1, 'part of reads', 70, '70%+'),
    share(2, 'part of reads', 83, '83%+'),
    share(3, 'part of reads', 60, '60 %'),
  ];
  expect(annotated(lines, [seventy, more], STATED_TWICE)).toEqual([]);
  expect(annotated(lines, [seventy, sixty], STATED_TWICE)).toHaveLength(1);
  expect(messages(fact(1, 'plan', 'savings', 70, '%'), fact(2, 'plan', 'savings', 83, '%'))).toEqual([]);
});

test('what is there today doesn’t contradict what is designed', () => {
  const lines = ['# Goals', 'The job is on.', '# Current state', 'The job is off.'];
  const job = (line: number, words: string, enabled: boolean) => ({ ...fact(line, 'job', 'enabled', enabled), words });
  expect(annotated(lines, [job(2, 'The job is on', true), job(4, 'The job is off', false)], STATED_TWICE)).toEqual([]);
  expect(
    annotated(
      lines.with(2, '# Operation'),
      [job(2, 'The job is on', true), job(4, 'The job is off', false)],
      STATED_TWICE,
    ),
  ).toHaveLength(1);
});

test('a pattern of names and a database of tests contradict nothing', () => {
  const container = (line: number, database: string) => ({
    kind: 'container',
    ...at(line),
    container: 'Logs',
    database,
  });
  expect(messages(container(1, 'shop'), container(2, 'shop_test'))).toEqual([]);
  expect(messages(fact(1, 'database', 'name', 'shop_eu'), fact(2, 'database', 'name', 'shop_*'))).toEqual([]);
  expect(messages(fact(1, 'database', 'name', 'shop_eu'), fact(2, 'database', 'name', 'store'))).toHaveLength(1);
});

test('a load that a place counts with for several containers isn’t that of each', () => {
  const lines = [
    'Together 17,512 RU/s.',
    'Days, Routes: 5 % of 17,402 RU/s = 870.',
    'Routes: 5 % of 17,402 RU/s = 870.',
  ];
  const routes = [
    { kind: 'container', line: 2, words: 'Days', container: 'Days' },
    { kind: 'container', line: 2, words: 'Routes', container: 'Routes' },
    { kind: 'fact', line: 1, words: 'Together 17,512', of: 'load of Routes', property: 'RU/s', value: 17_512 },
  ];
  const counted = (line: number, words: string) =>
    annotated(
      lines,
      [
        ...routes,
        { kind: 'fact', line, words, of: 'load of Routes', property: 'RU/s', value: 17_402 },
        { kind: 'sum', line, words, what: 'load', operation: 'product', parts: [0.05, 17_402], total: 870 },
      ],
      STATED_TWICE,
    );
  expect(counted(2, 'Days, Routes: 5 % of 17,402')).toEqual([]);
  expect(counted(3, 'Routes: 5 % of 17,402')).toHaveLength(1);
});

test('a label of a drawing or a title is the name beside it', () => {
  const users = { kind: 'container', ...at(3), container: 'users' };
  const named = (first: string, second: string) =>
    messages(users, fact(1, 'container of users', 'name', first), fact(2, 'container of users', 'name', second));
  expect(named('User Container', 'users')).toEqual([]);
  expect(named('accounts', 'users')).toHaveLength(1);
  expect(named('Order Container', 'users')).toHaveLength(1);
});

test('calls of code, and types of what is no field, are no facts of the model', () => {
  const users = { kind: 'type', ...at(3), type: 'user', container: 'users', fields: [{ path: 'label' }] };
  const all = (of: string, property: string, first: string, second: string) =>
    messages(users, fact(1, of, property, first), fact(2, of, property, second));
  expect(all('users', 'save method', 'save(a)', 'store(a, b)')).toEqual([]);
  expect(all('label prediction', 'type', 'bool', 'int')).toEqual([]);
  expect(all('label', 'type', 'bool', 'int')).toHaveLength(1);
});
