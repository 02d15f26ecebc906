// How Millrace will maintain each projection: its mode and the reason, the cost of a change, and a cheaper declaration.
import type { ContainerDetail } from '../../model/documents.ts';
import type { Model } from '../../model/model.ts';
import { type Facts, sum } from '../../model/rules/facts.ts';
import { type FanOut, fanOuts } from '../fan-outs.ts';
import { allVersionsSource } from '../all-versions.ts';
import { ref } from '../declaration.ts';
import { withoutTurns } from '../undeferrable.ts';
import { circles } from '../fields/field-flow.ts';
import { indexNeeds } from '../index-needs.ts';
import { isEffect } from '../kind-facts.ts';
import {
  type AggregateSpec,
  type ArchiveSpec,
  type CopySpec,
  type DerivedSpec,
  type Pipeline,
  type StartSpec,
  hasLocator,
  projectionId,
  waitsFor,
} from '../specs.ts';
import { isStartable, startOf } from '../start.ts';
import { feedReaders, sourcesOf } from '../pipeline.ts';
import { ignoredOf, touchedBy, unreadBy } from '../fields/touched.ts';
import { specPlaceOf, shardedContainers } from '../places.ts';
import { placedByMissing, planKeyOf, movedBy, readByGroups } from './place-fields.ts';
import { indexNote } from './secondary-index.ts';
import { type Mode, childrenOf, embedMode, embedNotes } from './embeds.ts';

/** One request or item operation. `shared`: once for each group of a page, not once for each change. */
export interface PlanStep {
  readonly what: string;
  readonly ru: number;
  readonly shared: boolean;
}

export interface ProjectionPlan {
  readonly id: string;
  readonly kind: DerivedSpec['kind'];
  readonly from: readonly string[];
  readonly into: string;
  readonly mode: string;
  readonly reason: string;
  /** For one change of one source document, at the document's own sizes. */
  readonly steps: readonly PlanStep[];
  /** RU a change; divide `shared` by the changes of a page that fall into one group. */
  readonly ru: { readonly each: number; readonly shared: number };
  /** Changes a second at the peak, if the documents state them. */
  readonly changes: number | undefined;
  readonly cheaper: string | undefined;
  readonly fanOut: readonly string[];
  /** Index paths that its own queries need in the sink. */
  readonly indexes: readonly string[];
  readonly notes: readonly string[];
  /** Where it begins as declared, of the kinds that have a `start`. `--against deployed` shows what is recorded. */
  readonly begins?: StartSpec;
}

export interface PipelinePlan {
  readonly projections: readonly ProjectionPlan[];
  /** Names of projections that feed each other; empty in a pipeline that runs. */
  readonly circles: readonly (readonly string[])[];
}

/** RU for a state document of Millrace, about half a kilobyte with few indexed paths (the published 1 KB figures). */
const OWN = { read: 1, write: 10 };
/** RU for a write of the record of an effect. */
const RECORD_WRITE = 11;

/** Never throws: `checkPipeline` reports the examples that a function can't take. */
export function planOf(pipeline: Pipeline, model: Model, facts: Facts): PipelinePlan {
  return {
    projections: feedReaders(pipeline).map((spec) => {
      const steps = stepsOf(spec, pipeline, model, facts);
      const into =
        'into' in spec
          ? ref(spec.into)
          : spec.kind === 'publish'
            ? `event hub ${spec.to}`
            : spec.kind === 'table'
              ? `table ${spec.table}`
              : '–';
      return {
        id: projectionId(spec),
        kind: spec.kind,
        from: sourcesOf(spec).map(ref),
        into,
        ...modeOf(spec, pipeline, model, facts),
        steps,
        ru: totals(steps),
        changes: changesOf(spec, facts),
        fanOut: fanOutOf(spec, facts),
        indexes: 'into' in spec ? [...(indexNeeds([spec]).get(spec.into.container) ?? [])] : [],
        notes: notesOf(spec, pipeline, model),
        ...(isStartable(spec) && { begins: startOf(spec) }),
      };
    }),
    circles: circles(pipeline, model),
  };
}

const totals = (steps: readonly PlanStep[]): { each: number; shared: number } => ({
  each: sum(steps.filter(({ shared }) => !shared).map(({ ru }) => ru)),
  shared: sum(steps.filter(({ shared }) => shared).map(({ ru }) => ru)),
});

