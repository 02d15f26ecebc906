import type {
  ArchiveSpec,
  DerivedSpec,
  Doc,
  Finding,
  IngestSpec,
  Pipeline,
  ShardsSpec,
  SourceRef,
  SourceRules,
} from './specs.ts';
import { isEffect, isProjection } from './kind-facts.ts';
import { hasLocator, projectionId } from './specs.ts';
import { counted } from '../base/user-code.ts';
import { type Declaration, about, error, plain, ref } from './declaration.ts';
import type { IngestDeclaration } from './builders/ingest.ts';
import { ignoreFindings } from './fields/ignored.ts';
import { MODEL, type ModelCode, type ModelRef } from '../model/code/define-model.ts';
import type { Type } from './types.ts';

export interface SourceOptions<S extends object> {
  /** The type that the rules are for. */
  readonly of: Type<S>;
  /** True for a document that carries its delete marker: the latest-version feed shows no other deletes. */
  readonly deleted?: (doc: S) => boolean;
  /** Converts an older shape of the document to the present one; it runs before every other function. */
  readonly upcast?: (old: unknown) => S;
  /**
   * How to recognise a stored document of the type: the field that holds the type's name, or a predicate (`() => true` if
   * the container has no other type). Default: the field `type`.
   */
  readonly discriminator?: string | ((stored: Doc) => boolean);
  /**
   * `all-versions`: Millrace reads the container's all-versions-and-deletes feed, which shows hard deletes and expiry. It
   * needs continuous backup. It begins when it is first read, never at the container's beginning. Default `latest`.
   */
  readonly feed?: 'latest' | 'all-versions';
  /**
   * Fields that others write, and that are no change: `['/embedding', '/enriched/*']`, where `*` is every field of an
   * object or every element of a list. A version that differs in nothing else has no effect, and no copy or aggregate is
   * written for it. Default: the container's vectors; `[]`: none.
   */
  readonly ignore?: readonly string[];
}

/** Rules for one source type; a type without rules is never deleted and never upcast. */
export function source<S extends object>(rules: SourceOptions<S>): SourceRules;
export function source({ of, ...rules }: Omit<SourceRules, keyof SourceRef> & { of: SourceRef }): SourceRules {
  return { ...plain(of), ...rules };
}

export interface PipelineOptions {
  /**
   * Part of the names of its leases. Two pipelines that read one container need two names: with one name each would get
   * only some of the changes. Another name means new leases, which read every feed from its beginning. Default `millrace`.
   */
  readonly name?: string;
  /** The model of the containers, from `model.ts`. */
  readonly model: ModelRef;
  /** Tenant field, first level of every large container's key. */
  readonly tenant?: string;
  /** The pipeline reads the feeds of all shards of a shard map: `shardMap('tenants')`. Absent: those of one database. */
  readonly shards?: ShardsSpec;
  /** Rules of source types: deletion, older shapes, the feed. */
  readonly sources?: readonly SourceRules[];
  /** What is derived. */
  readonly projections: readonly (DerivedSpec | Declaration)[];
  /** Declarations that turn events of event hubs into documents. */
  readonly ingest?: readonly (IngestSpec | IngestDeclaration)[];
}

const NAME = /^[a-z0-9-]{1,50}$/;

/** Declares a pipeline, the default export of `pipeline.ts`. It never throws: problems are in `findings`. */
export function definePipeline(options: PipelineOptions): Pipeline {
  const { name = 'millrace', tenant, shards } = options;
  const sources = (options.sources ?? []).map((rules) => counted(rules, ref(rules)));
  const projections = options.projections.map((spec) => counted(spec, projectionId(spec)));
  const ingest = (options.ingest ?? []).map((spec) => counted(spec, projectionId(spec)));
  const findings: Finding[] = [...projections.flatMap(own), ...ingest.flatMap(own)];
  for (const spec of repeated([...projections, ...ingest], projectionId)) {
    const message = `Two projections are called ${projectionId(spec)}`;
    findings.push(...about(spec.name, [error('projection-twice', message, 'Rename one, or raise its version.')]));
  }
  for (const of of repeated(sources, ref)) {
    findings.push(error('source-twice', `Two source() rules name ${ref(of)}`, 'Combine them into one.'));
  }
  findings.push(...unreadSources(sources, projections), ...untold(options.model[MODEL], sources, projections));
  findings.push(...sources.flatMap(ignoreFindings));
  for (const of of mixedFeeds(sources)) {
    const hint = 'Give all source() rules of the container the same feed.';
    findings.push(error('source-feeds', `The source() rules of container ${of} name both feeds`, hint));
  }
  findings.push(...unlocated(sources, projections));
  if (!NAME.test(name)) {
    findings.push(
      error('pipeline-name', `The pipeline's name ${JSON.stringify(name)} isn't valid`, 'Use a-z, 0-9 and -.'),
    );
  }
  return {
    name,
    model: options.model[MODEL],
    ...(tenant !== undefined && { tenant }),
    ...(shards !== undefined && { shards }),
    sources,
    projections: projections.filter(isProjection),
    embeds: projections.filter((projection) => projection.kind === 'embed'),
    effects: projections.filter(isEffect),
    archives: projections
      .filter((projection) => projection.kind === 'archive')
      .map((archive) => byTenant(archive, tenant)),
    publishes: projections.filter((projection) => projection.kind === 'publish'),
    ingests: ingest,
    findings,
  };
}

