// J7: references that keep an id and not the key that a point read of the other document takes.
import { type Annotations, type StatedKey, bare, fieldOf, same } from '../annotations/annotations.ts';
import { isCallers, keyValues } from '../annotations/known.ts';
import { type MergedType, hasField, linesOf, plain, describedTypes } from '../annotations/described.ts';
import { listed } from '../annotations/merged.ts';
import { isSmall } from '../annotations/scale.ts';
import type { Place } from '../model.ts';
import { type Rule, type RuleResult, ANNOTATIONS, SOURCES, missing, together } from './rule.ts';

interface Referrer {
  readonly type: string;
  readonly field: string;
  readonly at: Place;
}

/** So few fields don't describe a document. */
const DESCRIBED = 4;

interface Target {
  readonly target: string;
  readonly container: string;
  readonly field: string;
}

/** Whether documents that have a reference have the key of the target, or what its value is made of. */
function keeps(
  annotations: Annotations,
  merged: MergedType,
  reference: string,
  { target: of, container, field: key }: Target,
): boolean {
  // `lines[].sellerId` stands beside `lines[].productId`.
  const beside = reference.slice(0, reference.lastIndexOf('.') + 1);
  const has = (field: string): boolean =>
    hasField(merged, field) ||
    hasField(merged, `${beside}${field}`) ||
    merged.fields.some(({ path }) => plain(path).endsWith(plain(field)) && plain(path).startsWith(plain(of))) ||
    ownKeys(annotations, merged.type).some((one) => plain(one) === plain(field));
  const made = keyValues(annotations, container, of).flatMap(({ from }) => (from && from.length > 0 ? [from] : []));
  return (plain(key) !== 'partitionkey' && plain(key) !== 'pk' && has(key)) || made.some((from) => from.every(has));
}

/** The fields that a type has because its container's key is made of them. */
const ownKeys = (annotations: Annotations, type: string): readonly string[] =>
  annotations
    .containersOf(type)
    .flatMap((container) => [
      ...annotations.keysOf(container).flatMap(({ key }) => key.map(fieldOf)),
      ...keyValues(annotations, container, type).flatMap(({ from = [] }) => from),
    ]);

/** Somebody reads a document of the type by its id: without that nobody follows the reference. */
const isFollowed = (annotations: Annotations, type: string, referrers: readonly string[]): boolean => {
  const container = annotations.containersOf(type)[0];
  return annotations
    .of('access')
    .some(
      (one) =>
        (one.operation === 'point-read' || one.operation === 'query') &&
        (same(one.type, type) || (one.type === undefined && same(one.container, container))) &&
        [...one.equals, ...(one.ranges ?? [])].some(
          (path) =>
            /^ids?$/.test(plain(path)) ||
            plain(path) === `${plain(bare(type))}id` ||
            referrers.some((field) => plain(field) === plain(path)),
        ),
    );
};

/** Somebody reads a document of the type by its id and without its key. */
const looksUp = (annotations: Annotations, type: string): boolean =>
  annotations
    .of('access')
    .some((one) => one.unknownKey === true && same(one.type, type) && one.equals.some((path) => plain(path) === 'id'));

interface Dangling {
  readonly target: string;
  readonly container: string;
  readonly field: string;
  readonly keyAt: readonly StatedKey[];
  readonly referrers: readonly Referrer[];
}

function dangling(annotations: Annotations, target: string): readonly Dangling[] {
  const [container, other] = annotations.containersOf(target);
  const key = annotations.keyOf(container);
  if (container === undefined || other !== undefined || !key || key.length !== 1) return [];
  const field = fieldOf(key[0] ?? '');
  const own = plain(target);
  const made = keyValues(annotations, container, target).some(({ from = [] }) => from.length > 0);
  if (
    plain(field) === 'id' ||
    (/^(?:partition_?key|pk|key)$/i.test(field) && !made) ||
    plain(field) === `${own}id` ||
    plain(field) === `${plain(bare(target))}id` ||
    (isCallers(annotations, field) && !looksUp(annotations, target)) ||
    keyValues(annotations, container, target).some(
      ({ from, distinct }) => distinct === 'one' || from?.some((one) => plain(one) === 'id'),
    )
  )
    return [];
  const referrers = describedTypes(annotations).flatMap((type): Referrer[] => {
    const refers = type.fields.filter(({ declared }) => declared.some(({ refersTo }) => same(refersTo, target)));
    if (
      refers.length === 0 ||
      type.purposes.has('view') ||
      same(type.type, target) ||
      (!type.complete && type.fields.length < DESCRIBED)
    )
      return [];
    // A reference that is itself the key field holds what the read takes.
    if (refers.some(({ path }) => plain(path) === plain(field))) return [];
    const alone = refers.filter(({ path }) => !keeps(annotations, type, path, { target, container, field }));
    return alone.map(({ path, declared, at }) => ({
      type: type.type,
      field: path,
      at: declared.find(({ refersTo }) => same(refersTo, target))?.at ?? at,
    }));
  });
  return referrers.length === 0 ||
    isSmall(annotations, { container, type: target }) ||
    !isFollowed(
      annotations,
      target,
      referrers.map((one) => one.field),
    )
    ? []
    : [{ target, container, field, keyAt: annotations.keysOf(container).slice(0, 1), referrers }];
}

const said = ({ target, container, field, keyAt, referrers }: Dangling): string => {
  const byType = [...Map.groupBy(referrers, ({ type }) => type)].map(
    ([type, all]) => `${type} (${listed(all.map((one) => one.field))})`,
  );
  return `${listed(byType)} ${byType.length === 1 ? 'keeps' : 'keep'} only the id of a ${target}, and ${container} is keyed by ${field} (${linesOf(keyAt)})`;
};

export const ANNOTATED_REFERENCES: readonly Rule[] = [
  {
    id: 'J7',
    title: 'A document that refers to another has its id and its key',
    severity: 'warning',
    source: SOURCES.microsoft('Partitioning and horizontal scaling in Azure Cosmos DB'),
    why: 'A booking that has only `venueId` can’t read the venue if venues are keyed by city: without the key’s value the read is a query over all partitions. The rule looks at fields that an annotation says hold the id of another type. It asks for the key’s field, or for the fields that the key is made of, in the type that refers. A type of which few fields are known is not asked, nor is a reference that no read follows.',
    hint: 'Store the key’s value beside the id.',
    instead: ['C32'],
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      const targets = annotations.types.filter((target) =>
        annotations.of('type').some(({ fields }) => fields.some(({ refersTo }) => same(refersTo, target))),
      );
      if (targets.length === 0) yield missing('a field that refers to a type');
      const all = targets.flatMap((target) => dangling(annotations, target));
      for (const found of together(
        all.flatMap(({ referrers }) => referrers),
        `${all.map(said).join('; ')}. A point read takes both, so each look-up of ${listed(all.map(({ target }) => `a ${target}`))} asks every physical partition`,
        all.flatMap(({ keyAt }) => keyAt.map(({ at }) => at)),
      ))
        yield {
          ...found,
          hint: `Store ${listed(all.map(({ field, referrers }) => `${field} beside ${listed(referrers.map((one) => one.field))}`))}, or key ${listed(all.map(({ container }) => container))} by the id.`,
        };
    },
  },
];
