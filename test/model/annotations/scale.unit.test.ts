import { expect, test } from 'vitest';
import { annotationsOf } from '../../../src/model/annotations/annotations.ts';
import { isAccepted, isExisting, isSmall, neighbours } from '../../../src/model/annotations/scale.ts';
import { annotationsSchema } from '../../../src/model/annotations/schema.ts';

const LINES = ['A small number of documents in the container.'];
function read(...annotations: object[]) {
  const raw = annotationsSchema.parse({
    version: 1,
    document: 'm.md',
    annotations: annotations.map((one) => ({ line: 1, words: LINES[0], ...one })),
  });
  return annotationsOf(raw, LINES, 'm.md', 'm.annotations.json');
}
const scale = (facts: object) => ({ kind: 'scale', container: 'notes', ...facts });
const notes = { container: 'notes' };

test('a bound, or one user, makes a container small', () => {
  expect(isSmall(read(scale({ documents: 500, bounded: true })), notes)).toBe(true);
  expect(isSmall(read(scale({ bounded: true })), notes)).toBe(true);
  expect(isSmall(read({ kind: 'scale', users: 1 }), notes)).toBe(true);
});

test('what is only there today, for each user, elsewhere or of a test bounds nothing', () => {
  expect(isSmall(read(scale({ documents: 500 })), notes)).toBe(false);
  expect(isSmall(read(scale({ documents: 500, bounded: true, within: ['userId'] })), notes)).toBe(false);
  expect(isSmall(read(scale({ documents: 500, bounded: true, environment: 'dev' })), notes)).toBe(false);
  expect(isSmall(read(scale({ documents: 500, bounded: true })), { container: 'users' })).toBe(false);
  expect(isSmall(read(scale({ documents: 50_000, bounded: true })), notes)).toBe(false);
  expect(isSmall(read(scale({ bounded: true, words: 'documents in the container' })), notes)).toBe(false);
});

test('an access is accepted by its words, unless the text calls it frequent', () => {
  const access = (facts: object) => {
    const annotations = read({ kind: 'access', name: 'List', operation: 'query', container: 'notes', ...facts });
    const [one] = annotations.of('access');
    return one !== undefined && isAccepted(annotations, one);
  };
  expect(access({ accepted: true, often: 'often' })).toBe(true);
  expect(access({ says: ['all partitions'] })).toBe(true);
  expect(access({ says: ['all partitions'], often: 'often' })).toBe(false);
  expect(access({})).toBe(false);
});

test('a container is existing if no place designs it', () => {
  const container = (facts: object) => ({ kind: 'container', container: 'notes', ...facts });
  expect(isExisting(read(container({ existing: true })), notes)).toBe(true);
  expect(isExisting(read(container({ existing: true }), container({ key: ['/id'] })), notes)).toBe(false);
  expect(isExisting(read(), notes)).toBe(false);
  const type = { kind: 'type', type: 'note', container: 'notes' };
  expect(isExisting(read(container({ existing: true }), type), { type: 'note' })).toBe(true);
});

test('the neighbours of a type share its container', () => {
  const type = (name: string, container: string) => ({ kind: 'type', type: name, container });
  expect(neighbours(read(type('note', 'notes'), type('log', 'notes'), type('user', 'users')), 'note')).toEqual(['log']);
});
