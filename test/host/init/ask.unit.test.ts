import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { type InitAnswers, type Given, ask } from '../../../src/host/init/ask.ts';

/** Answers each question as it comes. */
async function asked(given: Given, answers: readonly string[]): Promise<{ result: InitAnswers; questions: string[] }> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const questions: string[] = [];
  const left = [...answers];
  output.setEncoding('utf8').on('data', (text: string) => {
    if (!text.trim().endsWith(':')) return;
    questions.push(text.trim());
    input.write(`${left.shift() ?? ''}\n`);
  });
  const result = await ask(given, { input, output }, new AbortController().signal);
  return { result, questions };
}

it('`init` asks three questions, and an empty answer takes what is in brackets', async () => {
  const { result, questions } = await asked({}, []);
  expect(result).toEqual({ directory: 'my-app', from: undefined, install: true });
  expect(questions).toHaveLength(3);
  expect((await asked({}, ['shop', '../design', 'no'])).result).toEqual({
    directory: 'shop',
    from: '../design',
    install: false,
  });
});

it('`init` asks only what is not given', async () => {
  const { result, questions } = await asked({ directory: 'a', install: false }, ['docs']);
  expect(result).toEqual({ directory: 'a', from: 'docs', install: false });
  expect(questions).toHaveLength(1);
});

it('`init` ends with the reason when it is interrupted', async () => {
  const stop = new AbortController();
  const answer = ask({}, { input: new PassThrough(), output: new PassThrough() }, stop.signal);
  stop.abort();
  await expect(answer).rejects.toMatchObject({ name: 'AbortError' });
});
