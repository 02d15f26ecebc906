import { expect, it } from 'vitest';
import { everyOperation } from '../../src/cli/registry.ts';
import { operationName } from '../../src/verbs/operation.ts';
import { cli } from './cli.ts';

const nouns = [...new Set(everyOperation.all().flatMap(({ noun }) => noun ?? []))].map((noun) => noun.split(' '));
const verbs = everyOperation.all().map(operationName);

/** The examples in a help text. */
const examplesIn = (text: string): string[] =>
  (/\nExamples:\n((?: {2}.+\n)+)/.exec(text)?.[1] ?? '').split('\n').flatMap((line) => line.trim() || []);

it.each([[[]], ...nouns.map((words) => [words])])(
  'millrace %j has examples, each of a verb that there is',
  async (words) => {
    const { code, stdout } = await cli([...words, '--help']);
    expect(code).toBe(0);
    const examples = examplesIn(stdout);
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) {
      const given = example.split(/ +/).slice(1);
      expect(given.slice(0, words.length)).toEqual(words);
      expect([1, 2, 3].some((count) => verbs.includes(given.slice(0, count).join(' ')))).toBe(true);
    }
    expect(stdout).toContain('Exit codes');
  },
);

// Who changes a text on purpose updates these: `npx vitest run test/cli/help -u`.
it.each([['init'], ['dev'], ['status'], ['dead-letters', 'redrive'], ['dead-letters']])(
  'the help of %s %s is what it was',
  async (...words) => {
    const { stdout } = await cli([...words.filter((word) => word !== undefined), '--help']);
    await expect(stdout).toMatchFileSnapshot(`snapshots/${words.filter(Boolean).join('-')}.txt`);
  },
);
