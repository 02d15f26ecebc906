import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { annotationsOf } from '../../../src/model/annotations/annotations.ts';
import { annotationsSchema } from '../../../src/model/annotations/schema.ts';
import { parseDesign } from '../../../src/model/reader/design.ts';
import { COPIES } from '../../../src/model/rules/j-copies.ts';
import { COUNTS } from '../../../src/model/rules/j-counts.ts';
import { DELETIONS } from '../../../src/model/rules/j-deletion.ts';
import { checkDocuments } from '../../../src/model/rules/index.ts';

const WORDS = 'punctuality per route; derived';
const FLIGHTS = readFileSync('examples/flights/cosmosdb_data_model.md', 'utf8');

/** Findings for annotations that all stand at a line which says nothing of repetition and deletes. */
function found(text: string, ...all: object[]): string[] {
  const lines = text.split('\n');
  const line = lines.findIndex((one) => one.includes(WORDS)) + 1;
  const annotations = annotationsOf(
    annotationsSchema.parse({
      version: 1,
      document: 'm.md',
      annotations: all.map((one) => ({ line, words: WORDS, ...one })),
    }),
    lines,
    'm.md',
    'm.annotations.json',
  );
  const documents = { requirements: undefined, design: parseDesign(text, 'm.md'), annotations };
  return checkDocuments(documents, [...COPIES, ...COUNTS, ...DELETIONS]).findings.flatMap(({ rule }) =>
    rule?.startsWith('J') ? [rule] : [],
  );
}

describe('what a projection keeps', () => {
  const gone = { kind: 'deletion', type: 'flight', way: 'hard' };
  const flights = {
    kind: 'derived',
    what: 'flights',
    form: 'counter',
    type: 'route',
    field: 'flights',
    of: 'flight',
    keptBy: 'change-feed',
  };
  const name = { kind: 'type', type: 'arrival', fields: [{ path: 'code', copyOf: 'airport.code' }] };

  test('counts, copies and deletes need no more', () => {
    expect(found(FLIGHTS, gone, flights)).toEqual([]);
    expect(found(FLIGHTS, name)).toEqual([]);
    expect(found(FLIGHTS, gone, { ...flights, keptBy: undefined })).toEqual([]);
  });

  test('another type, and a document without the projection', () => {
    expect(found(FLIGHTS, gone, { ...flights, type: 'carrier' })).toEqual(['J26', 'J27']);
    expect(found(FLIGHTS, { ...name, type: 'ticket' })).toEqual(['J27']);
    const without = FLIGHTS.replace(/^\| routes \|.*\n/m, '');
    expect(found(without, gone, flights)).toEqual(['J26', 'J27']);
  });

  test('a projection that says nothing of deletes', () => {
    const silent = FLIGHTS.replace(/(\| routes \|.*\| )subtract( \| backfill \|)/, '$1$2');
    expect(silent).not.toBe(FLIGHTS);
    expect(found(silent, gone, flights)).not.toEqual([]);
  });
});
