import type { Database } from '@azure/cosmos';
import pMap from 'p-map';
import type { Settings } from '../../base/settings.ts';
import { isOfType, typeRules } from '../../pipeline/discriminator.ts';
import {
  type CopySpec,
  type Doc,
  type Pipeline,
  type ProjectionSpec,
  type SourceRef,
  projectionId,
} from '../../pipeline/specs.ts';
import { isEmptied } from '../../pipeline/emptied.ts';
import { sourcesOf } from '../../pipeline/pipeline.ts';
import { rowKey } from '../../pipeline/oracle/recompute.ts';
import { PENDING } from '../../kinds/copy/documents.ts';
import { hasLeft } from '../../kinds/moved.ts';
import type { History } from '../../archive/types.ts';
import { openPipelineHistory } from '../../runtime/archives.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import type { Screen } from '../screen.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { checkContributions, contributionsOf } from './contributions.ts';
import type { Candidate } from './difference.ts';
import { type ParkedDocument, type ParkedDocuments, parkedOf } from './parked.ts';
import { SinkLook } from './sink-look.ts';
import type { AskedTenant } from '../tenants/tenant-flag.ts';
import { ALL, TenantReads } from './tenant-reads.ts';
import { placeDatabase } from '../../runtime/place-containers.ts';
import { HomeDocuments, homeShards } from './home-shards.ts';
import { databasesOf, letterStates } from '../projections/over-shards.ts';
import { type OtherSpec, checkOthers } from './verify-others.ts';

/** One comparison of stored documents with those that the sources determine. */
export interface Comparison {
  readonly projections: readonly { id: string; expected: number; refused: number }[];
  readonly documents: { readonly sources: number; readonly expected: number; readonly found: number };
  readonly differences: readonly Candidate[];
  /** Source documents whose newest version is parked; nothing is expected of them. */
  readonly parked: readonly ParkedDocument[];
}

export interface CompareOptions {
  readonly signal: AbortSignal;
  readonly screen: Pick<Screen, 'progress'>;
  readonly readLagMs: number | undefined;
  /** Absent: no process writes meanwhile. */
  readonly settings?: Settings | undefined;
  /** The versions to compare. */
  readonly chosen: readonly ProjectionSpec[];
  /** All versions that hosts update. Several may write one type, so the comparison is of all documents of a type. */
  readonly kept: readonly ProjectionSpec[];
  /** Embeds, and sinks outside the account that can list their content. */
  readonly others?: readonly OtherSpec[];
  /** Reads what this tenant's sink documents need. Others may be compared too, and may then differ wrongly. */
  readonly ofTenant?: AskedTenant | undefined;
}

/** Reads every source document, archived ones included, and every sink document once, recomputes, and compares. */
export async function compare(
  { pipeline, model }: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  services: Services,
  { signal, screen, readLagMs, settings, chosen, kept, others = [], ofTenant }: CompareOptions,
): Promise<Comparison> {
  const sinks = Map.groupBy(chosen, ({ into }) => nameOf(into));
  const together = kept.filter(({ into }) => sinks.has(nameOf(into)));
  const reads = new TenantReads(ofTenant, { pipeline, model }, [...together, ...others]);
  const homes = new HomeDocuments(await homeShards({ pipeline, model }, services, settings));
  const documents = await readTypes(
    [...together.flatMap(sourcesOf), ...together.map(({ into }) => into), ...others.map(({ from }) => from)],
    {
      pipeline,
      database: placeDatabase(pipeline, services),
      databases: await databasesOf(pipeline, services),
      homes,
      history: await openPipelineHistory({ pipeline, model }, services, { signal, readLagMs }),
      reads,
      signal,
      screen,
    },
  );
  const keyPathsOf = (container: string): readonly string[] =>
    model.containers.find((one) => one.name === container)?.partitionKey ?? [];
  if (pipeline.part)
    for (const [type, docs] of documents)
      documents.set(type, homes.eachOnce(docs, keyPathsOf(type.slice(0, type.indexOf('/')))));
  const documentsOf = (of: SourceRef): readonly Doc[] => documents.get(nameOf(of)) ?? [];
  const parkedBy = async (spec: ProjectionSpec): Promise<ParkedDocuments> => {
    const of = [...new Map(sourcesOf(spec).map((source) => [nameOf(source), source])).values()];
    const sources = of.map((one) => ({ of: one, docs: documentsOf(one), keyPaths: keyPathsOf(one.container) }));
    return parkedOf(await letterStates(spec, pipeline, services), projectionId(spec), sources);
  };
  const differences: Candidate[] = [];
  const parked: ParkedDocument[] = [];
  const projections: { id: string; expected: number; refused: number }[] = [];
  let found = 0;
  for (const [sink] of sinks) {
    const specs = together.filter(({ into }) => nameOf(into) === sink);
    const [{ into } = { into: undefined }] = specs;
    if (!into) continue;
    const keyPaths = keyPathsOf(into.container);
    const looked = new SinkLook(into.container, keyPaths);
    for (const spec of specs) {
      const letters = await parkedBy(spec);
      const own = (of: SourceRef): readonly Doc[] => letters.without(of, documentsOf(of));
      parked.push(...letters.documents);
      const { expected, refused } = looked.expect(spec, own, { letters, rules: pipeline.sources, keyPathsOf });
      projections.push({ id: projectionId(spec), expected, refused });
      const within = { database: services.place.database, signal, reads, keyPaths };
      if (spec.kind === 'aggregate') {
        const stored = contributionsOf(spec, within);
        const sourceKeys = keyPathsOf(spec.from.container);
        const context = { stored, letters, rules: pipeline.sources, keyPaths, sourceKeys };
        for await (const part of checkContributions(spec, own(spec.from), context)) looked.contribution(part);
      } else if (spec.kind === 'copy' && spec.joins.some(({ missing }) => missing === 'wait'))
        looked.waiting(spec, await pendingOf(spec, within));
    }
    const actual = documentsOf(into);
    found += actual.length;
    differences.push(...looked.differences(actual, specs.map(projectionId)));
  }
  for await (const checked of checkOthers(others, {
    pipeline,
    model,
    documentsOf,
    state: services.place.state,
    statesOf: (spec) => letterStates(spec, pipeline, services),
    database: services.place.database,
    reads,
    signal,
    ofTenant,
  })) {
    projections.push({ id: checked.id, expected: checked.expected, refused: checked.refused });
    parked.push(...checked.parked);
    found += checked.found;
    differences.push(...checked.differences);
  }
  const sources = new Set([...together.flatMap(sourcesOf), ...others.map(({ from }) => from)].map(nameOf));
  return {
    projections,
    documents: {
      sources: [...sources].reduce((sum, source) => sum + (documents.get(source)?.length ?? 0), 0),
      expected: projections.reduce((sum, projection) => sum + projection.expected, 0),
      found,
    },
    differences,
    parked,
  };
}

