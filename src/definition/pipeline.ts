import type { ArchiveSpec, DerivedSpec, Doc, Finding, IngestSpec, Pipeline, SourceRef, SourceRules } from './specs.ts';
import { projectionId } from './specs.ts';
import { type Declaration, about, error, plain, ref } from './declaration.ts';
import type { IngestDeclaration } from './builders/ingest.ts';
import { MODEL_FILE, type ModelFile, type Type } from './types.ts';

export interface SourceOptions<S extends object> {
  readonly of: Type<S>;
  /** True for a document that carries its delete marker: the latest-version feed shows no other deletes. */
  readonly deleted?: (doc: S) => boolean;
  /** Any older shape of the document to the present one; runs before everything else. */
  readonly upcast?: (old: unknown) => S;
  /**
   * How a stored document of the type is told from the others of its container: the field that holds the type's name, or
   * a predicate (`() => true` where the container has no other type). Default: the field `type`.
   */
  readonly discriminator?: string | ((stored: Doc) => boolean);
  /**
   * `all-versions`: the container's all-versions-and-deletes feed is read, which shows hard deletes and expiry. It needs
   * continuous backup, and begins where it is first read, never at the beginning. Default `latest`.
   */
  readonly feed?: 'latest' | 'all-versions';
}

/** Rules for one source type; a type without rules is never deleted and never upcast. */
export function source<S extends object>(rules: SourceOptions<S>): SourceRules;
export function source({ of, ...rules }: Omit<SourceRules, keyof SourceRef> & { of: SourceRef }): SourceRules {
  return { ...plain(of), ...rules };
}

export interface PipelineOptions {
  /**
   * Part of the names of its leases: two pipelines that read one container need two names, or each would get half of the
   * changes. Another name means new leases, which begin at the beginning. Default `millrace`.
   */
  readonly name?: string;
  readonly model: ModelFile;
  /** Tenant field, first level of every large container's key. */
  readonly tenant?: string;
  readonly sources?: readonly SourceRules[];
  readonly projections: readonly (DerivedSpec | Declaration)[];
  /** What comes in from event hubs. */
  readonly ingest?: readonly (IngestSpec | IngestDeclaration)[];
}

const NAME = /^[a-z0-9-]{1,50}$/;

/** Never throws: what is wrong is in `findings`. */
export function definePipeline(options: PipelineOptions): Pipeline {
  const { name = 'millrace', tenant, sources = [], projections, ingest = [] } = options;
  const findings: Finding[] = [...projections.flatMap(own), ...ingest.flatMap(own)];
  for (const spec of repeated([...projections, ...ingest], projectionId)) {
    const message = `Two projections are called ${projectionId(spec)}`;
    findings.push(...about(spec.name, [error('projection-twice', message, 'Rename one, or raise its version.')]));
  }
  for (const of of repeated(sources, ref)) {
    findings.push(error('source-twice', `Two source() rules are given for ${ref(of)}`, 'Join them into one.'));
  }
  findings.push(...unreadSources(sources, projections));
  for (const of of mixedFeeds(sources)) {
    const mend = 'Give all source() rules of the container the same feed.';
    findings.push(error('source-feeds', `Container ${of} is to be read by both feeds`, mend));
  }
  findings.push(...unlocated(sources, projections));
  if (!NAME.test(name)) {
    findings.push(error('pipeline-name', `The pipeline's name ${JSON.stringify(name)} is none`, 'Use a-z, 0-9 and -.'));
  }
  return {
    name,
    modelFile: options.model[MODEL_FILE],
    ...(tenant !== undefined && { tenant }),
    sources,
    projections: projections.filter(
      (projection) => projection.kind === 'copy' || projection.kind === 'aggregate' || projection.kind === 'reference',
    ),
    embeds: projections.filter((projection) => projection.kind === 'embed'),
    effects: projections.filter(
      (projection) => projection.kind === 'react' || projection.kind === 'send' || projection.kind === 'custom',
    ),
    archives: projections
      .filter((projection) => projection.kind === 'archive')
      .map((archive) => byTenant(archive, tenant)),
    publishes: projections.filter((projection) => projection.kind === 'publish'),
    ingests: ingest,
    findings,
  };
}

/** What the builder found; a spec that was made by hand has nothing to say. */
const own = (declared: DerivedSpec | IngestSpec | Declaration | IngestDeclaration): readonly Finding[] =>
  'findings' in declared ? about(declared.name, (declared as Declaration).findings) : [];

const byTenant = (archive: ArchiveSpec, tenant: string | undefined): ArchiveSpec =>
  tenant === undefined ? archive : { tenantField: tenant, ...archive };

/** One of each group that has the same name. */
const repeated = <T>(items: readonly T[], name: (item: T) => string): T[] =>
  [...Map.groupBy(items, name).values()].flatMap(([first, ...others]) => (first && others.length > 0 ? [first] : []));

/** A container has one feed at a time, whichever of its types are read. */
const mixedFeeds = (sources: readonly SourceRules[]): string[] =>
  [...Map.groupBy(sources, ({ container }) => container)]
    .filter(([, rules]) => new Set(rules.map(({ feed = 'latest' }) => feed)).size > 1)
    .map(([container]) => container);

/** A hard deletion comes without the document, and so without what a place that nobody remembers is worked out from. */
const unlocated = (sources: readonly SourceRules[], projections: readonly DerivedSpec[]): Finding[] =>
  projections
    .filter((spec) => (spec.kind === 'copy' || spec.kind === 'aggregate') && spec.stable && spec.onDelete === 'remove')
    .filter((spec) =>
      sourcesOf(spec)
        .slice(0, 1)
        .some((of) => sources.some((rule) => ref(rule) === ref(of) && rule.feed === 'all-versions')),
    )
    .map((spec) =>
      error(
        'stable-all-versions',
        `Projection ${spec.name} is stable, but the all-versions feed shows deletions without the document that would tell what to remove`,
        "Leave stable out, so that a locator remembers the place, or declare onDelete: 'keep'.",
      ),
    );

function unreadSources(sources: readonly SourceRules[], projections: readonly DerivedSpec[]): Finding[] {
  const read = new Set(projections.flatMap(sourcesOf).map(ref));
  return sources
    .filter((of) => !read.has(ref(of)))
    .map((of) => ({
      code: 'source-unread',
      severity: 'warning',
      message: `source() rules are given for ${ref(of)}, which no projection reads`,
      mend: 'Remove them, or declare the projection.',
    }));
}

/** Everything of a pipeline that reads a change feed. */
export const feedReaders = ({ projections, embeds, effects, archives, publishes }: Pipeline): DerivedSpec[] => [
  ...projections,
  ...embeds,
  ...effects,
  ...archives,
  ...publishes,
];

/** Every type whose feed a projection needs: its own source, and what it joins, lists its tenants by or embeds into. */
export function sourcesOf(projection: DerivedSpec): SourceRef[] {
  if (projection.kind === 'custom') return [...projection.sources];
  const { from } = projection;
  if (projection.kind === 'copy') return [from, ...projection.joins.map((join) => join.of)];
  if (projection.kind === 'reference') return [from, projection.tenants];
  return projection.kind === 'embed' ? [from, projection.into] : [from];
}
