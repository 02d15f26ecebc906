// G16 for aggregates: what each measure is of.
import { isObject } from '../base/json.ts';
import { didYouMean } from '../base/near.ts';
import { valueAt } from '../model/rules/facts.ts';
import { examplesOf } from '../model/model.ts';
import { typeRules } from '../pipeline/discriminator.ts';
import type { MeasureSpec } from '../pipeline/builders/measures.ts';
import type { AggregateSpec, Doc, Pipeline } from '../pipeline/specs.ts';
import { attempt } from '../pipeline/fields/watched.ts';
import { type Compared, type Said, writing } from './declared.ts';
import { type Expression, expressionOf } from './expression.ts';

export function* measured(
  { facts, contract, row, declared }: Compared,
  spec: AggregateSpec,
  pipeline: Pipeline,
): Iterable<Said> {
  const model = facts.design?.model;
  if (!model) return;
  const rules = typeRules(pipeline.sources, spec.from);
  const docs = examplesOf(model, spec.from).map((stored) => rules.upcast?.(stored) ?? stored);
  const taken = docs.flatMap((doc) =>
    (attempt(() => spec.each?.(doc)) ?? [doc]).filter(isObject).map((one) => ({ row: one, doc })),
  );
  if (taken.length === 0) return;
  const known = [...new Set(taken.flatMap(({ row: one, doc }) => [...Object.keys(one), ...Object.keys(doc)]))];
  const like = row.as === undefined ? row : (facts.rows.find(({ name }) => name === row.as) ?? row);
  for (const { field, kind, of: text } of like.measures) {
    const measure = spec.measures[field];
    if (!measure || measure.kind !== kind) continue;
    const related = [contract.at(declared, field, writing(declared))];
    const top = /^(\d+)\b(?:.*\bby ([\p{L}_][\w.]*))?/u.exec(text);
    if (measure.kind === 'top' && top && Number(top[1]) !== measure.n)
      yield {
        message: `${row.name}: ${field} is the top ${top[1]} in the document, but the top ${measure.n} in the code`,
        at: row.at,
        related,
      };
    const expression = expressionOf(measure.kind === 'top' ? (top?.[2] ?? '') : (/^\((.*)\)$/.exec(text)?.[1] ?? ''));
    if (!expression) continue;
    const unknown = expression.fields.find(
      (name) => !known.includes(lastOf(name)) && !known.includes(name.split('.')[0] ?? ''),
    );
    if (unknown !== undefined && expression.compares) continue;
    if (unknown !== undefined) {
      yield {
        message: `${row.name}: ${field} is ${kind}${text} in the document, but no example of ${spec.from.type} has ${unknown}`,
        at: row.at,
        related,
        hint: didYouMean(unknown, known),
      };
      continue;
    }
    const odd = oddOne(measure, expression, taken);
    if (odd)
      yield {
        message: `${row.name}: ${field} is ${kind}${text.startsWith('(') ? text : ` ${text}`} in the document, which gives ${shown(odd.stated)} for ${odd.example}; the code gives ${shown(odd.code)}`,
        at: row.at,
        related,
      };
  }
}

interface Taken {
  readonly row: Doc;
  readonly doc: Doc;
}

/** The first row for which the words and the code have different values. */
function oddOne(measure: MeasureSpec, expression: Expression, taken: readonly Taken[]) {
  const valueOf = codeOf(measure);
  if (!valueOf) return undefined;
  const said = ({ row, doc }: Taken): unknown => expression.valueOf((field) => fieldOf(field, row, doc));
  const [first] = taken;
  const made = first && attempt(() => valueOf(first.row));
  // Operands that are no numbers in any example.
  if (first && expression.numeric && typeof made === 'number' && taken.every((one) => said(one) === undefined))
    return { stated: undefined, code: made, example: `the example ${String(first.doc['id'])}` };
  for (const one of taken) {
    for (const { row, doc, change } of variants(one, expression)) {
      const stated = expression.valueOf((field) => fieldOf(field, row, doc));
      const code = attempt(() => valueOf(row));
      if (stated === undefined || code === undefined || equal(stated, code)) continue;
      return { stated, code, example: `the example ${String(doc['id'])}${change}` };
    }
  }
  return undefined;
}

function codeOf(measure: MeasureSpec): ((row: unknown) => unknown) | undefined {
  if (measure.kind === 'count') return undefined;
  return measure.kind === 'top' ? (row) => measure.by(row) : (row) => measure.of(row);
}

/**
 * The row itself, and with one number changed: by 1, to another size, and to both sides of each number of the words.
 * Values that agree by chance don't agree in all of them.
 */
function* variants({ row, doc }: Taken, { numbers }: Expression): Iterable<Taken & { readonly change: string }> {
  yield { row, doc, change: '' };
  for (const [field, value] of Object.entries(row)) {
    if (typeof value !== 'number') continue;
    const others = [value + 1, 2 * value + 3, ...numbers.flatMap((number) => [number - 1, number, number + 1])];
    for (const other of others) {
      const changed = { ...row, [field]: other };
      yield { row: changed, doc: row === doc ? changed : doc, change: ` with ${field} ${other}` };
    }
  }
}

const lastOf = (name: string): string => name.split('.').at(-1) ?? name;

/** A field of the row or of its document; `line.quantity` is the row's `quantity`. */
const fieldOf = (name: string, row: Doc, doc: Doc): unknown =>
  [valueAt(row, name), valueAt(doc, name), row[lastOf(name)], doc[lastOf(name)]].find((value) => value !== undefined);

const equal = (stated: unknown, code: unknown): boolean => {
  const [a, b] = [stated, code].map((value) => (typeof value === 'boolean' ? Number(value) : value));
  if (typeof a !== 'number' || typeof b !== 'number') return a === b;
  return Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a), Math.abs(b));
};

const shown = (value: unknown): string => JSON.stringify(value) ?? 'nothing';
