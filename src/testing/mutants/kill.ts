// The kill score of a model: how many of the mutants of the user's files something notices, and which ones nothing does.
import type { Pipeline } from '../../definition/specs.ts';
import type { Design } from '../../model/documents.ts';
import { parseDesign } from '../../model/reader/design.ts';
import type { ByContainer } from '../prove/oracle.ts';
import { codeMutants } from './code.ts';
import { documentMutants } from './document.ts';
import { type Mutant, otherFields } from './mutant.ts';
import { limitsOf } from '../prove/limits.ts';
import { type Evaluate, evaluator } from '../prove/meaning.ts';
import { type Subject, findingsOf, meaningFaults, refusal, remembered, writtenStates } from './notice.ts';

export interface KillScore {
  readonly mutants: number;
  /** How many were tried in the time. */
  readonly tried: number;
  readonly noticed: number;
  /** How many were noticed first by each rule, refusal or meaning. */
  readonly by: Readonly<Record<string, number>>;
  readonly survivors: readonly {
    readonly file: string;
    readonly line: number;
    readonly was: string;
    readonly is: string;
  }[];
}

export interface KillOptions {
  readonly seed: number;
  readonly seconds: number;
  readonly signal: AbortSignal;
  /** Makes a pipeline of a changed text. */
  readonly load: (text: string) => Promise<Pipeline>;
  readonly progress: (what: string, done: number, of: number) => void;
}

/** `subject.source.text`: the code without its types. */
export async function killScore(
  subject: Subject,
  { seed, seconds, signal, load, progress }: KillOptions,
): Promise<KillScore> {
  const { design } = subject.documents;
  const fields = otherFields(design);
  const mutants = inTurns(codeMutants(subject.source.text, fields), documentMutants(design, subject.pipeline, fields));
  const evaluate = remembered(await evaluator());
  const limits = limitsOf(subject.documents, subject.source.text);
  const states = writtenStates({ pipeline: subject.pipeline, model: design.model }, limits, seed);
  const before = new Set([...findingsOf(subject), ...meaningFaults(subject, states, evaluate)]);
  const end = performance.now() + 1000 * seconds;
  const by = new Map<string, number>();
  const survivors: Mutant[] = [];
  let tried = 0;
  for (const mutant of mutants) {
    signal.throwIfAborted();
    if (performance.now() > end) break;
    if (tried % 10 === 0) progress('mutants', tried, mutants.length);
    const noticed = await noticedBy(mutant, subject, { before, states, evaluate, load });
    tried += 1;
    if (noticed === undefined) survivors.push(mutant);
    else by.set(noticed, (by.get(noticed) ?? 0) + 1);
    // So that Ctrl-C is read between two mutants.
    await new Promise(setImmediate);
  }
  return {
    mutants: mutants.length,
    tried,
    noticed: tried - survivors.length,
    by: Object.fromEntries([...by].toSorted((a, b) => b[1] - a[1])),
    survivors: survivors
      .toSorted((a, b) => a.file.localeCompare(b.file) || a.line - b.line)
      .map(({ file, line, was, is }) => ({
        file: file === 'design' ? design.file : subject.source.file,
        line,
        was,
        is,
      })),
  };
}

interface Bench {
  /** What is found in the files as they are. */
  readonly before: ReadonlySet<string>;
  readonly states: readonly ByContainer[];
  readonly evaluate: Evaluate;
  readonly load: KillOptions['load'];
}

/** The rule, refusal or meaning that notices a mutant first. */
async function noticedBy(
  mutant: Mutant,
  subject: Subject,
  { before, states, evaluate, load }: Bench,
): Promise<string | undefined> {
  try {
    const changed: Subject =
      mutant.file === 'pipeline'
        ? {
            ...subject,
            pipeline: await load(mutant.text),
            source: { file: subject.source.file, text: mutant.text },
          }
        : { ...subject, documents: { ...subject.documents, design: designOf(mutant.text, subject) } };
    const found = [...findingsOf(changed)].find((finding) => !before.has(finding));
    if (found !== undefined) return found.split(':')[0];
    return [...meaningFaults(changed, states, evaluate)].find((fault) => !before.has(fault));
  } catch (error) {
    return refusal(error).split(':')[0];
  }
}

const designOf = (text: string, { documents: { design, requirements } }: Subject): Design =>
  parseDesign(
    text,
    design.file,
    requirements?.patterns.map(({ id }) => id),
  );

/** One of each list in turn, so that little time tries both files. */
const inTurns = <T>(...lists: readonly (readonly T[])[]): T[] =>
  Array.from({ length: Math.max(...lists.map(({ length }) => length)) }, (_, at) =>
    lists.flatMap((list) => list.slice(at, at + 1)),
  ).flat();
