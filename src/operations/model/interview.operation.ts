import { readFile } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { z } from 'zod';
import { type UsageError, messageOf } from '../../base/errors.ts';
import type { Documents } from '../../model/documents.ts';
import { parseDesign } from '../../model/reader/design.ts';
import { parseRequirements } from '../../model/reader/requirements.ts';
import { decode } from '../../model/reader/source.ts';
import { writeText } from '../write-text.ts';
import { type Context, type Plan, defineOperation } from '../operation.ts';
import { suggestion } from '../../base/near.ts';
import { plural } from '../table.ts';
import { type Question, openQuestions } from './interview-questions.ts';
import { AT_ONCE, type Answers, talk } from './interview-talk.ts';
import { readPair } from './pair.ts';
import { operationsError } from '../errors.ts';

const input = z.object({
  directory: z
    .string()
    .optional()
    .describe('folder of the two documents, or a Markdown file (default: the pipeline folder)'),
  answers: z.string().optional().describe('JSON file with answers by question: {"rps:3": "50/20"}'),
  all: z.boolean().default(false).describe('list all open questions, but ask none'),
});
type Input = z.output<typeof input>;

export const modelInterview = defineOperation({
  noun: 'model',
  verb: 'interview',
  summary: 'Ask the documents’ open questions, three at a time, and write the answers into the documents',
  examples: [
    'millrace model interview',
    'millrace model interview examples/flights --all --json',
    'millrace model interview --answers answers.json',
  ],
  effect: 'changes',
  argument: 'directory',
  input,
  plan: async (asked, context): Promise<Plan> => {
    const { documents } = await readPair(context.workspace, asked.directory);
    const given = await readAnswers(asked, context);
    await answered(documents, given ?? {});
    return { steps: Object.entries(given ?? {}).map(([id, text]) => `answer ${id} with "${text}"`), ru: 0 };
  },
  run: async (asked, context) => {
    const given = await readAnswers(asked, context);
    let { documents } = await readPair(context.workspace, asked.directory);
    const done: string[] = [];
    const apply = async (answers: Answers): Promise<void> => {
      const texts = await answered(documents, answers);
      for (const [file, text] of texts) await writeText(file, text, { code: 'model-unwritable' });
      done.push(...Object.keys(answers));
      ({ documents } = await readPair(context.workspace, asked.directory));
    };
    if (given) await apply(given);
    else if (!asked.all && process.stdin.isTTY) await talk(() => documents, apply, context);
    const open = openQuestions(documents).map(({ id, rule, ask, form, at }) => ({
      id,
      rule,
      ask,
      form,
      at: { file: relative(context.workspace.directory, at.file), line: at.line },
    }));
    return { answered: done, open: open.length, next: asked.all ? open : open.slice(0, AT_ONCE) };
  },
  format: ({ answered: done, open, next }) =>
    [
      ...(done.length > 0 ? [`${plural(done.length, 'answer')} written: ${done.join(', ')}.`] : []),
      ...next.flatMap(({ id, rule, ask, form, at }) => [
        `${id} (${rule}, ${at.file}:${at.line}): ${ask}`,
        `    ${form}`,
      ]),
      open === 0 ? 'No open questions.' : `${plural(open, 'open question')}.`,
    ].join('\n'),
});

/**
 * The new texts of the documents that the answers change. An answer is understood if the reader of the new text no longer
 * leaves its question open.
 * @throws UsageError `question-unknown`, `answer-not-understood`
 */
async function answered(documents: Documents, answers: Answers): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for (const [id, given] of Object.entries(answers)) {
    const now = reread(documents, texts);
    const open = openQuestions(now);
    const question = open.find((of) => of.id === id);
    if (!question) {
      const near = suggestion(
        id,
        open.map((of) => of.id),
      );
      throw operationsError('question-unknown', `There is no open question ${id}${near}`);
    }
    const text = given.trim();
    const { file } = question.at;
    const source = texts.get(file) ?? (await exactly(file));
    const lines = source.split('\n');
    if (text === '' || /[\r\n|`<]/.test(text) || question.pattern?.test(text) === false)
      throw notUnderstood(question, given);
    question.answer(lines, text);
    const changed = new Map(texts).set(file, lines.join('\n'));
    const then = reread(documents, changed);
    const taken = !openQuestions(then).some((of) => of.id === id) && (question.understood?.(then) ?? true);
    if (!taken || complaints(then) > complaints(now)) throw notUnderstood(question, given);
    texts.set(file, lines.join('\n'));
  }
  return texts;
}

/** The number of findings with which the reader did not understand a text. */
const complaints = ({ requirements, design }: Documents): number =>
  [requirements, design]
    .flatMap((document) => document?.findings ?? [])
    .filter(({ severity }) => severity !== 'information').length;

const notUnderstood = ({ id, form }: Question, given: string): UsageError =>
  operationsError(
    'answer-not-understood',
    `The answer to ${id}, ${JSON.stringify(given)}, does not have the expected form`,
    {
      hint: `Write ${form}.`,
    },
  );

function reread({ requirements, design }: Documents, texts: ReadonlyMap<string, string>): Documents {
  const first = requirements && texts.get(requirements.file);
  const second = design && texts.get(design.file);
  const read = first === undefined ? requirements : parseRequirements(first, requirements?.file ?? '');
  const ids = read?.patterns.map(({ id }) => id);
  return { requirements: read, design: second === undefined ? design : parseDesign(second, design?.file ?? '', ids) };
}

/** The text of a file, with its byte order mark if it has one. */
async function exactly(file: string): Promise<string> {
  const bytes = await readFile(file);
  decode(bytes, file);
  return bytes.toString('utf8');
}

async function readAnswers({ answers: file }: Input, { workspace }: Context): Promise<Answers | undefined> {
  if (file === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(await readFile(resolve(workspace.directory, file), 'utf8'));
    return z.record(z.string(), z.union([z.string(), z.number().transform(String)])).parse(value);
  } catch (cause) {
    const why = cause instanceof z.ZodError ? 'an answer is neither text nor a number' : messageOf(cause);
    throw operationsError('answers-unreadable', `${file}: ${why}`, { cause });
  }
}
