// Mangled Markdown: no rule from A1 to I14 crashes, and what is refused is refused with a message.
import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { UsageError } from '../../src/base/errors.ts';
import { contractRules } from '../../src/contract/contract-rules.ts';
import type { ModelDocuments } from '../../src/model/documents.ts';
import { parseDesign } from '../../src/model/reader/design.ts';
import { parseRequirements } from '../../src/model/reader/requirements.ts';
import { MODEL_RULES, checkDocuments } from '../../src/model/rules/index.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';
import { DESIGN, REQUIREMENTS } from './rules/base.ts';

const corpus = new URL('corpus/', import.meta.url);
const SOURCES = [
  DESIGN,
  REQUIREMENTS,
  ...readdirSync(corpus).map((name) => readFileSync(new URL(name, corpus), 'utf8')),
];
const COUNT = Number(process.env['MILLRACE_HISTORIES'] ?? 120);
const JUNK = [
  '|',
  '`',
  '```',
  '\n',
  '\n\n',
  '#',
  '- ',
  '**',
  '~~',
  '<!-- millrace-ignore ',
  '-->',
  '[',
  '{',
  '"',
  '“',
  '\u0000',
  '\uFFFD',
  '\u202E',
  '9e999',
  '-',
  ':',
  '∞',
  '×',
  '=',
  '(',
  '$1',
  '\\',
  '\t',
  '\r',
  '<br>',
  '容器',
];

/** Cuts, doubles, swaps and sprinkles, a few times. */
function mangled(random: Random): string {
  let text = random.pick(SOURCES);
  for (let times = 1 + random.int(8); times > 0; times--) {
    const at = random.int(text.length);
    const to = Math.min(text.length, at + random.int(random.chance(0.2) ? 400 : 12));
    const kind = random.int(5);
    if (kind === 0) text = text.slice(0, at) + text.slice(to);
    else if (kind === 1) text = text.slice(0, to) + text.slice(at);
    else if (kind === 2) text = text.slice(0, at) + random.pick(JUNK).repeat(1 + random.int(4)) + text.slice(at);
    else if (kind === 3) text = text.slice(to) + text.slice(0, to);
    else {
      const lines = text.split('\n');
      lines.splice(random.int(lines.length), 1, random.pick(random.pick(SOURCES).split('\n')));
      text = lines.join('\n');
    }
  }
  return text;
}

function read<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    // Anything else is a crash.
    if (!(error instanceof UsageError) || !error.hint) throw error;
    return undefined;
  }
}

test(`${COUNT} mangled documents are read or refused, and checked`, () => {
  const seed = suiteSeed();
  console.log(`seed ${seed}`);
  const random = new Random(seed);
  for (let index = 0; index < COUNT; index++) {
    const [first, second] = [mangled(random), mangled(random)];
    const documents: ModelDocuments = {
      requirements: read(() => parseRequirements(first, 'r.md')),
      design: read(() => parseDesign(second, 'd.md')),
    };
    const lines = { 'r.md': first.split(/\r\n|\r|\n/).length, 'd.md': second.split(/\r\n|\r|\n/).length };
    const { findings, reading } = checkDocuments(documents, [...MODEL_RULES, ...contractRules()]);
    for (const { at, message } of [...findings, ...reading]) {
      expect(message).not.toMatch(/undefined|NaN|\[object/);
      expect(at.line).toBeGreaterThan(0);
      expect(at.line).toBeLessThanOrEqual(at.file === 'r.md' ? lines['r.md'] : lines['d.md']);
    }
  }
});
