import { readFile, writeFile } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { z } from 'zod';
import { UsageError, messageOf } from '../../base/errors.ts';
import type { Documents } from '../../model/documents.ts';
import { parseDesign } from '../../model/reader/design.ts';
import { parseRequirements } from '../../model/reader/requirements.ts';
import { decode } from '../../model/reader/source.ts';
import { type Context, type Plan, defineOperation } from '../operation.ts';
import { suggestion } from '../../base/near.ts';
import { plural } from '../table.ts';
import { type Question, openQuestions } from './interview-questions.ts';
import { AT_ONCE, type Answers, talk } from './interview-talk.ts';
import { readPair } from './pair.ts';

const input = z.object({
  directory: z.string().optional().describe('folder of the two documents (default: the pipeline folder)'),
  answers: z.string().optional().describe('JSON file of answers by question: {"rps:3": "50/20"}'),
  all: z.boolean().default(false).describe('list all open questions, and ask none'),
});
type Input = z.output<typeof input>;

export const modelInterview = defineOperation({
  noun: 'model',
  verb: 'interview',
  summary: 'Ask for what the documents leave open, three questions at a time, and write the answers where they belong',
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
    return { steps: Object.entries(given ?? {}).map(([id, text]) => `answer ${id} by "${text}"`), ru: 0 };
  },
  run: async (asked, context) => {
    const given = await readAnswers(asked, context);
    let { documents } = await readPair(context.workspace, asked.directory);
    const done: string[] = [];
    const apply = async (answers: Answers): Promise<void> => {
      const texts = await answered(documents, answers);
      for (const [file, text] of texts) await write(file, text);
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
      open === 0 ? 'Nothing is open.' : `${plural(open, 'question')} open.`,
    ].join('\n'),
});

/**
 * The texts of the documents that the answers change. The reader itself says whether an answer is understood: its
 * question must be open no more.
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
      throw new UsageError('question-unknown', `No question ${id} is open${near}`, {
        mend: '`millrace model interview --all` lists them.',
      });
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

/** What the reader couldn't make anything of. */
const complaints = ({ requirements, design }: Documents): number =>
  [requirements, design]
    .flatMap((document) => document?.findings ?? [])
    .filter(({ severity }) => severity !== 'information').length;

const notUnderstood = ({ id, form }: Question, given: string): UsageError =>
  new UsageError('answer-not-understood', `The answer to ${id}, ${JSON.stringify(given)}, isn't understood`, {
    mend: `Write ${form}.`,
  });

function reread({ requirements, design }: Documents, texts: ReadonlyMap<string, string>): Documents {
  const first = requirements && texts.get(requirements.file);
  const second = design && texts.get(design.file);
  const read = first === undefined ? requirements : parseRequirements(first, requirements?.file ?? '');
  const ids = read?.patterns.map(({ id }) => id);
  return { requirements: read, design: second === undefined ? design : parseDesign(second, design?.file ?? '', ids) };
}

/** With its byte order mark, if it has one. */
async function exactly(file: string): Promise<string> {
  const bytes = await readFile(file);
  decode(bytes, file);
  return bytes.toString('utf8');
}

async function write(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text);
  } catch (cause) {
    throw new UsageError('model-unwritable', `${file} can't be written: ${messageOf(cause)}`, {
      cause,
      mend: 'Check the rights on the file.',
    });
  }
}

async function readAnswers({ answers: file }: Input, { workspace }: Context): Promise<Answers | undefined> {
  if (file === undefined) return undefined;
  const mend = 'Write one JSON object: {"rps:3": "50/20"}.';
  try {
    const value: unknown = JSON.parse(await readFile(resolve(workspace.directory, file), 'utf8'));
    return z.record(z.string(), z.union([z.string(), z.number().transform(String)])).parse(value);
  } catch (cause) {
    const why = cause instanceof z.ZodError ? 'an answer is neither text nor a number' : messageOf(cause);
    throw new UsageError('answers-unreadable', `${file}: ${why}`, { cause, mend });
  }
}
