import { expect, test } from 'vitest';
import { REQUEST_UNITS } from '../../../src/model/rules/j-request-units.ts';
import { WHO_DELETES } from '../../../src/model/rules/j-who-deletes.ts';
import { annotated } from './annotated.ts';

const said = (annotations: object[], lines: string[] = []) =>
  annotated(lines, annotations, [...REQUEST_UNITS, ...WHO_DELETES]).map(({ rule, message }) => `${rule} ${message}`);
const rate = { kind: 'throughput', of: 'database', mode: 'manual', ru: 400 };

test('a capacity of one RU for each operation is a finding', () => {
  expect(said([rate], ['400 RU/s', '~1,440,000 operations/hour at most'])[0]).toContain(
    'J47 1,440,000 operations an hour of 400 RU/s count one RU for each',
  );
  expect(said([rate], ['400 RU/s', '~240,000 operations/hour at most'])).toEqual([]);
});

test('TTL is no answer to RU use', () => {
  expect(said([rate], ['400 RU/s', 'sustained 400 RU/s: consider reducing TTL'])[0]).toContain('A shorter TTL');
  expect(said([rate], ['400 RU/s', 'To save storage, consider reducing TTL'])).toEqual([]);
});

test('a document with a vector isn’t read for 1 RU', () => {
  const read = { kind: 'access', name: 'Read a note', operation: 'point-read', container: 'notes', type: 'note' };
  const note = (path: string) => ({ kind: 'type', type: 'note', container: 'notes', fields: [{ path }] });
  const lines = ['1 point read (~1 RU)', 'a 1536-d vector'];
  expect(said([read, note('textVector')], lines)[0]).toContain(
    '"Read a note" for 1 RU: a document with note.textVector',
  );
  expect(said([read, note('text')], lines)).toEqual([]);
  expect(said([read, note('textVector')], ['1 point read (~9 RU)', 'a 1536-d vector'])).toEqual([]);
});

const club = { kind: 'container', container: 'club', key: ['/clubId'] };
const whole = {
  kind: 'access',
  name: 'Read all',
  operation: 'query',
  container: 'club',
  equals: ['clubId'],
  returns: 'list',
};
const size = { kind: 'scale', container: 'club', totalBytes: 32_000_000, within: ['clubId'], bounded: true };

test('a read of a whole partition fits the throughput', () => {
  expect(said([club, whole, size, rate])[0]).toContain('J49 "Read all" read');
  expect(said([club, whole, { ...size, totalBytes: 1_000_000 }, rate])).toEqual([]);
  expect(said([club, { ...whole, equals: ['clubId', 'type'] }, size, rate])).toEqual([]);
  expect(said([club, { ...whole, paged: true }, size, rate])).toEqual([]);
});

test('a limit that ends in an error needs a way to stay below it', () => {
  const lines = ['the club', 'at most 10,000 documents, else an error', 'matches'];
  const limit = { kind: 'scale', container: 'club', documents: 10_000, bounded: true };
  const match = { kind: 'type', type: 'match', container: 'club' };
  const create = { kind: 'access', name: 'Create a match', operation: 'create', type: 'match' };
  expect(said([club, limit, match, create], lines)[0]).toContain(
    'J49 At 10,000 documents requests to club end in an error (line 2), and nothing removes or archives match',
  );
  expect(said([club, limit, match, create, { kind: 'retention', type: 'match', by: 'archive' }], lines)).toEqual([]);
  expect(said([club, limit, match, create], ['the club', 'about 10,000 documents', 'matches'])).toEqual([]);
});

test('places that forbid and allow one deletion are a finding', () => {
  const deletion = (facts: object) => ({ kind: 'deletion', type: 'Machine', way: 'hard', ...facts });
  expect(said([deletion({ allowed: false }), deletion({ by: 'Admin' })])[0]).toContain(
    'J48 Machine is never deleted for good (line 1) and is deleted for good by Admin (line 2)',
  );
  expect(said([deletion({ allowed: false, by: 'user' }), deletion({ by: 'Admin' })])).toEqual([]);
  expect(said([deletion({ allowed: false }), deletion({ way: 'soft' })])).toEqual([]);
});

test('stated rates of requests fit the throughput', () => {
  const orders = { kind: 'container', container: 'orders', key: ['/id'] };
  const load = (perSecond: number) => ({ kind: 'scale', container: 'orders', perSecond });
  const most = { kind: 'throughput', of: 'container', name: 'orders', mode: 'autoscale', ru: 10_000 };
  const lines = ['orders', 'writes a second', 'reads a second', 'the most'];
  expect(said([orders, load(5000), load(1000), most], lines)[0]).toContain('take 26,000 RU/s');
  expect(said([orders, load(500), load(1000), most], lines)).toEqual([]);
  expect(said([orders, load(5000), load(1000), { ...most, environment: 'test' }], lines)).toEqual([]);
  expect(said([orders, load(5000), load(1000), { ...most, name: 'users' }], lines)).toEqual([]);
});

test('a size of a part of the key, and throughput of another container, say nothing of a read', () => {
  const files = (key: string[]) => ({ kind: 'container', container: 'files', key });
  const bytes = { kind: 'scale', container: 'files', totalBytes: 20e9, within: ['userId'], bounded: true };
  const read = {
    kind: 'access',
    name: 'List',
    operation: 'query',
    container: 'files',
    equals: ['userId'],
    returns: 'list',
  };
  const all = (container: object, throughput: object) =>
    said([container, bytes, read, throughput]).filter((text) => text.includes('all of a partition'));
  expect(all(files(['/userId']), rate)).toHaveLength(1);
  expect(all(files(['/userId', '/fileId']), rate)).toEqual([]);
  expect(all(files(['/userId']), { ...rate, of: 'container', name: 'users' })).toEqual([]);
});
