import { describe, expect, test } from 'vitest';
import { AGAIN } from '../../../src/model/rules/j-again.ts';
import { annotated, said } from './annotated.ts';

const found = (...all: object[]): string[] => said(all, AGAIN);

describe('J57', () => {
  const add = {
    kind: 'flow',
    name: 'Add items',
    many: true,
    steps: [{ operation: 'create', type: 'Item', container: 'lists' }],
    recovery: 'the agent gets the error and calls again',
  };
  const id = { kind: 'id', type: 'Item', random: true };

  test('a loop of creates that an agent repeats', () => {
    expect(found(add, id)).toEqual([expect.stringContaining('J57 "Add items" creates several Item one after another')]);
    expect(found(add, { ...id, random: undefined, from: ['name'] })).toEqual([]);
    expect(found({ ...add, together: 'batch' }, id)).toEqual([]);
    expect(found({ ...add, recovery: undefined }, id)).toEqual([]);
    expect(found({ ...add, many: undefined }, id)).toEqual([]);
    expect(found(add, id, { kind: 'unique', type: 'Item', fields: ['name'] })).toEqual([]);
  });
});

describe('J58', () => {
  const complete = {
    kind: 'flow',
    name: 'Complete',
    steps: [
      { operation: 'upsert', type: 'Game' },
      { operation: 'upsert', type: 'Completion' },
    ],
    recovery: 'logged; written when the player deletes the game',
  };
  const messages = (lines: string[], flow: object): string[] =>
    annotated(lines, [{ ...flow, line: 1 }], AGAIN).map(({ message }) => message);
  const promise = ['complete a game', 'A win is never lost.'];

  test('a promise whose repair is left to chance', () => {
    expect(messages(promise, complete)).toEqual([
      expect.stringContaining('“logged; written when the player deletes the game”: nothing runs by itself'),
    ]);
    expect(messages(['complete a game', 'A win is shown.'], complete)).toEqual([]);
    expect(messages(promise, { ...complete, recovery: 'a job repairs it' })).toEqual([]);
    expect(messages(promise, { ...complete, together: 'outbox' })).toEqual([]);
    expect(messages(promise, { ...complete, recovery: undefined })).toEqual([]);
  });
});
