import { splitPath } from '../cosmos/paths.ts';
import { feedModeOf } from '../pipeline/all-versions.ts';
import { type CustomSpec, type EffectSpec, type Pipeline, type PublishSpec, projectionId } from '../pipeline/specs.ts';
import { tenantOf, tenantRuleOf } from '../pipeline/tenant.ts';
import { ref } from '../pipeline/declaration.ts';
import { isEmptied } from '../pipeline/emptied.ts';
import { touchedBy } from '../pipeline/fields/touched.ts';
import { feedReaders, sourcesOf } from '../pipeline/pipeline.ts';
import { joinsShards, wholeOf } from '../pipeline/places.ts';
import type { SourceContainer, SourceMarks, TypeRules } from '../feed/reading/mapper.ts';
import { type Model, typeOf } from '../model/model.ts';
import { aggregateRunner } from '../kinds/aggregate/aggregate-runner.ts';
import type { ColdRead } from '../kinds/archive/cold-read.ts';
import { type LiveHalfOptions, type Sift, liveHalf } from '../kinds/archive/live-half.ts';
import { leavingOf } from '../kinds/archive/leaving.ts';
import { isRestored } from '../kinds/archive/restored.ts';
import { isBackfilled } from '../kinds/backfilled.ts';
import { movedMarkOf, movedVersionOf } from '../kinds/moved.ts';
import { archiveRunner } from '../kinds/archive/archive-runner.ts';
import { copyRunner } from '../kinds/copy/copy-runner.ts';
import { embedRunner } from '../kinds/embed/embed-runner.ts';
import { EffectRecords } from '../kinds/effects/records.ts';
import { storableAccess } from '../kinds/custom/storable-access.ts';
import { reactRunner } from '../kinds/react/react-runner.ts';
import { referenceRunner } from '../kinds/reference/reference-runner.ts';
import { publishRunner } from '../kinds/publish/publish-runner.ts';
import type { Runner } from '../kinds/runner.ts';
import { sendRunner } from '../kinds/send/send-runner.ts';
import { tableRunner } from '../kinds/table/table-runner.ts';
import type { EventHubSink } from '../access/event-hub.ts';
import { sharedError } from '../base/shared-errors.ts';

export interface RunnerOptions {
  readonly stateContainer: string;
  /** How old a read may be, milliseconds (ASM-A3). */
  readonly readLagMs: number;
  /** Finds a source document in the archive. */
  readonly cold?: ColdRead | undefined;
  /** The changes are history that the projection may have got before. */
  readonly again?: boolean;
  /** No effect is had: the records of effects note what the documents are (ECHO-R8). */
  readonly note?: boolean | undefined;
  /** Opens the sink of an event hub. A pipeline that publishes needs it. */
  readonly hub?: ((name: string) => EventHubSink) | undefined;
}

/** Reads the marks that Millrace writes into source documents, and into sink documents that are sources themselves. */
export const MARKS: SourceMarks = {
  isEmptied,
  isRestored,
  isBackfilled,
  leavingOf,
  movedOf: (raw, doc) => {
    const mark = movedMarkOf(raw, doc);
    return (
      mark && { gone: mark.gone === true, echo: mark.echo === true, versionOf: (own) => movedVersionOf(mark, own) }
    );
  },
};

/** The containers whose feeds a pipeline reads, with the rules of the types that it reads there. */
export function sourceContainers(pipeline: Pipeline, model: Model): Map<string, SourceContainer> {
  const containers = new Map<string, SourceContainer & { types: Map<string, TypeRules> }>();
  for (const projection of feedReaders(pipeline)) {
    for (const { container, type } of sourcesOf(projection)) {
      const source = containers.get(container) ?? {
        ...sinkContainer(container, model),
        ...sourceTenant(pipeline, model, container),
        types: new Map<string, TypeRules>(),
        marks: MARKS,
      };
      const rules = pipeline.sources.find((rule) => rule.container === container && rule.type === type);
      source.types.set(type, rules ?? {});
      containers.set(container, source);
    }
  }
  return containers;
}

function sourceTenant(pipeline: Pipeline, model: Model, container: string): Pick<SourceContainer, 'tenant'> {
  const rule = tenantRuleOf(pipeline, model, container);
  return rule ? { tenant: { field: rule.field, of: (doc) => tenantOf(rule, doc) } } : {};
}

/** The live halves of the archives whose containers are read by their all-versions feed; undefined without any. */
export function siftOf(
  pipeline: Pipeline,
  model: Model,
  options: Pick<LiveHalfOptions, 'stateContainer' | 'again'>,
): Sift | undefined {
  const specs = pipeline.archives.filter(({ from }) => feedModeOf(pipeline, from.container) === 'all-versions');
  const halves = [...Map.groupBy(specs, ({ from }) => from.container)].map(([container, some]) => {
    const defaultTtl = model.containers.find(({ name }) => name === container)?.defaultTtl;
    return liveHalf({ ...options, specs: some, defaultTtl });
  });
  if (halves.length === 0) return undefined;
  return async (changes, access) => {
    let left = changes;
    for (const half of halves) left = await half(left, access);
    return left;
  };
}

