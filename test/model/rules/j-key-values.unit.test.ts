import { expect, test } from 'vitest';
import { KEY_CHANGES } from '../../../src/model/rules/j-key-changes.ts';
import { KEY_VALUES } from '../../../src/model/rules/j-key-values.ts';
import { annotated } from './annotated.ts';

const LINES = [
  ...Array.from({ length: 9 }, (_, index) => `This is line number ${index + 1}.`),
  'The key {tenantId} gives an even distribution. It is line number 10.',
];
const at = (line: number) => ({ line, words: `line number ${line}.` });
const keyed = (container: string, key: string, facts: object = {}) => ({
  kind: 'container',
  ...at(1),
  container,
  key: [key],
  ...facts,
});
const value = (line: number, facts: object) => ({ kind: 'keyValue', ...at(line), container: 'events', ...facts });
const type = (line: number, purpose: string, fields: object[] = []) => ({
  kind: 'type',
  ...at(line),
  type: 'event',
  container: 'events',
  purpose,
  fields,
});
const found = (...annotations: object[]) => annotated(LINES, annotations, KEY_VALUES);
const messages = (...annotations: object[]) => found(...annotations).map(({ message }) => message);

test('one and few values are named with the limits of a logical partition', () => {
  expect(messages(keyed('events', '/cluster'), value(2, { distinct: 'few' }))[0]).toMatch(
    /the key cluster has few values \(line 2\).*20 GB and 10,000 RU\/s/,
  );
  const [one] = messages(
    keyed('events', '/userId'),
    value(2, { distinct: 'one', format: 'sha256(token)' }),
    value(3, { distinct: 'many' }),
  );
  expect(one).toContain('userId (sha256(token)) has one value for all documents (line 2)');
  expect(one).toContain('Line 3 counts on many values');
  expect(messages(keyed('events', '/userId'), value(2, { distinct: 'many' }))).toEqual([]);
});

test('one value of the field that says whose documents are is a matter of access first', () => {
  const owner = { kind: 'tenancy', ...at(4), field: 'user_id' };
  expect(messages(keyed('events', '/userId'), value(2, { distinct: 'one' }), owner)).toEqual([]);
});

test('one value of some types is said of them, and a value for each type is few', () => {
  const [one] = messages(
    keyed('events', '/pk'),
    value(2, { type: 'policy', distinct: 'one', format: 'global' }),
    value(3, { type: 'turn', distinct: 'many' }),
  );
  expect(one).toContain('pk (global) has one value for all policy documents (line 2)');
  expect(one).not.toContain('Line 3');
  const each = ['a', 'b'].map((format, index) => value(2 + index, { type: format, distinct: 'one', format }));
  expect(messages(keyed('events', '/type'), ...each)[0]).toContain('has few values (lines 2 and 3)');
});

test('a closed list of the key’s field is few values; reference data may have few', () => {
  const kinds = type(2, 'state', [{ path: 'kind', values: ['a', 'b'] }]);
  expect(messages(keyed('events', '/kind'), kinds)[0]).toContain('few values (a and b)');
  expect(messages(keyed('events', '/kind', { purpose: 'reference' }), kinds)).toEqual([]);
});

test('skew and time are named; another make of the key is, too', () => {
  expect(messages(keyed('events', '/deviceId'), value(2, { skewed: true }))[0]).toContain('have much more than others');
  const [one] = messages(
    keyed('events', '/pk'),
    value(2, { byTime: true, format: '{date}' }),
    value(3, { from: ['tenantId', 'day'] }),
  );
  expect(one).toContain('is the current time');
  expect(one).toContain('line 3 makes it of tenantId and day');
});

test('a hot value with one document is told to split the document', () => {
  const tags = [
    keyed('events', '/tag'),
    { kind: 'id', ...at(3), type: 'event', from: ['tag'] },
    type(4, 'state'),
    value(2, { skewed: true }),
  ];
  expect(found(...tags)[0]?.hint).toContain('Split the document');
});

test('a field whose values are uneven by nature is asked about where the text is silent', () => {
  expect(messages(keyed('events', '/city'))[0]).toContain('events is keyed by city');
  expect(messages(keyed('events', '/city'), value(2, { distinct: 'many' }))).toEqual([]);
  expect(messages(keyed('events', '/orderId'))).toEqual([]);
});

