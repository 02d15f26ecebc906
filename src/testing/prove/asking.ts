// The access patterns of a model, run after each stage. In the end each has one verdict.
import type { Database } from '@azure/cosmos';
import type { Doc } from '../../definition/specs.ts';
import { rowKey } from '../../definition/oracle/recompute.ts';
import type { Design, Mapping, Requirements } from '../../model/documents.ts';
import type { Model } from '../../model/model.ts';
import { type Asked, type Sides, ask } from './ask.ts';
import type { Changes } from './changes.ts';
import type { ByContainer } from './oracle.ts';
import { write } from './write.ts';
import { type Question, questionOf, reachOf, unindexed } from './question.ts';

export type Verdict = 'proved' | 'not run' | 'different';

export interface PatternProof {
  readonly pattern: string;
  readonly description: string;
  readonly verdict: Verdict;
  /** Why it was not run, or the first difference with its stage. */
  readonly why?: string;
  readonly container?: string;
  readonly how?: Question['kind'];
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
  readonly #as: Pick<PatternProof, 'pattern' | 'description'>;
  #runs = 0;
  #rows = 0;
  #ru = 0;
  #loaded = 0;
  #first: string | undefined;
  #why: string | undefined;

  constructor(as: Pick<PatternProof, 'pattern' | 'description'>, row: Mapping | undefined, question: Question) {
    this.#as = as;
    this.#row = row;
    this.#question = question;
    if (question.kind === 'none') this.#why = question.why;
  }

  async look(
    stage: string,
    sides: Sides,
    now: ByContainer,
    seen: ReadonlyMap<string, ReadonlyMap<string, Doc>>,
  ): Promise<void> {
    const question = this.#question;
    const later = question.kind === 'none' || question.kind === 'write' || question.kind === 'events';
    if (later || this.#first !== undefined) return;
    const { name, partitionKey } = question.container;
    const present = now.get(name) ?? [];
    const keys = new Set(present.map((doc) => rowKey(doc, partitionKey)));
    const gone = [...(seen.get(name) ?? [])].filter(([key]) => !keys.has(key)).map(([, doc]) => doc);
    // Leave half of the runs to removed documents.
    this.#take(stage, await ask(question, sides, [...present.slice(0, 10), ...gone, ...present.slice(10)]));
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

  proof(): PatternProof {
    const question = this.#question;
    const verdict: Verdict = this.#first !== undefined ? 'different' : this.#rows > 0 ? 'proved' : 'not run';
    const reach = question.kind === 'query' ? reachOf(question.container, question.query) : 'one partition';
    const fields = question.kind === 'query' ? unindexed(question.container, question.query) : [];
    const why =
      this.#first ?? (verdict === 'proved' ? undefined : (this.#why ?? 'no example document is in its result'));
    return {
      ...this.#as,
      verdict,
      ...(why !== undefined && { why }),
      ...(question.kind !== 'none' && { container: question.container.name, how: question.kind }),
      runs: this.#runs,
      rows: this.#rows,
      ru: this.#ru,
      ...(this.#row?.ru !== undefined && { statedRu: this.#row.ru }),
      ...(reach !== 'one partition' && { reach }),
      ...(fields.length > 0 && { scan: { fields, loaded: this.#loaded } }),
    };
  }
}

/** Every pattern of the mapping, and those of the requirements that no row of the mapping names. */
export function patternsOf(
  design: Design,
  requirements: Requirements | undefined,
  model: Model,
  only: readonly string[] | undefined,
): Asking[] {
  const patterns = requirements?.patterns ?? [];
  const wanted = (id: string): boolean => only === undefined || only.includes(id);
  const mapped = design.mapping.flatMap((row) =>
    row.ids.filter(wanted).map((id) => {
      const pattern = patterns.find((of) => of.id === id);
      const as = { pattern: id, description: pattern?.description ?? row.printed };
      return new Asking(as, row, questionOf(row, design.projections, model));
    }),
  );
  const known = new Set(design.mapping.flatMap(({ ids }) => ids));
  const lacking = patterns
    .filter(({ id }) => wanted(id) && !known.has(id))
    .map(({ id, description }) => {
      const why = 'no row of the mapping names it';
      return new Asking({ pattern: id, description }, undefined, { kind: 'none', why });
    });
  return [...mapped, ...lacking];
}
