import { expect, test } from 'vitest';
import { ANNOTATED_REFERENCES } from '../../../src/model/rules/j-references.ts';
import { annotated } from './annotated.ts';

const LINES = Array.from({ length: 12 }, (_, index) => `This is line number ${index + 1}.`);
const at = (line: number) => ({ line, words: `line number ${line}.` });
const keyed = (container: string, key: string, line: number) => ({
  kind: 'container',
  ...at(line),
  container,
  key: [key],
});
const type = (line: number, name: string, container: string, fields: object[]) => ({
  kind: 'type',
  ...at(line),
  type: name,
  container,
  complete: true,
  fields: [{ path: 'id' }, ...fields],
});
const read = (name: string) => ({
  kind: 'access',
  ...at(9),
  name: `Get a ${name}`,
  operation: 'query',
  type: name,
  equals: ['id'],
});
const reads = [read('Venue'), read('project')];
const messages = (...annotations: object[]) =>
  annotated(LINES, [...annotations, ...reads], ANNOTATED_REFERENCES).map(({ message }) => message);

const base = [
  keyed('venues', '/city', 1),
  type(2, 'Venue', 'venues', [{ path: 'city' }]),
  keyed('bookings', '/userId', 3),
];
const booking = (...fields: object[]) =>
  type(4, 'Booking', 'bookings', [{ path: 'venueId', refersTo: 'Venue' }, ...fields]);

test('a reference by the id alone is named, with all types that have it', () => {
  const [one, ...others] = messages(
    ...base,
    booking(),
    keyed('reviews', '/venueId', 5),
    type(6, 'Review', 'reviews', [{ path: 'venueId', refersTo: 'venues' }]),
  );
  expect(others).toEqual([]);
  expect(one).toContain(
    'Booking (venueId) and Review (venueId) keep only the id of a Venue, and venues is keyed by city (line 1)',
  );
});

test('a type that has the key’s field, under any name of it, is fine', () => {
  expect(messages(...base, booking({ path: 'city' }))).toEqual([]);
  expect(messages(...base, booking({ path: 'venue_city' }))).toEqual([]);
});

test('a reference in a list has the key beside it', () => {
  const lines = (...fields: object[]) =>
    type(4, 'Booking', 'bookings', [{ path: 'stays[].venueId', refersTo: 'Venue' }, ...fields]);
  expect(messages(...base, lines())).toHaveLength(1);
  expect(messages(...base, lines({ path: 'stays[].city' }))).toEqual([]);
});

test('a key that is the id, or that the referrer’s own key has, is fine', () => {
  const tenants = [
    keyed('projects', '/tenantId', 1),
    type(2, 'project', 'projects', []),
    keyed('tasks', '/tenantId', 3),
    type(4, 'task', 'tasks', [{ path: 'projectId', refersTo: 'project' }]),
  ];
  expect(messages(...tenants)).toEqual([]);
  expect(messages(keyed('venues', '/id', 1), ...base.slice(1), booking())).toEqual([]);
  const made = [
    keyed('projects', '/pk', 1),
    { kind: 'keyValue', ...at(2), container: 'projects', from: ['region'] },
    type(2, 'project', 'projects', []),
    keyed('tasks', '/taskId', 3),
  ];
  expect(
    messages(...made, type(4, 'task', 'tasks', [{ path: 'projectId', refersTo: 'project' }, { path: 'region' }])),
  ).toEqual([]);
  expect(messages(...made, type(4, 'task', 'tasks', [{ path: 'projectId', refersTo: 'project' }]))).toHaveLength(1);
});

test('a key that each signed-in caller has, and a type of which little is known, are silent', () => {
  expect(
    messages(
      keyed('novels', '/userId', 1),
      type(2, 'novel', 'novels', []),
      keyed('chapters', '/novelNumber', 3),
      type(4, 'chapter', 'chapters', [{ path: 'novelId', refersTo: 'novel' }]),
    ),
  ).toEqual([]);
  expect(
    messages(...base, {
      kind: 'type',
      ...at(4),
      type: 'Booking',
      container: 'bookings',
      fields: [{ path: 'venueId', refersTo: 'Venue' }],
    }),
  ).toEqual([]);
});

test('a reference that no read follows is silent, and so is one to few documents', () => {
  const all = [...base, booking()];
  const only = (...annotations: object[]) => annotated(LINES, annotations, ANNOTATED_REFERENCES);
  expect(only(...all)).toEqual([]);
  expect(only(...all, read('Venue'))).toHaveLength(1);
  const few = { kind: 'scale', ...at(8), container: 'venues', documents: 200, bounded: true };
  expect(only(...all, read('Venue'), few)).toEqual([]);
});
