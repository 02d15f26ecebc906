// The place of a sink document (its key and id) depends on fields of the source: a change of one of them moves it.
import { canonical } from '../../base/json.ts';
import { type Model, examplesOf, keyPathsOf } from '../../model/model.ts';
import { type AggregateSpec, type CopySpec, type Doc, lacksJoined } from '../specs.ts';
import { attempt, watched } from '../fields/watched.ts';
import { joinedExample } from '../joined-examples.ts';

/**
 * The fields that determine a document's groups: a change of one of them may move it to another group. Undefined: no example
 * shows them.
 */
export function readByGroups(spec: AggregateSpec, model: Model): string[] | undefined {
  const read = new Set<string>();
  const groups = examplesOf(model, spec.from).flatMap((example) => {
    const doc = watched(example, read);
    return attempt(() => Array.from(spec.each?.(doc) ?? [doc], (row) => spec.groupBy(row, doc))) ?? [];
  });
  return groups.length === 0 ? undefined : [...read].filter((field) => field !== '*');
}

/**
 * Fields whose change moves the copy. They are found by giving each field other values in the examples. Undefined: no example
 * shows them.
 */
export function movedBy(spec: CopySpec, model: Model): string[] | undefined {
  const placeOf = (doc: Doc): string | undefined => placeIn(spec, model, doc);
  const examples = examplesOf(model, spec.from);
  if (!examples.some((example) => placeOf(example) !== undefined)) return undefined;
  const names = new Set(examples.flatMap((example) => Object.keys(example)));
  return [...names].filter((name) =>
    examples.some((example) => {
      const before = placeOf(example);
      return others(example[name]).some((value) => {
        const after = placeOf({ ...example, [name]: value });
        // If map throws, this value shows nothing about the place.
        return before !== undefined && after !== undefined && after !== before;
      });
    }),
  );
}

/** The joined documents that the place depends on although they may be missing: then each change is parked (COPY-C5). */
export const placedByMissing = (spec: CopySpec, model: Model): string[] =>
  spec.joins.flatMap(({ name, missing }) => {
    const isDependent = (doc: Doc): boolean => {
      const place = placeIn(spec, model, doc);
      return place !== undefined && place !== placeIn(spec, model, doc, name);
    };
    return missing === 'null' && examplesOf(model, spec.from).some(isDependent) ? [name] : [];
  });

/** The key and id that `map` returns; undefined: it can't take the documents. `without`: a joined one that is missing. */
const placeIn = (spec: CopySpec, model: Model, doc: Doc, without?: string): string | undefined =>
  attempt(() => {
    const joined = Object.fromEntries(
      spec.joins.map((join) => [join.name, join.name === without ? null : joinedExample(join, model, doc)]),
    );
    if (lacksJoined(spec, joined)) return undefined;
    const row = spec.map(doc, joined);
    const paths = keyPathsOf(model, spec.into.container);
    return canonical([row['id'], ...paths.map((path) => row[path.split('/')[1] ?? ''])]);
  });

function others(value: unknown): unknown[] {
  if (typeof value === 'string') return [`~${value}`, `${value}~`, ''];
  if (typeof value === 'number') return [value + 1, -value - 1];
  if (typeof value === 'boolean') return [!value];
  if (Array.isArray(value)) return [[], [...(value as unknown[]), ...(value as unknown[])]];
  return ['~', null];
}

export const planKeyOf = (spec: AggregateSpec | CopySpec, model: Model): string[] =>
  keyPathsOf(model, spec.from.container).map((path) => path.split('/')[1] ?? '');
