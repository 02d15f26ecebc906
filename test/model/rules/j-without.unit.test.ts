import { describe, expect, test } from 'vitest';
import { WITHOUT_STORE } from '../../../src/model/rules/j-without.ts';
import { annotated, said } from './annotated.ts';

const found = (...all: object[]): string[] => said(all, WITHOUT_STORE);

describe('J31', () => {
  const memory = { kind: 'fact', of: 'fallback without Cosmos DB', property: 'kept in', value: 'memory' };

  test('data that go to memory', () => {
    expect(found(memory)).toEqual([expect.stringContaining('with data in the memory of one instance')]);
    expect(found(memory, { ...memory, property: 'afterwards', value: 'replayed from a queue' })).toEqual([]);
    expect(found({ ...memory, of: 'cache' })).toEqual([]);
    expect(found({ ...memory, of: 'fallback of the Redis cache of Cosmos DB' })).toEqual([]);
  });

  test('an application that goes on, by the words of the document', () => {
    const lines = [
      'If CosmosDB is unavailable, the application continues to function',
      'If CosmosDB is unavailable, writes fail',
    ];
    const fact = { kind: 'fact', of: 'application', property: 'works', value: true };
    expect(annotated(lines, [fact], WITHOUT_STORE)).toMatchObject([{ rule: 'J31', at: { line: 1 } }]);
    expect(annotated(lines, [{ ...fact, line: 2, value: false }], WITHOUT_STORE)).toEqual([]);
  });
});

describe('J31, fallbacks', () => {
  const memory = { kind: 'fallback', keeps: 'memory' };

  test('what stays in memory or nowhere, unless it is written back or refused', () => {
    expect(found(memory)).toEqual([expect.stringContaining('with data in the memory of one instance')]);
    expect(found({ ...memory, keeps: 'nothing' })).toEqual([expect.stringContaining('goes on and doesn’t store')]);
    const error = annotated(
      ['There is no fallback; failures return an error'],
      [{ ...memory, keeps: 'nothing' }],
      WITHOUT_STORE,
    );
    expect(error).toEqual([]);
    expect(found(memory, { kind: 'fallback', writesBack: true })).toEqual([]);
    expect(found({ ...memory, keeps: 'queue' })).toEqual([]);
    const refused = { ...memory, keeps: 'nothing', words: 'writes are refused with 503' };
    expect(annotated(['writes are refused with 503'], [refused], WITHOUT_STORE)).toEqual([]);
  });
});
