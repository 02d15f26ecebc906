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

describe('J57, keys that nothing compares', () => {
  const key = {
    kind: 'unique',
    type: 'Reservation',
    fields: ['messageId'],
    words: 'messageId is the idempotency key',
    line: 1,
  };
  const write = {
    kind: 'access',
    name: 'Reserve',
    operation: 'upsert',
    type: 'Reservation',
    equals: ['productId'],
    line: 2,
  };
  const of = (...all: object[]): string[] =>
    annotated(
      ['messageId is the idempotency key'],
      all.map((one, index) => ({ ...one, line: index + 1 })),
      AGAIN,
    ).map(({ message }) => message);

  test('no id, unique key or condition has it', () => {
    expect(of(key, write)).toEqual([expect.stringContaining('Reservation.messageId is called an idempotency key')]);
    expect(of(key)).toEqual([]);
    expect(of(key, { ...write, equals: ['message_id'] })).toEqual([]);
    expect(of(key, { ...write, guard: 'create-conflict' })).toEqual([]);
    expect(of(key, write, { kind: 'id', type: 'Reservation', from: ['messageId'] })).toEqual([]);
    expect(of(key, write, { kind: 'type', type: 'Processed message' })).toEqual([]);
    expect(of({ ...key, by: 'id' }, write)).toEqual([]);
  });
});
