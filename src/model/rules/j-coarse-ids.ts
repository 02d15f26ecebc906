// J12: ids that leave out what tells two documents apart.
import { type Annotations, fieldOf, same } from '../annotations/annotations.ts';
import { idOf } from '../annotations/known.ts';
import { type MergedType, linesOf, ofService, plain, describedTypes } from '../annotations/described.ts';
import { listed, outerOf } from '../annotations/merged.ts';
import { isOfElements } from '../annotations/scale.ts';
import { type Found, type Rule, type RuleResult, ANNOTATIONS, SOURCES, missing, together } from './rule.ts';

/** Fields by which two things of one name differ. */
const TELLING =
  /^(?:method|path|route|verb|operation|locale|language|lang|currency|region|environment|variant|sequence|position|attempt|revision|version|platform|channel|direction|period|month|date|day)$/;

interface Apart {
  readonly path: string;
  readonly why: string;
  readonly at: MergedType['at'];
}

/** Fields of the type that its id leaves out, and by which two of its documents can differ. */
function leftOut(annotations: Annotations, type: MergedType, from: readonly string[]): Apart[] {
  const inId = new Set(from.map(plain));
  const keys = annotations.containersOf(type.type).flatMap((container) => [
    ...annotations.keysOf(container).flatMap(({ key }) => key.map((path) => plain(fieldOf(path)))),
    ...annotations
      .of('keyValue')
      .filter((one) => same(one.container, container))
      .flatMap(({ from: made = [] }) => made.map(plain)),
  ]);
  const out = (path: string): boolean => !inId.has(plain(path)) && !keys.includes(plain(path)) && plain(path) !== 'id';
  // The type's own number makes its id fine, whatever else the document has.
  const parents = type.fields.filter(
    ({ path, declared }) =>
      declared.some(
        ({ refersTo, copyOf, computed }) => refersTo !== undefined && copyOf === undefined && computed !== true,
      ) && out(path),
  );
  const telling = type.fields.filter(({ path, declared }) => {
    const last = path.split('.').at(-1)?.toLowerCase() ?? '';
    return (
      TELLING.test(last) &&
      !isOfElements(path) &&
      out(path) &&
      !declared.some(({ copyOf, computed }) => copyOf !== undefined || computed === true) &&
      !ofService(path)
    );
  });
  return [
    ...parents.map(({ path, declared, at }) => ({
      path,
      why: `belongs to ${declared.find(({ refersTo }) => refersTo)?.refersTo ?? ''}`,
      at,
    })),
    ...telling.map(({ path, at }) => ({ path, why: 'differs', at })),
  ];
}

/** A repeated write of the id replaces the document, by an access or a step. */
const isUpserted = (annotations: Annotations, type: string): boolean =>
  annotations.of('access').some((one) => one.operation === 'upsert' && same(one.type, type)) ||
  annotations
    .of('flow')
    .some(({ steps }) => steps.some((step) => step.operation === 'upsert' && same(step.type, type)));

/** Only names, kinds and owners: nothing by which the type itself counts its documents. */
const isOfNames = (annotations: Annotations, type: MergedType, from: readonly string[]): boolean =>
  from.length >= 2 &&
  from.every((path) => {
    const name = plain(path);
    const refers = type.fields.some(
      (field) => plain(field.path) === name && field.declared.some(({ refersTo }) => refersTo !== undefined),
    );
    return refers || /(?:name|title|type|kind|label|key|slug|tenantid|projectid|orgid|userid|category)$/.test(name);
  });

function* coarse(annotations: Annotations, type: MergedType): Iterable<Found> {
  const { from, places } = idOf(annotations, type.type);
  // An element of a list has no id of a document.
  if (from === undefined || outerOf(annotations, type.type)) return;
  const container = annotations.containersOf(type.type)[0];
  const inId = new Set([
    ...from.map(plain),
    ...annotations.keysOf(container ?? '').flatMap(({ key }) => key.map(plain)),
  ]);
  const finer = annotations
    .of('unique')
    .filter((one) => same(one.type, type.type) && one.by !== 'id' && !one.fields.some(isOfElements))
    .map((one) => ({ at: one.at, fields: [...one.fields, ...(one.within ?? [])] }))
    .filter(
      ({ fields }) =>
        fields.some((path) => !inId.has(plain(path))) &&
        [...from].every((path) => fields.some((one) => plain(one) === plain(path))),
    );
  const made = `${from.join(' + ')} (${linesOf(places.filter((one) => one.from !== undefined))})`;
  yield* together(
    [...places.filter((one) => one.from !== undefined), ...finer],
    finer.length === 0
      ? ''
      : `${type.type}: the id is made of ${made}, but what exists once is ${listed(finer[0]?.fields ?? [])} (${linesOf(finer)}). Two documents that may both exist get one id, and the later write replaces the earlier one`,
  );
  if (finer.length > 0 || !isUpserted(annotations, type.type) || !isOfNames(annotations, type, from)) return;
  const apart = leftOut(annotations, type, from);
  yield* together(
    [...places.filter((one) => one.from !== undefined), ...apart],
    apart.length === 0
      ? ''
      : `${type.type}: the id is made of ${made}, without ${listed(apart.map(({ path }) => path))}. Two that differ only there (${listed(apart.map(({ path, why }) => (why === 'differs' ? `another ${path}` : `another ${why.replace('belongs to ', '')}`)))}) get one id, and an upsert silently replaces the one by the other`,
  );
}

export const COARSE_IDS: readonly Rule[] = [
  {
    id: 'J12',
    title: 'An id is made of all that tells two documents apart',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'An id that is made of fields makes a repeated write safe, and it merges what it doesn’t tell apart: two calls between the same services with another method, two workflows with a step of one name. The later upsert replaces the earlier document, and no error shows it. The rule compares the fields of an id with what an annotation says exists once. Where a type is upserted and its id has only names, kinds and owners, it asks for references to parents, and for fields such as method, path, version or language.',
    hint: 'Add the fields to the id, or say why two such documents can’t exist.',
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      if (annotations.of('id').every(({ from }) => from === undefined)) yield missing('an id that is made of fields');
      for (const type of describedTypes(annotations))
        for (const found of coarse(annotations, type)) if (found.message !== '') yield found;
    },
  },
];
