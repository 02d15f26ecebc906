// For J29: a check of a reference before a write, and the write that makes it untrue.
import { type Annotation, type Annotations, same } from '../annotations/annotations.ts';
import { accessesOf, article, hasPurpose, isSerialized, listed, typeOf, typesOf } from '../annotations/merged.ts';
import { type Found, hinted, together } from './rule.ts';

type Access = Annotation<'access'>;

const EXISTS = /\bexists?\b|\bfound\b|\bvalid (?:parent|reference)|\bis there\b/i;
const UNUSED =
  /\b(?:no|any|has|have|without|still)\b.*\b(?:child|children|referenc|depend|member|use|item|entr)|\bin use\b|\bnot referenced\b|\bempty\b/i;

const isCheck = ({ aim, operation, guard }: Access): boolean =>
  aim === 'guard' && (operation === 'query' || operation === 'point-read') && guard === undefined;

const says = ({ name, words }: Access, form: RegExp): boolean => form.test(name) || form.test(words);

/** The types that have a reference to this one, by a field or by the name `parentId`. */
function holdersOf(annotations: Annotations, type: string): string[] {
  return typesOf(annotations).flatMap((one) => {
    const { name, fields } = one;
    // A log goes on to name what is gone.
    if (hasPurpose(one, 'log', 'audit', 'event', 'telemetry')) return [];
    return fields.some(({ path, refersTo }) => same(refersTo, type) || (same(name, type) && /^parent_?id$/i.test(path)))
      ? [name]
      : [];
  });
}

/**
 * "The parent must exist" and "it has no children" are asked before a create and a delete. Both are true when they are
 * asked, and neither write meets the other.
 */
export function* orphaned(annotations: Annotations): Iterable<Found> {
  for (const { name: type } of typesOf(annotations)) {
    const deletes = accessesOf(annotations, type).filter(({ operation }) => operation === 'delete');
    const holders = holdersOf(annotations, type);
    const checks = annotations.of('access').filter(isCheck);
    const empty = checks.filter((one) => says(one, UNUSED) && holders.some((holder) => same(one.type, holder)));
    const there = checks.filter((one) => says(one, EXISTS) && !says(one, UNUSED) && same(one.type, type));
    const soft = annotations.of('deletion').some((one) => same(one.type, type) && one.way === 'soft');
    const safe =
      isSerialized(annotations, type) ||
      annotations
        .of('derived')
        .some(
          (one) => same(one.type, type) && one.form === 'counter' && holders.some((holder) => same(one.of, holder)),
        );
    if (deletes.length === 0 || empty.length === 0 || there.length === 0 || soft || safe || !typeOf(annotations, type))
      continue;
    const who = listed(holders.map((holder) => (same(holder, type) ? `${article(holder)} below it` : article(holder))));
    yield* hinted(
      together(
        [...there, ...empty],
        `${listed([...there, ...empty].map(({ name }) => `"${name}"`))} are asked before the write: one request finds ${article(type)} and creates ${who}, another finds nothing below it and deletes it. Both pass at the same time, also with the ETag of their own document, and what is created refers to nothing`,
        deletes.map(({ at }) => at),
      ),
      `Let the creation also patch the ${type} that it refers to (a number of those below it, in the same batch), and delete only with If-Match on the ETag that was read before the check.`,
    );
  }
}