function modeOf(spec: DerivedSpec, pipeline: Pipeline, model: Model, facts: Facts): Mode {
  if (spec.kind === 'table')
    return {
      mode: 'rows behind a guard',
      reason: 'The database keeps the version of each document, and replaces rows only if it goes forward',
      cheaper: undefined,
    };
  if (isEffect(spec))
    return { mode: 'at least once', reason: 'Its effects are outside of the account', cheaper: undefined };
  switch (spec.kind) {
    case 'aggregate':
      return located(spec, pipeline, model, 'contribution', 'group', readByGroups(spec, model));
    case 'copy':
      return located(spec, pipeline, model, 'copy', 'place', movedBy(spec, model));
    case 'reference':
      return {
        mode: 'copy into every tenant',
        reason: `One document for each pair of ${spec.from.type} and ${spec.tenants.type}`,
        cheaper: undefined,
      };
    case 'embed':
      return embedMode(spec, facts);
    case 'archive':
      return {
        mode: 'sweep',
        reason: 'It removes a document only after every projection has acknowledged it',
        cheaper: undefined,
      };
    case 'publish':
  }
  return {
    mode: 'ordered send',
    reason: 'A hub can’t be queried for events it already has; so events carry a stable key',
    cheaper: undefined,
  };
}

/** With a locator, unless `stable` is declared; then the reason names the fields that must not change. */
function located(
  spec: AggregateSpec | CopySpec,
  { sources }: Pipeline,
  model: Model,
  what: 'contribution' | 'copy',
  place: 'group' | 'place',
  fields: readonly string[] | undefined,
): Mode {
  if (waitsFor(spec))
    return {
      mode: `${what} with locator`,
      reason: 'It waits for a joined document, so a locator stores where the copy is, or that it waits',
      cheaper: undefined,
    };
  const fixed = new Set(['id', ...planKeyOf(spec, model)]);
  const mutable = (fields ?? []).filter((field) => !fixed.has(field));
  const known = fields?.length === 0 ? 'no field of the document' : fields?.join(', ');
  const origin = known ?? 'fields that are not known without examples';
  if (spec.stable) {
    const fixedBy = `and you declared that ${fields ? `${mutable.join(', ')} never changes` : 'they never change'}`;
    const doubt = fields && mutable.length === 0 ? 'which can’t change' : fixedBy;
    return {
      mode: `${what}, no locator`,
      reason: `Its ${place} depends on ${origin}, ${doubt} (stable)`,
      cheaper: undefined,
    };
  }
  const saved = OWN.read + OWN.write;
  // This feed shows a delete without the document's content.
  const whole = sources.some((rule) => ref(rule) === ref(spec.from) && rule.feed === 'all-versions');
  return {
    mode: `${what} with locator`,
    reason: `Its ${place} depends on ${origin}, so a locator stores where the document was before`,
    cheaper:
      whole || !fields
        ? undefined
        : mutable.length === 0
          ? `\`stable: true\`: ${fields.length === 0 ? 'no field of the document changes it' : `${origin} can’t change in a document’s life`}; saves ${saved} RU and 2 requests a change`
          : `\`stable: true\`, if the data model says that ${mutable.join(' and ')} never ${mutable.length === 1 ? 'changes' : 'change'}; saves ${saved} RU and 2 requests a change`,
  };
}

function stepsOf(spec: DerivedSpec, pipeline: Pipeline, model: Model, facts: Facts): PlanStep[] {
  const sink = 'into' in spec ? facts.detail(spec.into.container) : undefined;
  const read = sink ? facts.estimate('point-read', sink) : OWN.read;
  const write = sink ? facts.estimate('replace', sink) : OWN.write;
  const each = (what: string, ru: number): PlanStep => ({ what, ru, shared: false });
  const locator = (of: AggregateSpec | CopySpec): PlanStep[] =>
    hasLocator(of) ? [each('read the locator', OWN.read), each('move the locator', OWN.write)] : [];
  if (isEffect(spec) || spec.kind === 'publish')
    return spec.kind !== 'table' && touchedBy(spec, pipeline, model)
      ? [
          each('read the record of its effect', OWN.read),
          each('claim it before, and mark it done after', 2 * RECORD_WRITE),
        ]
      : [];
  switch (spec.kind) {
    case 'aggregate':
      return [
        ...locator(spec),
        each('read the contribution', OWN.read),
        each('write the contribution', OWN.write),
        { what: 'read the aggregate', ru: read, shared: true },
        { what: 'write the aggregate', ru: write, shared: true },
      ];
    case 'copy':
      return [
        ...locator(spec),
        ...spec.joins.map(({ name, of }) => each(`read ${name}`, readOf(facts.detail(of.container), facts))),
        each('read the copy', read),
        each('write the copy', write),
        ...(spec.joins.length > 0 ? [each('confirm the joined documents', OWN.write)] : []),
      ];
    case 'reference':
      return [each('read and write the copy, for each tenant', read + write)];
    case 'embed':
      return [
        each('read the state', OWN.read),
        each('write the state, before and after', 2 * OWN.write),
        each('query the children, twice', 2 * (sink ? facts.estimate('query', sink) : OWN.read)),
        each('patch a child, for each', write),
      ];
    case 'archive':
  }
  spec satisfies ArchiveSpec;
  return [
    each('read the entry', OWN.read),
    each('write the entry', OWN.write),
    each('remove the document', OWN.write / 2),
  ];
}

const readOf = (detail: ContainerDetail | undefined, facts: Facts): number =>
  detail ? facts.estimate('point-read', detail) : OWN.read;

