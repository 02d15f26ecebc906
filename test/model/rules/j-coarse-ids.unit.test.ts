import { expect, test } from 'vitest';
import { COARSE_IDS } from '../../../src/model/rules/j-coarse-ids.ts';
import { annotated } from './annotated.ts';

const LINES = Array.from({ length: 8 }, (_, index) => `This is line number ${index + 1}.`);
const at = (line: number) => ({ line, words: `line number ${line}.` });
const id = (from: string[]) => ({ kind: 'id', ...at(2), type: 'edge', from });
const type = (...fields: object[]) => ({ kind: 'type', ...at(3), type: 'edge', container: 'graph', fields });
const upsert = { kind: 'access', ...at(4), name: 'Save', operation: 'upsert', container: 'graph', type: 'edge' };
const messages = (...annotations: object[]) =>
  annotated(
    LINES,
    [{ kind: 'container', ...at(1), container: 'graph', key: ['/projectId'] }, ...annotations],
    COARSE_IDS,
  ).map(({ message }) => message);
const ENDS = [{ path: 'sourceId', refersTo: 'node' }, { path: 'targetId', refersTo: 'node' }, { path: 'edgeType' }];
const FROM = ['sourceId', 'targetId', 'edgeType'];

test('an id of ends and kind leaves out the method', () => {
  const [one] = messages(id(FROM), type(...ENDS, { path: 'properties.method' }), upsert);
  expect(one).toContain('edge: the id is made of sourceId + targetId + edgeType (line 2), without properties.method');
});

test('an id of names leaves out the parent', () => {
  expect(
    messages(id(['projectId', 'name']), type({ path: 'name' }, { path: 'fileId', refersTo: 'file' }), upsert)[0],
  ).toContain('another file');
});

test('it is silent without an upsert, with a number of its own, and for copies and the key', () => {
  const method = type(...ENDS, { path: 'method' });
  expect(messages(id(FROM), method)).toEqual([]);
  expect(messages(id([...FROM, 'method']), method, upsert)).toEqual([]);
  expect(messages(id(['invoiceNumber', 'name']), type({ path: 'fileId', refersTo: 'file' }), upsert)).toEqual([]);
  expect(
    messages(
      id(FROM),
      type(...ENDS, { path: 'version', copyOf: 'project.version' }, { path: 'projectId', refersTo: 'project' }),
      upsert,
    ),
  ).toEqual([]);
});

test('an id that is coarser than what exists once is wrong', () => {
  const unique = (fields: string[]) => ({ kind: 'unique', ...at(5), type: 'edge', fields });
  expect(messages(id(['sourceId', 'targetId']), unique(['sourceId', 'targetId', 'method']))[0]).toContain(
    'what exists once is sourceId, targetId and method (line 5)',
  );
  expect(messages(id(['sourceId', 'targetId']), unique(['sourceId', 'targetId', 'projectId']))).toEqual([]);
  expect(messages(id(['sourceId', 'targetId']), unique(['mail']))).toEqual([]);
});

test('what is once in a list is no matter of the document’s id', () => {
  const once = (path: string) => ({ kind: 'unique', ...at(5), type: 'edge', fields: ['sourceId', path] });
  expect(messages(id(['sourceId']), type(), once('events[].day'))).toEqual([]);
  expect(messages(id(['sourceId']), type(), once('day'))).toHaveLength(1);
});