test('documents of an owner that are kept for ever reach the end of a logical partition', () => {
  const tenant = value(2, { from: ['tenantId'] });
  const kept = { kind: 'retention', ...at(4), type: 'event', forever: true };
  expect(messages(keyed('events', '/tenantId'), tenant, type(3, 'audit'), kept)[0]).toContain(
    'all event documents of one tenantId have one key value',
  );
  expect(messages(keyed('events', '/tenantId'), tenant, type(3, 'audit'))).toEqual([]);
  expect(messages(keyed('events', '/tenantId'), tenant, type(3, 'state'), kept)).toEqual([]);
  expect(
    messages(keyed('events', '/tenantId'), value(2, { from: ['tenantId', 'eventId'] }), type(3, 'audit'), kept),
  ).toEqual([]);
});

test('a distribution that is called even is held to the key', () => {
  const [one] = messages(keyed('events', '/tenantId'), type(3, 'state'), value(10, { from: ['tenantId'] }));
  expect(one).toContain('It isn’t the even distribution that line 10 names');
});

const changes = (...annotations: object[]) => annotated(LINES, annotations, KEY_CHANGES).map(({ message }) => message);

test('a key that a document gets later is an error', () => {
  expect(changes(keyed('events', '/teamId'), value(2, { type: 'owner', required: false }))[0]).toContain(
    'events is keyed by teamId, and owner may be created without it or get it later (line 2)',
  );
  expect(changes(keyed('events', '/teamId'), type(2, 'state', [{ path: 'teamId', optional: true }]))[0]).toContain(
    'some documents may be created without it',
  );
  expect(changes(keyed('events', '/teamId'), type(2, 'state', [{ path: 'teamId' }]))).toEqual([]);
});

test('a key of what people change is a warning', () => {
  expect(changes(keyed('events', '/email'))[0]).toContain('events is keyed by email. People change such a value');
  expect(changes(keyed('events', '/owner'), value(2, { from: ['phoneNumber'] }))[0]).toContain(
    'keyed by owner, which is made of phoneNumber',
  );
  expect(changes(keyed('events', '/userId'))).toEqual([]);
  expect(changes(keyed('events', '/fileName'))).toEqual([]);
});

test('a write that sets the key is an error, one that sets a part of the id a warning', () => {
  const write = (sets: string[]) => ({
    kind: 'access',
    ...at(2),
    name: 'Move',
    operation: 'patch',
    container: 'events',
    sets,
  });
  expect(changes(keyed('events', '/teamId'), write(['teamId']))[0]).toContain('"Move" changes teamId');
  const made = [{ kind: 'id', ...at(3), type: 'event', from: ['name'] }, type(4, 'state')];
  const rename = { ...write(['name']), type: 'event' };
  expect(changes(keyed('events', '/teamId'), ...made, rename)[0]).toContain(
    '"Move" changes name, of which the id of event is made (line 3)',
  );
  expect(changes(keyed('events', '/teamId'), ...made, { ...rename, sets: ['title'] })).toEqual([]);
  expect(changes(keyed('events', '/teamId'), write(['name']))).toEqual([]);
});

test('few values are fine where the text bounds the data, owns the choice, or doesn’t design the container', () => {
  const few = [keyed('events', '/kind'), value(2, { distinct: 'few' }), type(3, 'state')];
  expect(messages(...few)).toHaveLength(1);
  expect(messages(...few, { kind: 'scale', ...at(4), container: 'events', documents: 900, bounded: true })).toEqual([]);
  expect(messages(...few, { kind: 'scale', ...at(4), users: 1 })).toEqual([]);
  const lines = LINES.with(1, 'Deliberately in one partition, line number 2.');
  expect(annotated(lines, few, KEY_VALUES)).toEqual([]);
  expect(messages(keyed('events', '/kind', { existing: true }), ...few.slice(1))).toEqual([]);
  expect(messages(keyed('events', '/userId'), ...few.slice(1))).toEqual([]);
});

