import { type AggregateSpec, projectionId } from '../../pipeline/specs.ts';
import { aggregateId } from '../../pipeline/derived-ids.ts';
import type { Change } from '../../feed/reading/change.ts';
import type { DocumentAccess } from '../../access/document-access.ts';
import { type FitOptions, fitOf } from '../sink-type.ts';
import { Guess } from '../create-first.ts';
import { type Located, Locators, locatorHasLeft, placeId } from '../locator.ts';
import { type Runner, evaluate, wantedChanges } from '../runner.ts';
import { StablePlaces } from '../stable-places.ts';
import { type SinkContainer, sinkKey } from '../sink-container.ts';
import { type AggregateGroup, type Item, foldGroups } from './fold.ts';
import { type Values, aggregateValuesOf } from './contribution-values.ts';

/** A group that a document is in, with what it adds there. */
type Contribution = AggregateGroup & { readonly values: Values | null };

export interface AggregateRunnerOptions extends FitOptions {
  readonly stateContainer: string;
  /** Whether other projections derive from the aggregate; default false. */
  readonly feeds?: boolean;
}

/** Exact aggregates by contribution and locator (AGG-G1 to AGG-G4). A `stable` one needs no locator: groups never change. */
export function aggregateRunner(
  spec: AggregateSpec,
  sink: SinkContainer,
  { stateContainer, feeds = false, ...fitting }: AggregateRunnerOptions,
): Runner {
  const id = projectionId(spec);
  const locators = new Locators(stateContainer, id);
  const stable = spec.stable ? new StablePlaces(id) : undefined;
  const target = { spec, projection: id, sink, guess: new Guess(), feeds };

  /** Fields that `groupBy` doesn't return. */
  const later = new Set([...Object.keys(spec.measures), 'id', 'type']);

  const apply = async (changes: readonly Change[], access: DocumentAccess): Promise<void> => {
    const wanted = wantedChanges(changes, spec);
    const fit = fitOf(id, fitting);
    const targeted = evaluate(wanted, (change) => {
      const places = contributionsOf(spec, sink, change);
      stable?.assert(change, places, places.length === 0 || places.some(({ values }) => values !== null));
      for (const { fields, values } of places) if (fields && values) fit(change, fields, later);
      return { change, places };
    });
    const located: Located<Contribution>[] = spec.stable
      ? targeted.map((one) => ({ ...one, departed: [], locator: { pk: '', id: '', etag: '' } }))
      : await locators.advance(targeted, access);
    const groups = Map.groupBy(located.flatMap(itemsOf), ({ group }) => placeId(group));
    const folds = [...groups.values()].flatMap((items) => {
      const group = items.find(({ group: { fields } }) => fields !== undefined)?.group ?? items[0]?.group;
      return group ? { group, items } : [];
    });
    await foldGroups(target, folds, access);
    if (!spec.stable) await locators.prune(located.filter(locatorHasLeft), access);
  };
  return { id, order: 'document', sources: [spec.from], apply };
}

/** Every group that the change affects: those it is in, with its values, and those it left, with null. */
const itemsOf = ({ change, places, departed }: Located<Contribution>): (Item & { group: AggregateGroup })[] => [
  ...places.map((place) => ({ change, values: place.values, group: place })),
  ...departed.map((place) => ({ change, values: null, group: { ...place, fields: undefined } })),
];

function contributionsOf(spec: AggregateSpec, sink: SinkContainer, change: Change): Contribution[] {
  const doc = change.doc ?? {};
  const counts = change.op === 'upsert' && (spec.where?.(doc) ?? true);
  // Without a locator, a document that no longer counts must be removed from its group: the group is the same as before.
  if (!counts && !spec.stable) return [];
  const rows = spec.each ? spec.each(doc) : [doc];
  const grouped = new Map<string, { group: AggregateGroup; rows: unknown[] }>();
  for (const row of rows) {
    const fields = spec.groupBy(row, doc);
    const group: AggregateGroup = { key: sinkKey(sink, fields), id: aggregateId(spec.into.type, fields), fields };
    const of = grouped.get(placeId(group));
    if (of) of.rows.push(row);
    else grouped.set(placeId(group), { group, rows: [row] });
  }
  return [...grouped.values()].map(({ group, rows: own }) => ({
    ...group,
    values: counts ? aggregateValuesOf(spec.measures, own) : null,
  }));
}
