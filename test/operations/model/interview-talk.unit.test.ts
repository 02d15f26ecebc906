import { PassThrough } from 'node:stream';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Documents } from '../../../src/model/documents.ts';
import { parseDesign } from '../../../src/model/reader/design.ts';
import { type Answers, talk } from '../../../src/operations/model/interview-talk.ts';

const FILE = new URL('../../fixtures/proof/cosmosdb_data_model.md', import.meta.url);
const documents: Documents = { requirements: undefined, design: parseDesign(readFileSync(FILE, 'utf8'), 'model.md') };

/** What was asked and answered, with everything typed before the first question. */
async function typed(text: string) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  output.resume();
  input.write(text);
  const [lines, answers] = [[] as string[], [] as Answers[]];
  const screen = { live: false, line: (line: string) => void lines.push(line), draw: () => {}, progress: () => {} };
  const apply = (given: Answers): Promise<void> => Promise.resolve(void answers.push(given));
  const { signal } = new AbortController();
  await talk(() => documents, apply, { screen, signal }, { input, output, terminal: true });
  return { asked: lines.slice(1), answers };
}

test.each([
  ['Ctrl-D at the first question', '\u0004', 1],
  ['Ctrl-D that the terminal took for itself and gave as NUL', '\0', 1],
  ['two questions passed over, then Ctrl-D', '\n\n\u0004', 3],
  ['two questions passed over, then NUL', '\n\n\0', 3],
])('%s ends the interview', async (_, text, questions) => {
  const { asked, answers } = await typed(text);
  expect(asked).toHaveLength(questions);
  expect(answers).toEqual([]);
});

test('an answer that was typed ahead of Ctrl-D counts', async () => {
  const { answers } = await typed('220\n\u0004');
  expect(answers).toEqual([{ 'keys:Orders': '220' }]);
});
