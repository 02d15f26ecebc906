// The examples pass their own rules.
import { expect, test } from 'vitest';
import { SOURCES } from '../../../src/model/rules/rule.ts';
import { everyRule } from '../../../src/verbs/model/pair.ts';
import { cli } from '../../cli/cli.ts';

test.each(['flights', 'storefront', 'tables', 'telemetry', 'storefront-shards'])(
  'examples/%s: nothing found, at most three waivers, each with a date',
  async (name) => {
    const { stdout } = await cli(['model', 'check', `examples/${name}`, '--json']);
    const { findings, waived, reading } = JSON.parse(stdout) as {
      findings: unknown[];
      waived: { until: string; reason: string }[];
      reading: unknown[];
    };
    expect(findings).toEqual([]);
    expect(reading).toEqual([]);
    expect(waived.length).toBeLessThanOrEqual(3);
    for (const { until, reason } of waived) {
      expect(until).toMatch(/^20\d\d-\d\d-\d\d$/);
      expect(reason.length).toBeGreaterThan(20);
    }
  },
);

test.each(['flights', 'storefront'])(
  'examples/%s: the section of projections is what the pipeline says',
  async (name) => {
    const { stdout } = await cli(['model', 'check', `examples/${name}`, '--fix', '--dry-run']);
    expect(stdout).toContain('Nothing to do.');
  },
);

test('every rule says why, how to correct it and who says so, and no id is given twice', () => {
  const rules = everyRule();
  const ids = rules.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  for (const { why, hint, source = SOURCES.ours, title } of rules)
    for (const part of [why, hint, source, title]) expect(part.length).toBeGreaterThan(5);
});