/** `Container/type`. */
export const nameOf = ({ container, type }: SourceRef): string => `${container}/${type}`;

export interface TypesReading {
  readonly pipeline: Pick<Pipeline, 'archives' | 'sources'>;
  readonly database: Database;
  /** The databases that have documents of a container. Default: `database`. */
  readonly databases?: (container: string) => readonly Database[];
  /** Is given which document was read where. */
  readonly homes?: HomeDocuments;
  readonly history: History;
  /** Which documents count. Default: all. */
  readonly reads?: TenantReads;
  readonly signal: AbortSignal;
  readonly screen: Pick<Screen, 'progress'>;
}

/** The documents of some types, by `Container/type`; for archived types with the archived documents. */
export async function readTypes(
  types: readonly SourceRef[],
  { pipeline, database, databases = () => [database], homes, history, reads, signal, screen }: TypesReading,
): Promise<Map<string, Doc[]>> {
  const archived = new Set(pipeline.archives.map(({ from }) => nameOf(from)));
  const documents = new Map<string, Doc[]>(types.map((of) => [nameOf(of), []]));
  let read = 0;
  const keep = (of: readonly SourceRef[], doc: Doc, cold: boolean): void => {
    const known = of.find((each) => isOfType(each.type, typeRules(pipeline.sources, each), doc));
    const type = known ? nameOf(known) : '';
    if (
      known &&
      archived.has(type) === cold &&
      !isEmptied(doc) &&
      !hasLeft(doc) &&
      reads?.has(known.container, doc) !== false
    )
      documents.get(type)?.push(doc);
    if (++read % 1_000 === 0) screen.progress('read for comparison', read);
  };
  const readContainer = async ([container, of]: readonly [string, readonly SourceRef[]]): Promise<void> => {
    const isArchived = of.map((type) => archived.has(nameOf(type)));
    if (isArchived.includes(true))
      for await (const { doc = {}, version, at } of history.documents(container, signal))
        keep(of, { ...doc, _etag: version.etag, _ts: at / 1_000 }, true);
    if (!isArchived.includes(false)) return;
    const { query, options } = reads?.of(container) ?? ALL;
    for (const one of databases(container))
      for await (const doc of fetchAll<Doc>(one.container(container), query, signal, options)) {
        homes?.note(container, doc, one);
        keep(of, doc, false);
      }
  };
  await pMap(
    Map.groupBy(types, (type) => type.container),
    readContainer,
    { concurrency: 4 },
  );
  return documents;
}

/** The documents that wait for a joined document, by their places. */
async function pendingOf(
  spec: CopySpec,
  {
    database,
    keyPaths,
    reads,
    signal,
  }: { database: Database; keyPaths: readonly string[]; reads: TenantReads; signal: AbortSignal },
): Promise<Map<string, Doc>> {
  const { query, options } = reads.of(spec.into.container, {
    where: `c.type = '${PENDING}' AND c._mr["by"] = @by`,
    parameters: [{ name: '@by', value: projectionId(spec) }],
  });
  const found = new Map<string, Doc>();
  for await (const doc of fetchAll<Doc>(database.container(spec.into.container), query, signal, options))
    found.set(rowKey(doc, keyPaths), doc);
  return found;
}