/** The findings of the builder; a spec that was written by hand has none. */
const own = (declared: DerivedSpec | IngestSpec | Declaration | IngestDeclaration): readonly Finding[] =>
  'findings' in declared ? about(declared.name, (declared as Declaration).findings) : [];

const byTenant = (archive: ArchiveSpec, tenant: string | undefined): ArchiveSpec =>
  tenant === undefined ? archive : { tenantField: tenant, ...archive };

/** One of each group that has the same name. */
const repeated = <T>(items: readonly T[], name: (item: T) => string): T[] =>
  [...Map.groupBy(items, name).values()].flatMap(([first, ...others]) => (first && others.length > 0 ? [first] : []));

/** All types of a container are read by the same feed. */
const mixedFeeds = (sources: readonly SourceRules[]): string[] =>
  [...Map.groupBy(sources, ({ container }) => container)]
    .filter(([, rules]) => new Set(rules.map(({ feed = 'latest' }) => feed)).size > 1)
    .map(([container]) => container);

/** The feed shows a hard delete without the document. Without a locator, its place in the sink can't be computed. */
const unlocated = (sources: readonly SourceRules[], projections: readonly DerivedSpec[]): Finding[] =>
  projections
    .filter(
      (spec) => (spec.kind === 'copy' || spec.kind === 'aggregate') && !hasLocator(spec) && spec.onDelete === 'remove',
    )
    .filter((spec) =>
      sourcesOf(spec)
        .slice(0, 1)
        .some((of) => sources.some((rule) => ref(rule) === ref(of) && rule.feed === 'all-versions')),
    )
    .map((spec) =>
      error(
        'stable-all-versions',
        `Projection ${spec.name} is stable, but the all-versions feed shows deletes without the document, so the copy or contribution to remove is unknown`,
        "Remove stable, so that a locator stores the place. Or declare onDelete: 'keep'.",
      ),
    );

function unreadSources(sources: readonly SourceRules[], projections: readonly DerivedSpec[]): Finding[] {
  const read = new Set(projections.flatMap(sourcesOf).map(ref));
  return sources
    .filter((of) => !read.has(ref(of)))
    .map((of) => ({
      code: 'source-unread',
      severity: 'warning',
      message: `A source() rule names ${ref(of)}, which no projection reads`,
      hint: 'Remove the rule, or declare the projection.',
    }));
}

/** Types that no field `type` tells, and no rule either: no document of them would ever be read. */
function untold(
  { containers }: ModelCode,
  sources: readonly SourceRules[],
  projections: readonly DerivedSpec[],
): Finding[] {
  const told = new Set(sources.filter(({ discriminator }) => discriminator !== undefined).map(ref));
  const read = projections
    .flatMap(sourcesOf)
    .filter(({ container, type }) => containers[container]?.types[type]?.typed === false);
  return [...new Set(read.map(ref))]
    .filter((name) => !told.has(name))
    .map((name) =>
      error(
        'source-untold',
        `No source() rule says which documents are ${name}: they have no field \`type\``,
        "Add `source({ of, discriminator: 'FIELD' })` with the type to `sources` of the pipeline; a `source()` elsewhere has no effect.",
      ),
    );
}

/** All declarations of a pipeline that read a change feed. */
export const feedReaders = ({ projections, embeds, effects, archives, publishes }: Pipeline): DerivedSpec[] => [
  ...projections,
  ...embeds,
  ...effects,
  ...archives,
  ...publishes,
];

/** Every type whose feed a projection needs: its source, and the types that it joins, lists tenants by or embeds into. */
export function sourcesOf(projection: DerivedSpec): SourceRef[] {
  if (projection.kind === 'custom') return [...projection.sources];
  const { from } = projection;
  if (projection.kind === 'copy') return [from, ...projection.joins.map((join) => join.of)];
  if (projection.kind === 'reference') return [from, projection.tenants];
  return projection.kind === 'embed' ? [from, projection.into] : [from];
}