function changesOf(spec: DerivedSpec, facts: Facts): number | undefined {
  const details = sourcesOf(spec).map(({ container }) => facts.detail(container));
  const rates = details.map((detail) => (detail ? facts.writesTo(detail) : 0));
  return sum(rates) > 0 ? sum(rates) : undefined;
}

/** The writes that a change of a joined type causes, at the largest cardinality. */
function fanOutOf(spec: DerivedSpec, facts: Facts): string[] {
  if (spec.kind === 'embed') return [childrenOf(spec, facts)];
  const row = facts.rows.find(({ name }) => name === spec.name);
  const sink = 'into' in spec ? facts.detail(spec.into.container) : undefined;
  if (!row || !sink) return [];
  return fanOuts(facts, row, sink).map(({ of, copies, ru, updates }: FanOut) => {
    const name = of.type ?? of.container;
    if (copies === undefined) return `a change of ${name}: all of its copies; the documents state no largest number`;
    return `a change of ${name}: up to ${copies.toLocaleString('en-US')} copies, ${Math.round(copies * ru).toLocaleString('en-US')} RU; ${updates.toLocaleString('en-US')} changes a second at the peak`;
  });
}

/** What fields that are no change mean for it, and for the reading of its feed. */
function ignoredNotes(spec: DerivedSpec, pipeline: Pipeline, model: Model): string[] {
  const notes: string[] = [];
  for (const of of sourcesOf(spec)) {
    const paths = ignoredOf(pipeline, model, of);
    if (paths.length === 0) continue;
    notes.push(
      `${paths.join(', ')} of ${ref(of)} ${paths.length === 1 ? 'is' : 'are'} no change. A version that brings nothing else is read all the same, about 1 RU a KB of the whole document.`,
    );
  }
  if ((isEffect(spec) || spec.kind === 'publish') && touchedBy(spec, pipeline, model)) {
    notes.push(
      `A version that is no change costs ${OWN.read + RECORD_WRITE} RU. Documents from before have no record, and such a version of one has an effect: run \`millrace projections replay ${spec.name} --note\` before others write into them.`,
    );
  } else if ('into' in spec && spec.kind !== 'embed' && notes.length > 0) {
    const isJoined = spec.kind === 'copy' && spec.joins.length > 0;
    const own = `; each version of ${ref(spec.from)} is written, because a joined document makes the copy again from it`;
    notes.push(
      unreadBy(spec, pipeline, model)
        ? `A host writes nothing for a version that is no change${isJoined ? ' of a joined document' : ''}, once it has applied the document itself; under Azure Functions it writes${isJoined ? own : ''}.`
        : 'It reads these fields, joins other documents, or no example shows what it reads, so each version is written.',
    );
  }
  return notes;
}

/** Where it runs, of a pipeline over shards. */
function placeNotes(spec: DerivedSpec, pipeline: Pipeline, model: Model): string[] {
  const schema = shardedContainers(pipeline, model);
  const place = schema && specPlaceOf(spec, pipeline, schema);
  if (place === 'global') return ['It runs in the global place.'];
  if (place !== 'shard') return [];
  const together = 'toGlobal' in spec && spec.toGlobal;
  return [`It runs in each shard of ${pipeline.shards?.map}${together ? ', into the global place' : ''}.`];
}

function notesOf(spec: DerivedSpec, pipeline: Pipeline, model: Model): string[] {
  const notes: string[] = placeNotes(spec, pipeline, model);
  for (const [name, why] of withoutTurns(pipeline, model))
    if (sourcesOf(spec).some((of) => of.container === name))
      notes.push(`A flood of one tenant in ${name} delays the others, and can’t be deferred: ${why}.`);
  if (spec.kind === 'aggregate')
    notes.push(
      'Contributions share the aggregate’s logical partition and its 20 GB: about 0.4 KB for each document of the group.',
    );
  if (spec.kind === 'embed') notes.push(...embedNotes(spec, pipeline));
  for (const name of spec.kind === 'copy' ? placedByMissing(spec, model) : [])
    notes.push(
      `Its place depends on ${name}, which may be missing, so each change is parked (\`place-changed\`). Declare \`missing: 'wait'\` for ${name}.`,
    );
  notes.push(...ignoredNotes(spec, pipeline, model));
  const container = allVersionsSource(spec, pipeline.sources);
  if (container !== undefined)
    notes.push(
      `${container} is read by its all-versions feed, which begins when it is first read. A function app needs TRIGGER_ALL_VERSIONS.`,
    );
  const feeds = pipeline.projections.filter(
    (other) => 'into' in spec && sourcesOf(other).some((of) => ref(of) === ref(spec.into)),
  );
  if (feeds.length > 0 && spec.kind === 'aggregate')
    notes.push(`${feeds.map(({ name }) => name).join(', ')} reads its sink: emptied groups stay for 30 days.`);
  notes.push(...indexNote(spec, pipeline, model));
  return notes;
}
