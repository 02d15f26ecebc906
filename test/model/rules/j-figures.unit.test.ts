import { describe, expect, test } from 'vitest';
import { FIGURES } from '../../../src/model/rules/j-figures.ts';
import { annotated, said } from './annotated.ts';

const found = (...all: object[]): string[] => said(all, FIGURES);

describe('J31', () => {
  const memory = { kind: 'fact', of: 'fallback without Cosmos DB', property: 'kept in', value: 'memory' };

  test('data that go to memory', () => {
    expect(found(memory)).toEqual([expect.stringContaining('with data in the memory of one instance')]);
    expect(found(memory, { ...memory, property: 'afterwards', value: 'replayed from a queue' })).toEqual([]);
    expect(found({ ...memory, of: 'cache' })).toEqual([]);
  });

  test('an application that goes on, by the words of the document', () => {
    const lines = [
      'If CosmosDB is unavailable, the application continues to function',
      'If CosmosDB is unavailable, writes fail',
    ];
    const fact = { kind: 'fact', of: 'application', property: 'works', value: true };
    expect(annotated(lines, [fact], FIGURES)).toMatchObject([{ rule: 'J31', at: { line: 1 } }]);
    expect(annotated(lines, [{ ...fact, line: 2, value: false }], FIGURES)).toEqual([]);
  });
});

describe('J32', () => {
  const type = { kind: 'type', type: 'Memory' };
  const count = { kind: 'fact', of: 'documents per partition', property: 'number', value: '100K - 500K' };
  const size = { kind: 'fact', of: 'Memory', property: 'typical size', value: '10-50 KB' };

  test('documents × size above 20 GB', () => {
    const [finding] = annotated([], [type, count, size], FIGURES);
    expect(finding).toMatchObject({ rule: 'J32', at: { line: 2 }, evidence: '500,000 × 50 KB = 25 GB' });
    expect(found(type, { ...count, value: '100K - 300K' }, size)).toEqual([]);
    expect(found(type, count, { ...size, property: 'maximum size' })).toEqual([]);
    expect(found(type, count, { ...size, value: 50, unit: 'KB' })).toHaveLength(1);
    expect(found(type, { ...count, of: 'documents of the container' }, size)).toEqual([]);
  });
});
