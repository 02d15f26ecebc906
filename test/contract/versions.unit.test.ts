import { describe, expect, test } from 'vitest';
import type { CopySpec } from '../../src/pipeline/specs.ts';
import { type Edit, edited } from '../model/rules/base.ts';
import { type Code, check, cold, days, summaries } from './shop.ts';

describe('two versions of a projection', () => {
  const second: CopySpec = { ...summaries, version: 2, onDelete: 'keep' };
  const both: Code = { projections: [summaries, second, days, cold] };
  const ROW = '| summaries | copy | Orders (order) with Customers (customer) |';
  const { design } = edited([]);
  const row = design.split('\n').find((line) => line.startsWith(ROW)) ?? '';
  const own: Edit = [
    `${row}\n`,
    `${row}\n${row.replace('summaries', 'summaries@2').replace('| remove |', '| keep |')}\n`,
  ];
  const errors = (edits: readonly Edit[], code: Code): string[] =>
    check(edits, code)
      .findings.filter(({ severity }) => severity === 'error')
      .map(({ message }) => message);

  test('each may have a row of its own', () => {
    expect(errors([], both)).toEqual([expect.stringContaining('but keep in the code')]);
    expect(errors([own], both)).toEqual([]);
  });

  test('one row is about all versions that have none', () => {
    expect(errors([], { projections: [summaries, { ...summaries, version: 2 }, days, cold] })).toEqual([]);
    expect(errors([], { projections: [{ ...summaries, version: 2 }, days, cold] })).toEqual([]);
  });

  test('a row of a version that the code doesn’t have is named with it', () => {
    expect(errors([own], {})).toEqual([
      expect.stringContaining('Projection summaries@2 is in the document, but not in the code'),
    ]);
  });
});