test('old documents without the key, and documents of a short life, are no key that changes', () => {
  const changed = (lines: string[], ...annotations: object[]) => annotated(lines, annotations, KEY_CHANGES);
  const later = [keyed('events', '/owner'), value(2, { required: false })];
  expect(changed(LINES, ...later)).toHaveLength(1);
  expect(changed(LINES.with(1, 'Legacy documents lack it, line number 2.'), ...later)).toEqual([]);
  expect(changed(LINES, keyed('codes', '/email'))).toHaveLength(1);
  expect(changed(LINES, keyed('codes', '/email', { ttl: 300 }))).toEqual([]);
  expect(changed(LINES, keyed('codes', '/email', { existing: true }))).toEqual([]);
});

test('a hot value is silent where the text gives its load or size below the limits, or what is done', () => {
  const skewed = (text: string) =>
    annotated(
      LINES.with(1, `${text}, line number 2.`),
      [keyed('events', '/storeId'), value(2, { skewed: true })],
      KEY_VALUES,
    );
  expect(skewed('The most visited store, 40 % of 300 RPS = 120 RU/s')).toEqual([]);
  expect(skewed('At the worst 4,990 RU/s of the 10,000 RU/s that a partition gives')).toEqual([]);
  expect(skewed('The largest store has 83 MB of 20 GB')).toEqual([]);
  expect(skewed('Large stores are split by hour')).toEqual([]);
  expect(skewed('Keys of large stores get a suffix')).toEqual([]);
  expect(skewed('The largest store takes 14,000 RU/s')).toHaveLength(1);
  expect(skewed('The largest store takes 900 RU/s and has 1.2 TB')).toHaveLength(1);
  expect(skewed('A partition gives 10,000 RU/s, and large stores have most orders')).toHaveLength(1);
  expect(skewed('The largest, 5 % of 20,000 RU/s = 1,000 RU/s')).toEqual([]);
  expect(skewed('Large stores have more orders, of 3 KB or 1 MB each')).toHaveLength(1);
  expect(skewed('Large stores have more orders, and no suffix splits them')).toHaveLength(1);
  expect(skewed('A split between large and small stores')).toHaveLength(1);
});

test('a year is no time of all writes, unless documents come all the time', () => {
  const season = value(2, { byTime: true, distinct: 'few', from: ['season'] });
  expect(messages(keyed('events', '/season'), season, type(3, 'state'))).toEqual([]);
  expect(messages(keyed('events', '/season'), season, type(3, 'telemetry')).length).toBeGreaterThan(0);
});

test('reference data may have one value, and a state document of each value is no large one', () => {
  const one = value(2, { distinct: 'one', format: 'default' });
  expect(messages(keyed('events', '/orgId'), one, type(3, 'reference'))).toEqual([]);
  expect(messages(keyed('events', '/orgId'), one, type(3, 'state'))).toHaveLength(1);
  const few = value(2, { distinct: 'few' });
  const agent = { ...type(3, 'state'), type: 'agentState' };
  expect(messages(keyed('events', '/agentName'), few, agent)).toEqual([]);
  expect(messages(keyed('events', '/agentName'), few, type(3, 'state'))).toHaveLength(1);
});

test('a time among differing keys is named', () => {
  const time = value(3, { byTime: true, from: ['createdAt'] });
  const [one] = messages(keyed('events', '/severity'), { ...keyed('events', '/createdAt'), ...at(2) }, time);
  expect(one).toContain('the key createdAt is the current time');
});

test('a list of fields that may not change has the key', () => {
  const fixed = (line: number, of: string) => ({
    kind: 'fact',
    ...at(line),
    of,
    property: 'change',
    value: 'immutable',
  });
  const save = (facts: object = {}) => ({
    kind: 'access',
    ...at(6),
    name: 'Save',
    operation: 'replace',
    container: 'events',
    type: 'event',
    ...facts,
  });
  const fields = [{ path: 'id' }, { path: 'kind' }, { path: 'region' }];
  const changed = (...annotations: object[]) =>
    annotated(LINES, [keyed('events', '/region'), type(3, 'state', fields), ...annotations], KEY_CHANGES);
  expect(changed(fixed(4, 'id of event'), fixed(5, 'kind'), save())[0]?.message).toContain('isn’t among them');
  expect(changed(fixed(4, 'id of event'), save())).toEqual([]);
  expect(changed(fixed(4, 'id of event'), fixed(5, 'kind'), fixed(7, 'region'), save())).toEqual([]);
  expect(changed(fixed(4, 'id of event'), fixed(5, 'kind'), save({ sets: ['kind'] }))).toEqual([]);
});
