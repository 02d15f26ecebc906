// The access patterns of a model, run after each stage. In the end each has one verdict.
import type { Database } from '@azure/cosmos';
import type { Doc } from '../../definition/specs.ts';
import { rowKey } from '../../definition/oracle/recompute.ts';
import type { Design, Mapping, Meaning, Requirements } from '../../model/documents.ts';
import type { Model } from '../../model/model.ts';
import { type Asked, type Sides, ask } from './ask.ts';
import type { Changes } from './changes.ts';
import { type ByContainer, refName } from './oracle.ts';
import { type Evaluate, Meant, isAbout } from './meaning.ts';
import { write } from './write.ts';
import { type Question, questionOf, reachOf, unindexed } from './question.ts';

/** `run`: its answers agree with the recomputation, which uses the pipeline's own functions; no meaning was compared. */
export type Verdict = 'proved' | 'run' | 'not run' | 'different';

export interface PatternProof {
  readonly pattern: string;
  readonly description: string;
  readonly verdict: Verdict;
  /** Why it was not run or is not proved, or the first difference with its stage. */
  readonly why?: string;
  readonly container?: string;
  readonly how?: Question['kind'];
  /** It reads documents that projections write. */
  readonly derived: boolean;
  /** The fields that were compared with its meaning. */
  readonly meant?: readonly string[];
  /** Its query sorts, and its meaning doesn't say how. */
  readonly unordered?: boolean;
  /** Why it is only run. */
  readonly unproved?: string;
  /** Over all stages. */
  readonly runs: number;
  readonly rows: number;
  /** The most expensive run, RU, by the embedded server's charge; then the RU that the document states. */
  readonly ru: number;
  readonly statedRu?: number;
  readonly reach?: 'a key prefix' | 'all partitions';
  /** Fields of its filters and order that the indexing policy leaves out, and the most documents loaded for them. */
  readonly scan?: { readonly fields: readonly string[]; readonly loaded: number };
}

/** One line of the report: the result of its pattern over all stages. */
export class Asking {
  readonly #row: Mapping | undefined;
  readonly #question: Question;
  readonly #meanings: readonly Meaning[];
  readonly #derived: boolean;
  readonly #sinks: ReadonlySet<string>;
  readonly #as: Pick<PatternProof, 'pattern' | 'description'>;
  #runs = 0;
  #rows = 0;
  #ru = 0;
  #loaded = 0;
  #first: string | undefined;
  /** Rows that were compared with each meaning. */
  readonly #compared = new Map<Meaning, number>();
  readonly #columns = new Set<string>();
  #isOrdered = false;
  #why: string | undefined;

  constructor(
    as: Pick<PatternProof, 'pattern' | 'description'>,
    row: Mapping | undefined,
    question: Question,
    { meanings, sinks }: { readonly meanings: readonly Meaning[]; readonly sinks: ReadonlySet<string> },
  ) {
    this.#as = as;
    this.#row = row;
    this.#question = question;
    this.#meanings = meanings;
    this.#sinks = sinks;
    const reads = question.kind === 'query' || question.kind === 'point-read';
    this.#derived = reads && [...sinks].some((name) => name.startsWith(`${question.container.name}/`));
    if (question.kind === 'none') this.#why = question.why;
  }

