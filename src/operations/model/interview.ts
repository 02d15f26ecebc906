import { readFile, writeFile } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { z } from 'zod';
import { UsageError, messageOf } from '../../base/errors.ts';
import type { Documents } from '../../model/documents.ts';
import { parseDesign } from '../../model/reader/design.ts';
import { parseRequirements } from '../../model/reader/requirements.ts';
import { decode } from '../../model/reader/source.ts';
import { type Context, type Plan, defineOperation } from '../operation.ts';
import { suggestion } from '../suggest.ts';
import { plural } from '../table.ts';
import { type Question, openQuestions } from './interview-questions.ts';
import { readPair } from './pair.ts';

/** Nobody answers a list of thirty. */
const AT_ONCE = 3;

type Answers = Readonly<Record<string, string>>;

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

/** Asks until all is answered or passed over; an empty answer passes, the end of the input stops. */
async function talk(
  documents: () => Documents,
  apply: (answers: Answers) => Promise<void>,
  { screen, signal }: Context,
): Promise<void> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const stop = (): void => terminal.close();
  signal.addEventListener('abort', stop);
  // A terminal that is read line by line gives Ctrl-C to the reader, not to the process.
  terminal.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  const lines = terminal[Symbol.asyncIterator]();
  const passed = new Set<string>();
  try {
    screen.line('An empty answer passes over a question; Ctrl-D stops.');
    for (;;) {
      const next = openQuestions(documents())
        .filter(({ id }) => !passed.has(id))
        .slice(0, AT_ONCE);
      if (next.length === 0) return;
      for (const { id, rule, ask, form } of next) {
        for (let asking = true; asking;) {
          screen.line(`${ask} (${rule}; ${form})`);
          terminal.prompt();
          const line = await lines.next();
          signal.throwIfAborted();
          if (line.done === true) return;
          const text = line.value.trim();
          if (text === '') passed.add(id);
          asking = text !== '' && !(await accepted(apply({ [id]: text }), screen));
        }
      }
    }
  } finally {
    signal.removeEventListener('abort', stop);
    terminal.close();
  }
}

/** False: the answer isn't understood, which is said. Anything else that fails ends the interview. */
async function accepted(applied: Promise<void>, screen: Context['screen']): Promise<boolean> {
  try {
    await applied;
    return true;
  } catch (error) {
    if (!(error instanceof UsageError && error.code === 'answer-not-understood')) throw error;
    screen.line(`${error.message}. ${error.mend}`);
    return false;
  }
}

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
