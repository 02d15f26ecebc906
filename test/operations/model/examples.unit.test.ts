// The examples pass their own rules, and the pages of the rules are those of the code.
import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { WITHDRAWN } from '../../../src/model/rules/withdrawn.ts';
import { everyRule } from '../../../src/operations/model/pair.ts';
import { rulePages } from '../../../src/operations/model/rule-page.ts';
import { cli } from '../../cli/cli.ts';

test.each(['flights', 'storefront'])(
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

describe('pages of the rules', () => {
  const folder = new URL('../../../docs/rules/', import.meta.url);
  const pages = rulePages(everyRule());

  test('are current: node --conditions=millrace-source scripts/rule-pages.ts writes them', () => {
    expect(readdirSync(folder).toSorted()).toEqual([...pages.keys()].toSorted());
    for (const [name, text] of pages) expect(readFileSync(new URL(name, folder), 'utf8')).toBe(text);
  });

  test('every rule says why, how to mend it and who says so, and no id is given twice', () => {
    const rules = everyRule();
    const ids = [...rules, ...WITHDRAWN].map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(rules.length).toBe(309);
    for (const { why, hint, source, title } of rules)
      for (const part of [why, hint, source, title]) expect(part.length).toBeGreaterThan(5);
  });
});
