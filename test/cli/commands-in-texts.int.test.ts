// Messages, hints and comments name commands in backticks. Each must be one that the command line has, with its flags.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { buildProgram, everyCommand, wordsOf } from '../../src/cli/program.ts';
import { COSMOS_ERRORS } from '../../src/cosmos/errors.ts';
import { FEED_ERRORS } from '../../src/feed/errors.ts';
import { everyOperation } from '../../src/cli/registry.ts';

const SRC = join(import.meta.dirname, '..', '..', 'src');
const program = buildProgram(everyOperation, '0.0.0', async () => {});
const verbs = everyCommand(program).filter(({ commands }) => commands.length === 0);
const flagsOf = new Map(verbs.map((verb) => [wordsOf(verb), verb.options.map(({ long }) => long)]));

it('every command that a text names exists, with its flags', () => {
  const named = globSync('**/*.ts', { cwd: SRC }).flatMap((file) =>
    [...readFileSync(join(SRC, file), 'utf8').matchAll(/`(millrace [a-z-]+[^`\\]*)/g)].map(([, text = '']) => ({
      file,
      words: text.split(/\s+/),
    })),
  );
  expect(named.length).toBeGreaterThan(100);
  const wrong = named.filter(({ words }) => {
    if (words[2]?.startsWith('${')) return false;
    const flags = [4, 3, 2].map((count) => flagsOf.get(words.slice(0, count).join(' '))).find((of) => of);
    return !flags || words.some((word) => word.startsWith('--') && word !== '--help' && !flags.includes(word));
  });
  expect(wrong.map(({ file, words }) => `${file}: ${words.join(' ')}`)).toEqual([]);
});

it('the errors of the change feed processor name no command and no setting of a pipeline', () => {
  for (const [code, { hint, meaning }] of Object.entries({ ...FEED_ERRORS, ...COSMOS_ERRORS }))
    expect(`${code}: ${meaning} ${hint}`).not.toMatch(/`millrace|`?\b(COSMOS|LEASES|STATE|STORAGE)(_[A-Z_]+)?\b/);
});
