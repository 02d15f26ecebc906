// The labels of published designs: what each states (facts.tsv), what a reviewer named in it (defects.tsv), and why the
// check didn't find some of that (missed.tsv).
import { readFileSync } from 'node:fs';

export interface Published {
  readonly name: string;
  /** Addresses of the two documents; undefined: only a stored index has it. */
  readonly model: string | undefined;
  readonly requirements: string | undefined;
  readonly defects: readonly Defect[];
  readonly facts: readonly Fact[];
}

export interface Defect {
  /** Lines of the data model at which a finding may stand. */
  readonly lines: readonly number[];
  /** Why no finding stood there when missed.tsv was written, and its sort. */
  readonly missed?: { readonly cause: string; readonly sort: string };
}

export interface Fact {
  readonly kind: string;
  readonly line: number;
  readonly container: string;
  readonly value: string;
}

const rowsOf = (file: string): string[][] =>
  readFileSync(new URL(file, import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split('\t'));

const labels = rowsOf('defects.tsv');
const facts = rowsOf('facts.tsv');
const missed = new Map(
  rowsOf('missed.tsv').map(([of, lines, cause = '', sort = '']) => [`${of} ${lines}`, { cause, sort }]),
);

export const publishedDocuments: readonly Published[] = labels.flatMap(
  ([row, name = '', repository = '', commit = '', model = '', requirements = '-']) => {
    if (row !== 'document') return [];
    const address = (path: string): string => `https://raw.githubusercontent.com/${repository}/${commit}/${path}`;
    return [
      {
        name,
        model: repository === '-' ? undefined : address(model),
        requirements: requirements === '-' ? undefined : address(requirements),
        defects: labels
          .filter(([kind, of]) => kind === 'defect' && of === name)
          .map(([, , lines = '']): Defect => {
            const why = missed.get(`${name} ${lines}`);
            return {
              lines: lines.split(',').map(Number).filter(Number.isInteger),
              ...(why && { missed: why }),
            };
          }),
        facts: facts
          .filter(([of]) => of === name)
          .map(([, kind = '', line = '', container = '', value = '']) => ({
            kind,
            line: Number(line),
            container,
            value,
          })),
      },
    ];
  },
);
