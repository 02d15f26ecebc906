// What would notice a mutant: a finding of `model check`, or a meaning that differs on the document's examples and on
// generated versions of them. Everything happens in memory.
import { messageOf } from '../../base/errors.ts';
import { contractRules } from '../../contract/contract-rules.ts';
import { checkPipeline } from '../../definition/check/check-pipeline.ts';
import type { Doc, Pipeline } from '../../definition/specs.ts';
import { rowKey } from '../../definition/oracle/recompute.ts';
import type { Design, Documents } from '../../model/documents.ts';
import { type Model, keyPathsOf } from '../../model/model.ts';
import { MODEL_RULES, checkDocuments } from '../../model/rules/index.ts';
import type { Parser } from '../../sql-check/parser.ts';
import { boundSets } from '../prove/ask.ts';
import { Changes } from '../prove/changes.ts';
import type { Limits } from '../prove/limits.ts';
import { type Evaluate, Meant, isAbout } from '../prove/meaning.ts';
import { type ByContainer, derivedTypes, expectedDocuments, refName } from '../prove/oracle.ts';
import { questionOf } from '../prove/question.ts';

/** The files of a user, read. */
export interface Subject {
  readonly documents: Documents & { readonly design: Design };
  readonly pipeline: Pipeline;
  readonly source: { readonly file: string; readonly text: string };
  /** For the SQL of the documents (`parserFor`). */
  readonly parser: Parser | undefined;
}

/** Findings of `model check` and `plan` by rule and words, without their lines, since a changed line may move others. */
export function findingsOf({ documents, pipeline, source }: Subject): Set<string> {
  const { findings, reading, notChecked } = checkDocuments(documents, [
    ...MODEL_RULES,
    ...contractRules(pipeline, source),
  ]);
  return new Set([
    ...findings.filter(({ severity }) => severity !== 'information').map(({ rule, message }) => `${rule}: ${message}`),
    ...reading.filter(({ severity }) => severity !== 'information').map(({ code, message }) => `${code}: ${message}`),
    ...checkPipeline(pipeline, documents.design.model).map(({ code, message }) => `${code}: ${message}`),
    ...notChecked.map(({ rule, missing }) => `${rule}: not checked, because ${missing} is missing`),
  ]);
}

const ROUNDS = 3;
/** Every query is asked with this many sets of parameters. */
const SETS = 200;

/** The documents that applications wrote: the examples, documents beside them, then versions of them round by round. */
export function writtenStates(
  { pipeline, model }: { pipeline: Pipeline; model: Model },
  limits: Limits,
  seed: number,
): ByContainer[] {
  const changes = new Changes({ pipeline, model }, seed);
  const now = new Map<string, Map<string, Doc>>();
  const after = (written: ReturnType<Changes['examples']>): ByContainer => {
    for (const [container, documents] of Object.entries(written)) {
      const known = now.get(container) ?? new Map<string, Doc>();
      now.set(container, known);
      for (const doc of documents as Doc[]) known.set(rowKey(doc, keyPathsOf(model, container)), doc);
    }
    return new Map([...now].map(([name, documents]) => [name, [...documents.values()]]));
  };
  return [
    after(changes.examples()),
    after(changes.beside(limits)),
    ...Array.from({ length: ROUNDS }, (_, round) => after(changes.updates(round + 1))),
    after(changes.deletions()),
  ];
}

/** The patterns whose answers differ from their meanings, or that can't be asked. */
export function meaningFaults(
  { documents: { design, requirements }, pipeline }: Pick<Subject, 'documents' | 'pipeline'>,
  states: readonly ByContainer[],
  evaluate: Evaluate,
): Set<string> {
  const faults = new Set<string>();
  const meanings = [...design.meanings, ...(requirements?.meanings ?? [])];
  const sinks = derivedTypes(pipeline);
  for (const stored of states) {
    const derived = expectedDocuments({ pipeline, model: design.model }, stored);
    for (const meaning of meanings) {
      const written = writtenOf(stored.get(meaning.container) ?? [], meaning.container, sinks);
      for (const row of design.mapping.filter(({ ids }) => ids.some((id) => meaning.ids.includes(id)))) {
        const question = questionOf(row, design.projections, design.model);
        if (isAbout(meaning, question) && differs(new Meant(meaning, evaluate, written), question, derived, evaluate))
          faults.add(`meaning of ${row.ids.join(', ')}`);
      }
    }
  }
  return faults;
}

/** What applications wrote, the same list each time: a meaning is evaluated once over it (`remembered`). */
function writtenOf(stored: readonly Doc[], container: string, sinks: ReadonlySet<string>): readonly Doc[] {
  const name = [...sinks].toSorted().join(' ');
  const lists = WRITTEN.get(stored) ?? new Map<string, readonly Doc[]>();
  WRITTEN.set(stored, lists);
  const list = lists.get(name) ?? stored.filter(({ type }) => !sinks.has(refName({ container, type: String(type) })));
  lists.set(name, list);
  return list;
}

const WRITTEN = new WeakMap<readonly Doc[], Map<string, readonly Doc[]>>();

/** Most mutants leave a meaning and its documents as they are. */
export function remembered(evaluate: Evaluate): Evaluate {
  const answers = new WeakMap<readonly Doc[], Map<string, unknown[]>>();
  return (text, parameters, documents) => {
    const known = answers.get(documents) ?? new Map<string, unknown[]>();
    answers.set(documents, known);
    const question = `${text} ${JSON.stringify(parameters)}`;
    const rows = known.get(question) ?? evaluate(text, parameters, documents);
    known.set(question, rows);
    return rows;
  };
}

function differs(
  meant: Meant,
  question: ReturnType<typeof questionOf>,
  derived: ByContainer,
  evaluate: Evaluate,
): boolean {
  if (question.kind !== 'query' && question.kind !== 'point-read') return false;
  const documents = derived.get(question.container.name) ?? [];
  if (question.kind === 'point-read')
    return documents.some((doc) => meant.reads(doc) && meant.ofRead(doc, doc) !== undefined);
  const { query } = question;
  return [...boundSets(query, documents, [meant], SETS).sets].some(
    (bound) => meant.ofQuery(query, bound, evaluate(query.text, bound, documents)) !== undefined,
  );
}

/** Why a changed pipeline can't be used, as what noticed it. */
export const refusal = (error: unknown): string => `refused: ${messageOf(error).split('\n')[0]}`;
