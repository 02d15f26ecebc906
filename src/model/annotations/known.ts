// What the caller of an access knows: the values it has, and what follows from them by ids and key values.
import { type Annotation, type Annotations, bare, fieldOf, same } from './annotations.ts';
import { alike, plain, describedType } from './described.ts';

/** How the id of a type is made, by all places: the fields that it holds, if every place that names fields agrees. */
export interface MadeId {
  readonly random: boolean;
  readonly from: readonly string[] | undefined;
  /** The values can be read from the id. */
  readonly open: boolean;
  readonly places: readonly Annotation<'id'>[];
}

const HASHED = /\b(?:hash|sha|md5|uuidv?5|digest|base64|encod)/i;

export function idOf(annotations: Annotations, type: string | undefined): MadeId {
  const places = annotations.of('id').filter((one) => same(one.type, type));
  const made = places.filter(({ from }) => from !== undefined && from.length > 0);
  const [first] = made;
  return {
    random: made.length === 0 && places.some(({ random }) => random === true),
    from: first?.from,
    open: !places.some(({ format, words }) => HASHED.test(`${format ?? ''} ${words}`)),
    places,
  };
}

/** Whether a field's name says that it is the type's own id: `orderId` of an order. */
const isOwnId = (type: string | undefined, field: string): boolean => {
  if (type === undefined) return false;
  const [name, own] = [plain(field), plain(bare(type))];
  return name === `${own}id` || (name.endsWith('id') && name.length > 4 && own.endsWith(name.slice(0, -2)));
};

/** The fields of which the caller has the value: those of the access, and what follows from them. */
export function knownOf(annotations: Annotations, access: Annotation<'access'>): ReadonlySet<string> {
  // A list of ids is as good as one.
  const ids = (access.ranges ?? [])
    .map(plain)
    .filter((name) => /^ids?$/.test(name))
    .map(() => 'id');
  const given = [...access.equals, ...(access.query?.equal ?? [])]
    .map(plain)
    .concat(ids)
    .map((name) => (name === 'ids' ? 'id' : name));
  const known = new Set(given);
  if (access.unknownKey !== true)
    for (const { field, from } of annotations.of('tenancy'))
      // What each request has by its sign-in, an access needn't name.
      if (field !== undefined && (from === 'token' || from === 'header')) known.add(plain(field));
  const id = idOf(annotations, access.type);
  const type = describedType(annotations, access.type);
  for (const name of given) {
    // `orderId` is the id, unless the type has both and the id is its own.
    const apart = id.random && type?.fields.some(({ path }) => plain(path) === name);
    if (isOwnId(access.type, name) && !apart) known.add('id');
  }
  if (id.from?.every((field) => known.has(plain(field)))) known.add('id');
  if (known.has('id') && id.open) for (const field of id.from ?? []) known.add(plain(field));
  if (known.has('id') && !id.random)
    for (const { path } of type?.fields ?? []) if (isOwnId(access.type, path)) known.add(plain(path));
  return known;
}

/** A key that each signed-in caller has: its own user or tenant. */
export const isCallers = (annotations: Annotations, key: string): boolean =>
  /^(?:user|owner|tenant|account|createdby|customer|member|subject)(?:id)?$/.test(plain(key)) ||
  annotations
    .of('tenancy')
    .some(({ field, from }) => field !== undefined && alike(field, key) && (from === 'token' || from === 'header'));

export type Level = 'given' | 'lacking' | 'unsaid';

/** Whether the caller has the key: the field itself, or the fields that its value is made of. */
export function keyGiven(annotations: Annotations, access: Annotation<'access'>, key: readonly string[]): Level {
  const container = annotations.containerOf(access);
  const [first] = key;
  if (first === undefined || container === undefined) return 'unsaid';
  const known = knownOf(annotations, access);
  const field = fieldOf(first);
  const made = keyValues(annotations, container, access.type);
  if (
    known.has(plain(field)) ||
    (plain(field) === 'id' && known.has('id')) ||
    made.some(
      ({ from, distinct }) =>
        distinct === 'one' || (from !== undefined && from.length > 0 && from.every((one) => known.has(plain(one)))),
    )
  )
    return 'given';
  if (access.unknownKey === true) return 'lacking';
  // A query that is written in full has its filters; one that an annotator describes may leave the key out.
  return access.query !== undefined &&
    access.query.filters.length > 0 &&
    access.equals.every((one) => !alike(one, field))
    ? 'lacking'
    : 'unsaid';
}

/** What the document says of the values of a container's key, for a type or for all. */
export const keyValues = (
  annotations: Annotations,
  container: string,
  type?: string,
): readonly Annotation<'keyValue'>[] =>
  annotations
    .of('keyValue')
    .filter(
      (one) => same(one.container, container) && (type === undefined || one.type === undefined || same(one.type, type)),
    );
