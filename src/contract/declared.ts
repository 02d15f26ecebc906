// All declarations of a pipeline in one form, each with its line in pipeline.ts.
import type { ProjectionRow } from '../model/documents.ts';
import type { Model, SourceLine } from '../model/model.ts';
import type { Facts } from '../model/rules/facts.ts';
import type { RuleResult } from '../model/rules/rule.ts';
import type { DerivedSpec, Pipeline, SourceRef } from '../pipeline/specs.ts';
import { feedReaders } from '../pipeline/pipeline.ts';

export interface SourceText {
  readonly file: string;
  readonly text: string;
}

/** The text of pipeline.ts, to find lines in. */
export interface PipelineSource extends SourceText {
  /** The text of the model.ts beside it. Absent: there is none. */
  readonly model?: SourceText;
  /** The model of that model.ts. Absent: a document is there, and is compared. */
  readonly code?: Model;
  /** SHA-256 of the data-model document. Absent: there is none. */
  readonly documentDigest?: string;
}

/** Why an existing pipeline.ts can't be checked. */
export interface Unloadable {
  readonly message: string;
  readonly hint?: string;
  readonly at: SourceLine;
}

export interface Declared {
  readonly name: string;
  readonly version: number;
  readonly kind: DerivedSpec['kind'];
  readonly spec: DerivedSpec;
  readonly from: SourceRef | undefined;
  /** Joined types, but not the parents of an embed. */
  readonly joins: readonly SourceRef[];
  readonly into: SourceRef | undefined;
  readonly maxLag: string | undefined;
  readonly onDelete: 'remove' | 'keep' | undefined;
  readonly at: SourceLine;
}

/** The part of a declaration that defines the written fields. */
export const writing = ({ kind }: Pick<Declared, 'kind'>): string =>
  kind === 'aggregate' ? 'measures' : kind === 'embed' ? 'set' : 'map';

export class Contract {
  readonly pipeline: Pipeline | undefined;
  readonly unloadable: Unloadable | undefined;
  readonly declared: readonly Declared[];
  readonly source: PipelineSource | undefined;

  constructor(pipeline: Pipeline | undefined, source: PipelineSource | undefined, unloadable?: Unloadable) {
    this.pipeline = pipeline;
    this.unloadable = unloadable;
    this.source = source;
    const specs = pipeline ? feedReaders(pipeline) : [];
    this.declared = specs.map((spec, at) =>
      this.#declare(spec, specs.slice(0, at).filter(({ name }) => name === spec.name).length),
    );
  }

  /** A projection by its name; of several versions the first. */
  named(name: string): Declared | undefined {
    return this.declared.find((declared) => declared.name === name);
  }

  /** Whether a declaration is the first of its name. */
  #isFirst = (declared: Declared): boolean => this.named(declared.name) === declared;

  /** The name of a declaration in the document: `orders`, and of a further version `orders@2`. */
  label(declared: Declared): string {
    return this.#isFirst(declared) ? declared.name : `${declared.name}@${declared.version}`;
  }

  /** The row about a declaration: that of its version, else the one that names no version. */
  rowOf({ name, version }: Declared, rows: readonly ProjectionRow[]): ProjectionRow | undefined {
    const own = rows.filter((row) => row.name === name);
    return own.find((row) => row.version === version) ?? own.find((row) => row.version === undefined);
  }

  /** Each declaration with its row; declarations and rows without the other are left out. */
  matched(rows: readonly ProjectionRow[]): { readonly row: ProjectionRow; readonly declared: Declared }[] {
    return this.declared.flatMap((declared) => {
      const row = this.rowOf(declared, rows);
      return row ? [{ row, declared }] : [];
    });
  }

  /** Whether the code has the projection of a row. */
  has({ name, version }: ProjectionRow): boolean {
    return this.declared.some((of) => of.name === name && (version === undefined || of.version === version));
  }

  /**
   * The line of a word inside a projection's declaration, or of the declaration if the word isn't found. `within`: search
   * only from this part on (`map`, `measures`); its line is then the default.
   */
  at(declared: Declared, word?: string, within?: string): SourceLine {
    const from = within === undefined ? declared.at : this.at(declared, within);
    if (!this.source || word === undefined) return from;
    const { at } = declared;
    const lines = this.source.text.split('\n');
    const next = this.declared
      .filter((other) => other.at.line > at.line)
      .map((other) => other.at.line)
      .toSorted((a, b) => a - b)[0];
    for (let line = from.line; line < Math.min(next ?? Infinity, lines.length + 1); line++) {
      const text = lines[line - 1] ?? '';
      for (let found = text.indexOf(word); found >= 0; found = text.indexOf(word, found + 1)) {
        const around = `${text[found - 1] ?? ' '}${text[found + word.length] ?? ' '}`;
        if (!/[\w$]/.test(around)) return { file: at.file, line };
      }
    }
    return from;
  }

  /** `before`: how many versions of it are declared before this one. */
  #declare(spec: DerivedSpec, before: number): Declared {
    return {
      name: spec.name,
      version: spec.version,
      kind: spec.kind,
      spec,
      from: spec.kind === 'custom' ? spec.sources[0] : spec.from,
      joins: joinsOf(spec),
      into: 'into' in spec ? spec.into : undefined,
      maxLag: 'maxLag' in spec ? spec.maxLag : undefined,
      onDelete: 'onDelete' in spec ? spec.onDelete : undefined,
      at: this.placeOf(spec.name, before),
    };
  }

  /** The line of the name as a string literal, of which each version has one; else the first line. */
  placeOf(name: string, before = 0): SourceLine {
    const { file = 'pipeline.ts', text = '' } = this.source ?? {};
    const escaped = name.replaceAll(/[^\w]/g, String.raw`\$&`);
    const places = [...text.matchAll(new RegExp(`(['"\`])${escaped}\\1`, 'g'))].map(({ index }) => index);
    return { file, line: text.slice(0, places[before] ?? places[0] ?? 0).split('\n').length };
  }
}

function joinsOf(spec: DerivedSpec): readonly SourceRef[] {
  if (spec.kind === 'copy') return spec.joins.map(({ of }) => of);
  if (spec.kind === 'reference') return [spec.tenants];
  return spec.kind === 'custom' ? spec.sources.slice(1) : [];
}

export type ColumnRule = 'G1' | 'G2' | 'G5' | 'G7' | 'G9' | 'G10' | 'G16';
export type Said = Exclude<RuleResult, { readonly missing: string }>;

/** What is compared, and where a finding stands. */
export interface Compared {
  readonly facts: Facts;
  readonly contract: Contract;
  readonly row: ProjectionRow;
  readonly declared: Declared;
}