  async look(
    stage: string,
    sides: Sides,
    now: ByContainer,
    seen: ReadonlyMap<string, ReadonlyMap<string, Doc>>,
    evaluate: Evaluate,
  ): Promise<void> {
    const question = this.#question;
    const later = question.kind === 'none' || question.kind === 'write' || question.kind === 'events';
    if (later || this.#first !== undefined) return;
    const { name, partitionKey } = question.container;
    const present = now.get(name) ?? [];
    const keys = new Set(present.map((doc) => rowKey(doc, partitionKey)));
    const gone = [...(seen.get(name) ?? [])].filter(([key]) => !keys.has(key)).map(([, doc]) => doc);
    // Leave half of the runs to removed documents.
    // Archived documents are no longer among those that the meaning is about.
    const meant = sides.cold
      ? []
      : this.#meanings.map((meaning) => new Meant(meaning, evaluate, this.#written(meaning.container, now)));
    const documents = [...present.slice(0, 10), ...gone, ...present.slice(10)];
    this.#take(stage, await ask(question, sides, byType(documents, meant), meant));
    for (const one of meant) {
      this.#compared.set(one.meaning, (this.#compared.get(one.meaning) ?? 0) + one.rows);
      this.#isOrdered ||= one.ordered;
      for (const column of one.columns) this.#columns.add(column);
    }
  }

  /** False: the pattern doesn't write, or has nothing to write. */
  async write(stage: string, database: Database, changes: Changes): Promise<boolean> {
    if (this.#question.kind !== 'write') return false;
    const asked = await write(this.#question, database, changes);
    this.#take(stage, asked);
    return asked.runs > 0;
  }

  /** Takes the result of a `publish`, if it serves this pattern. */
  published(stage: string, name: string, asked: Asked): void {
    if (this.#question.kind === 'events' && this.#question.of === name) this.#take(stage, asked);
  }

  /** A meaning over what projections wrote would prove it by itself. */
  #written(container: string, now: ByContainer): readonly Doc[] {
    return (now.get(container) ?? []).filter(
      ({ type }) => !this.#sinks.has(refName({ container, type: String(type) })),
    );
  }

  /** Notes a difference after the writes of this and other patterns were delivered. */
  blame(stage: string, difference: string): void {
    this.#first ??= `after ${stage}: ${difference}`;
  }

  #take(stage: string, asked: Asked): void {
    this.#runs += asked.runs;
    this.#rows += asked.rows;
    this.#ru = Math.max(this.#ru, asked.ru);
    this.#loaded = Math.max(this.#loaded, asked.loaded);
    this.#why = asked.why ?? this.#why;
    if (asked.first !== undefined) this.#first = `after ${stage}: ${asked.first}`;
  }

  /** Why nothing is proved, though it ran. */
  #unproved(provable: boolean): string | undefined {
    const queries = new Set(this.#row?.queries.map(({ text }) => text)).size;
    if (this.#meanings.length === 0) return 'no meaning was compared';
    if (!provable) return 'the contract has errors';
    if (queries > 1) return `its row has ${queries} queries, and only the first ran; write a row for each`;
    if (queries > 0 && this.#row?.operations.includes('point-read'))
      return 'its row has a point read and a query, and only the query ran; write a row for each';
    const idle = this.#meanings.find((meaning) => (this.#compared.get(meaning) ?? 0) === 0);
    return idle && `its meaning in line ${idle.at.line} has no row on these documents`;
  }

  /** Its query sorts, and no meaning does. */
  get #isUnordered(): boolean {
    return this.#question.kind === 'query' && this.#question.query.order.length > 0 && !this.#isOrdered;
  }

  /** `provable` false: code and document disagree, so its meaning proves nothing. */
  proof(provable: boolean): PatternProof {
    const question = this.#question;
    const unproved = this.#unproved(provable);
    const ran = this.#rows > 0 ? (unproved === undefined ? 'proved' : 'run') : 'not run';
    const verdict: Verdict = this.#first !== undefined ? 'different' : ran;
    const reach = question.kind === 'query' ? reachOf(question.container, question.query) : 'one partition';
    const fields = question.kind === 'query' ? unindexed(question.container, question.query) : [];
    const why =
      this.#first ?? (verdict === 'not run' ? (this.#why ?? 'no example document is in its result') : undefined);
    return {
      ...this.#as,
      verdict,
      ...(why !== undefined && { why }),
      ...(question.kind !== 'none' && { container: question.container.name, how: question.kind }),
      derived: this.#derived,
      ...(verdict === 'proved' && { meant: [...this.#columns], ...(this.#isUnordered && { unordered: true }) }),
      ...(verdict === 'run' && unproved !== undefined && { unproved }),
      runs: this.#runs,
      rows: this.#rows,
      ru: this.#ru,
      ...(this.#row?.ru !== undefined && { statedRu: this.#row.ru }),
      ...(reach !== 'one partition' && { reach }),
      ...(fields.length > 0 && { scan: { fields, loaded: this.#loaded } }),
    };
  }
}

/** Documents of the type that the pattern reads come first. */
function byType(documents: readonly Doc[], meant: readonly Meant[]): readonly Doc[] {
  const reads = (doc: Doc): number => Number(meant.some((one) => one.reads(doc)));
  return meant.length === 0 ? documents : documents.toSorted((a, b) => reads(b) - reads(a));
}

/** Every pattern of the mapping, and those of the requirements that no row of the mapping names. */
export function patternsOf(
  design: Design,
  requirements: Requirements | undefined,
  model: Model,
  sinks: ReadonlySet<string>,
  only: readonly string[] | undefined,
): Asking[] {
  const meanings = [...design.meanings, ...(requirements?.meanings ?? [])];
  const patterns = requirements?.patterns ?? [];
  const wanted = (id: string): boolean => only === undefined || only.includes(id);
  const mapped = design.mapping.flatMap((row) =>
    row.ids.filter(wanted).map((id) => {
      const pattern = patterns.find((of) => of.id === id);
      const as = { pattern: id, description: pattern?.description ?? row.printed };
      const question = questionOf(row, design.projections, model);
      const own = meanings.filter((meaning) => meaning.ids.includes(id) && isAbout(meaning, question));
      return new Asking(as, row, question, { meanings: own, sinks });
    }),
  );
  const known = new Set(design.mapping.flatMap(({ ids }) => ids));
  const lacking = patterns
    .filter(({ id }) => wanted(id) && !known.has(id))
    .map(({ id, description }) => {
      const why = 'no row of the mapping names it';
      return new Asking({ pattern: id, description }, undefined, { kind: 'none', why }, { meanings: [], sinks });
    });
  return [...mapped, ...lacking];
}