/** A runner for each projection, embed, effect, archive and publish. */
export function runnersOf(pipeline: Pipeline, model: Model, options: RunnerOptions): Runner[] {
  const sources = sourceContainers(pipeline, model);
  const whole = wholeOf(pipeline);
  const read = new Set(whole.projections.flatMap(sourcesOf).map(ref));
  const runners = pipeline.projections.map((spec): Runner => {
    const sink = sinkContainer(spec.into.container, model);
    const typed = {
      ...options,
      fields: typeOf(model, spec.typedAs ?? spec.into)?.fields,
      tenant: spec.acrossTenants ? undefined : tenantRuleOf(pipeline, model, spec.from.container),
    };
    if (spec.kind === 'reference') return referenceRunner(spec, sink, typed);
    const runner =
      spec.kind === 'aggregate'
        ? aggregateRunner(spec, sink, { ...typed, feeds: read.has(ref(spec.into)) })
        : copyRunner(spec, sink, { ...typed, sources });
    return joinsShards(spec, pipeline) ? stayingAfterMoves(runner) : runner;
  });
  return [
    ...runners,
    ...pipeline.embeds.map((spec) => {
      const childTtl = model.containers.find(({ name }) => name === spec.into.container)?.defaultTtl;
      return embedRunner(spec, { ...options, sources, childTtl });
    }),
    ...pipeline.effects.map((spec) => effectRunner(spec, recordsOf(spec, whole, model, options), options)),
    ...pipeline.archives.map((spec) => archiveRunner(spec, options)),
    ...publishers(pipeline.publishes, whole, model, options),
  ];
}

function effectRunner(
  spec: EffectSpec,
  records: EffectRecords | undefined,
  { again = false, note }: RunnerOptions,
): Runner {
  if (note) return notingRunner(spec, records);
  if (spec.kind === 'table') return stayingAfterMoves(tableRunner(spec));
  if (spec.kind === 'react') return reactRunner(spec, { records });
  const runner = spec.kind === 'send' ? stayingAfterMoves(sendRunner(spec)) : customRunner(spec);
  // History that comes again is for a sink that is to have all of it.
  return records && !again ? records.guard(runner) : runner;
}

/** No change is an event for it, so it has no effect, and resolves no dead letter. */
const notingRunner = (spec: EffectSpec | PublishSpec, records: EffectRecords | undefined): Runner => ({
  id: projectionId(spec),
  order: 'document',
  sources: sourcesOf(spec),
  isEvent: () => false,
  apply: async () => undefined,
  passOver: async (changes, access) => records?.baseline(changes, access),
});

function customRunner(spec: CustomSpec): Runner {
  const apply: Runner['apply'] = (changes, access) => spec.apply(changes, storableAccess(access));
  return { id: projectionId(spec), order: 'document', sources: spec.sources, apply };
}

/** The records of a projection's effects. Undefined: no one else writes into its documents, so each change is its own. */
function recordsOf(
  spec: EffectSpec | PublishSpec,
  whole: Pipeline,
  model: Model,
  { stateContainer }: Pick<RunnerOptions, 'stateContainer'>,
): EffectRecords | undefined {
  const touched = touchedBy(spec, whole, model);
  if (!touched) return undefined;
  const { embedded, ignored } = touched;
  return new EffectRecords({
    stateContainer,
    projection: projectionId((spec.kind === 'publish' && spec.idsOf) || spec),
    ignored,
    ...(embedded && { embedded }),
  });
}

function publishers(publishes: Pipeline['publishes'], whole: Pipeline, model: Model, options: RunnerOptions): Runner[] {
  const { hub, again = false } = options;
  return publishes.map((spec) => {
    if (!hub)
      throw sharedError('missing', `${projectionId(spec)} publishes, but the engine got no event hubs`, {
        hint: 'Pass `hub` to the engine.',
      });
    const records = recordsOf(spec, whole, model, options);
    if (options.note) return notingRunner(spec, records);
    return publishRunner(spec, { sink: hub(spec.to), records, again });
  });
}

/**
 * A runner whose sink has the documents of all shards. A document that a move removed from one shard is on another, so its
 * deletion there counts as applied and changes nothing.
 */
export const stayingAfterMoves = (runner: Runner): Runner => ({
  ...runner,
  apply: (changes, access) =>
    runner.apply(
      changes.filter(({ gone }) => !gone),
      access,
    ),
});

/** A container of the model with its key paths. */
export function sinkContainer(name: string, model: Model): { name: string; keyPaths: string[][] } {
  const found = model.containers.find((container) => container.name === name);
  if (!found) {
    throw sharedError('not-found', `There is no container ${name} in ${model.file}`, {
      hint: 'Add it to the data model, or correct its name in the pipeline.',
    });
  }
  return { name, keyPaths: found.partitionKey.map((path) => [...splitPath(path)]) };
}
