import type { Database } from '@azure/cosmos';
import { describe, expect, it } from 'vitest';
import { DeadLetters } from '../../src/engine/dead-letters/dead-letters.ts';
import type { EngineOptions } from '../../src/engine/engine.ts';
import { PAGE_STAGES, RUNNER_STAGES, pageStages } from '../../src/engine/stages.ts';
import type { Runner } from '../../src/kinds/runner.ts';

const runner: Runner = { id: 'one@1', order: 'document', sources: [], apply: () => Promise.resolve() };
const bare: EngineOptions = {
  database: {} as Database,
  runners: [runner],
  deadLetters: new DeadLetters({} as never),
};
const needed = (one: Runner, options: EngineOptions): string[] =>
  Object.entries(RUNNER_STAGES).flatMap(([name, stage]) => (stage(one, options) ? name : []));

describe('the stages of a page', () => {
  it('the stages of a page stand in the order in which they have to run', () => {
    expect(Object.keys(PAGE_STAGES)).toEqual(['versions', 'erasures', 'sift']);
  });

  it('a pipeline without views, tenants and archives of all versions has none', () => {
    expect(pageStages(bare)).toEqual([]);
    expect(pageStages({ ...bare, tenant: 't1' })).toHaveLength(1);
  });
});

describe('the stages of a runner', () => {
  it('the stages of a runner stand from the outermost to its own work', () => {
    expect(Object.keys(RUNNER_STAGES)).toEqual(['starts', 'events', 'isolate', 'guard', 'run']);
  });

  it('a runner gets only the stages that its kind and its version need', () => {
    expect(needed(runner, bare)).toEqual(['isolate', 'run']);
    expect(needed({ ...runner, isEvent: () => true }, bare)).toEqual(['events', 'isolate', 'run']);
    const guard = { refusal: () => Promise.resolve(undefined) };
    expect(needed(runner, { ...bare, guard })).toEqual(['isolate', 'guard', 'run']);
  });
});
