// G16: which documents a projection takes, by the words beside its source. What the words say and the code doesn't do is an
// error. What the code does and the words don't say is a warning.
import { isObject } from '../base/json.ts';
import { examplesOf } from '../model/model.ts';
import { typeRules } from '../pipeline/discriminator.ts';
import type { DerivedSpec, Doc } from '../pipeline/specs.ts';
import { attempt } from '../pipeline/fields/watched.ts';
import type { Compared, Said } from './declared.ts';

/** The words beside the source: what is left without the references, and what they say. */
interface Words {
  readonly waits: boolean;
  readonly twice: boolean;
  readonly each: boolean;
  /** The values that the source's field may have, or may not have. */
  readonly condition:
    | { readonly text: string; readonly field?: string; readonly values: readonly string[]; readonly not: boolean }
    | undefined;
  /** There are other words. */
  readonly other: boolean;
}

const LIST = String.raw`([\w-]+(?:(?:,| or| and) (?!each\b|every\b|waits?\b|with\b)[\w-]+(?! (?!or |and )\w))*)`;

export function contractWordsOf(sourceText: string): Words {
  const rest = sourceText
    .replaceAll(/[`'"]/g, '')
    .replaceAll(/[\p{L}_][\p{L}\p{N}_-]{0,99}\s*\([\p{L}_][\p{L}\p{N}_-]{0,99}\)/gu, ' ')
    .replaceAll(/\s+/g, ' ');
  const listed = new RegExp(String.raw`\bin ([a-z]\w*) ${LIST}`).exec(rest);
  const named = /\b(?:where|with) ([a-z]\w*) (?:=|is) ([\w-]+)/.exec(rest);
  const not = new RegExp(String.raw`\b(?:not|except) ${LIST}`).exec(rest);
  const [text, field, values] = listed ?? named ?? [not?.[0], undefined, not?.[1]];
  const known = [
    /\bwaits? for (it|them|both)\b/,
    /\btwice\b/,
    /\b(each|every) \w+/,
    /\b(with|and)\b/,
    ...(text ? [text] : []),
  ];
  return {
    waits: /\bwaits?\b/i.test(rest),
    twice: /\btwice\b/i.test(rest),
    each: /\b(each|every)\b/i.test(rest),
    condition:
      text === undefined || values === undefined
        ? undefined
        : {
            text,
            ...(field !== undefined && { field }),
            values: values.split(/,? (?:or |and )?/),
            not: text === not?.[0],
          },
    other: /[\p{L}\p{N}]/u.test(known.reduce<string>((left, part) => left.replace(part, ' '), rest)),
  };
}

export function* filters(compared: Compared): Iterable<Said> {
  const { contract, row, declared } = compared;
  const { spec } = declared;
  const words = contractWordsOf(row.sourceText);
  if (spec.kind === 'copy') {
    const waits = spec.joins.some(({ missing }) => missing === 'wait');
    const joins = spec.joins.map(({ of }) => `${of.container} ${of.type}`);
    if (words.waits !== waits && spec.joins.length > 0)
      yield {
        ...(waits && { severity: 'warning' }),
        message: waits
          ? `${row.name} waits for a joined document in the code, but the document doesn't say so`
          : `${row.name} waits for a joined document in the document, but the code doesn't`,
        at: row.at,
        related: [contract.at(declared, 'missing')],
        hint: waits
          ? 'Write "waits for it" behind the joined type.'
          : "Add `missing: 'wait'` to the join. Or correct the words.",
      };
    if (words.twice && new Set(joins).size === joins.length)
      yield {
        message: `${row.name} joins a type twice in the document, but not in the code`,
        at: row.at,
        related: [declared.at],
      };
  }
  if (spec.kind === 'aggregate' && words.each !== (spec.each !== undefined))
    yield {
      ...(!words.each && { severity: 'warning' }),
      message: words.each
        ? `${row.name} takes each element of a list in the document, but whole documents in the code`
        : `${row.name} takes each element of a list in the code, but the document doesn't say so`,
      at: row.at,
      related: [contract.at(declared, spec.each ? 'each' : 'from')],
    };
  yield* conditions(compared, words);
}

const whereOf = (spec: DerivedSpec): ((doc: Doc) => boolean) | undefined =>
  spec.kind === 'react'
    ? spec.when && ((doc) => spec.when?.(doc) === true)
    : 'where' in spec && spec.kind !== 'archive'
      ? spec.where
      : undefined;

/** The documents that the condition takes are those that the code takes. */
function* conditions({ facts, contract, row, declared }: Compared, { condition, other }: Words): Iterable<Said> {
  const { spec, from } = declared;
  const model = facts.design?.model;
  if (!model || !contract.pipeline || !from || ['embed', 'archive', 'custom'].includes(spec.kind)) return;
  const rules = typeRules(contract.pipeline.sources, from);
  const docs = examplesOf(model, from)
    .map((stored) => attempt(() => rules.upcast?.(stored)) ?? stored)
    .filter((doc) => isObject(doc) && attempt(() => rules.deleted?.(doc)) !== true);
  const where = whereOf(spec);
  const takes = (doc: Doc): boolean => where === undefined || attempt(() => where(doc)) === true;
  const related = [contract.at(declared, spec.kind === 'react' ? 'when' : 'where')];
  if (!condition) {
    const left = docs.find((doc) => !takes(doc));
    if (left && !other && !/\b(where|only|if|when|not|in)\b/i.test(row.fieldsText))
      yield {
        severity: 'warning',
        message: `${row.name} leaves out the example ${String(left['id'])} in the code, but the document states no condition`,
        at: row.at,
        related,
        hint: 'Write the condition behind the source: "not cancelled", "in status placed, paid".',
      };
    return;
  }
  const field = condition.field ?? fieldWith(condition.values, docs);
  const known = docs
    .map((doc) => (field === undefined ? undefined : doc[field]))
    .filter((value) => typeof value === 'string');
  if (field === undefined || known.length === 0) return;
  for (const value of new Set([...condition.values, ...known])) {
    const wanted = condition.values.includes(value) !== condition.not;
    const taken = docs.map((doc) => takes({ ...doc, [field]: value }));
    // Other words may state another condition, which none of these meets.
    if (wanted ? other || taken.includes(true) : !taken.includes(true)) continue;
    yield {
      message: `${row.name} takes documents "${condition.text}" in the document, but the code ${wanted ? 'leaves out' : 'takes'} those with ${field} ${JSON.stringify(value)}`,
      at: row.at,
      related,
    };
    return;
  }
}

/** The one field that has one of the values in an example. */
function fieldWith(values: readonly string[], docs: readonly Doc[]): string | undefined {
  const fields = new Set(
    docs.flatMap((doc) => Object.keys(doc).filter((field) => values.some((value) => doc[field] === value))),
  );
  return fields.size === 1 ? [...fields][0] : undefined;
}
