// A comparison of all documents, or of all of a tenant.
import type { Database } from '@azure/cosmos';
import pMap from 'p-map';
import { fetchAll } from '../../../cosmos/fetch-all.ts';
import { isOfType, typeRules } from '../../../pipeline/discriminator.ts';
import { isEmptied } from '../../../pipeline/emptied.ts';
import {
  type CopySpec,
  type Doc,
  type OutsideSpec,
  type Pipeline,
  type ProjectionSpec,
  type SourceRef,
  projectionId,
} from '../../../pipeline/specs.ts';
import { sourcesOf } from '../../../pipeline/pipeline.ts';
import type { ContributionDocument } from '../../../kinds/aggregate/contribution.ts';
import type { LocatorDocument } from '../../../kinds/locator.ts';
import { hasLeft } from '../../../kinds/moved.ts';
import type { History } from '../../../archive/types.ts';
import { type Model, keyPathsOf } from '../../../model/model.ts';
import type { LoadedPipeline, Services } from '../../../runtime/workspace.ts';
import type { Screen } from '../../screen.ts';
import type { AskedTenant } from '../../tenants/tenant-flag.ts';
import type { HomeDocuments } from './home-shards.ts';
import { type LookOptions, type Part, type Reading, nameOf } from '../look.ts';
import { identityText } from '../parked.ts';
import { ALL, TenantReads } from './tenant-reads.ts';

export interface TypesReading {
  readonly pipeline: Pick<Pipeline, 'archives' | 'sources' | 'part'>;
  readonly model: Model;
  /** The databases that have documents of a container. */
  readonly databases: (container: string) => readonly Database[];
  /** Is given which document was read where. */
  readonly homes: HomeDocuments;
  readonly history: () => Promise<History>;
  /** Which documents count. Default: all. */
  readonly reads?: TenantReads;
  readonly signal: AbortSignal;
  readonly screen: Pick<Screen, 'progress'>;
}

/** Reads every source document, archived ones included, and every sink document once. `ofTenant`: what a tenant needs. */
export async function wholeReading(
  { pipeline, model }: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  services: Services,
  types: TypesReading,
  { chosen, kept, others = [], ofTenant }: LookOptions & { readonly ofTenant?: AskedTenant | undefined },
): Promise<Reading> {
  const { signal } = types;
  const { database } = services.place;
  const sinks = new Set(chosen.map(({ into }) => nameOf(into)));
  const together = kept.filter(({ into }) => sinks.has(nameOf(into)));
  const reads = new TenantReads(ofTenant, { pipeline, model }, [...together, ...others]);
  const sources = [...together.flatMap(sourcesOf), ...others.map(({ from }) => from)];
  const documents = await readTypes([...sources, ...together.map(({ into }) => into)], { ...types, reads });
  const documentsOf = (of: SourceRef): readonly Doc[] => documents.get(nameOf(of)) ?? [];
  const contributionsOf = (spec: ProjectionSpec): AsyncGenerator<ContributionDocument> => {
    const { query, options } = reads.of(spec.into.container, {
      where: `c.type = 'millrace.contribution' AND c["by"] = @by`,
      parameters: [{ name: '@by', value: projectionId(spec) }],
    });
    return fetchAll<ContributionDocument>(database.container(spec.into.container), query, signal, options);
  };
  return {
    sink: async (into) => documentsOf(into),
    beside: async () => [],
    part: async (spec): Promise<Part> => ({
      docs: documents,
      ...(spec.kind === 'aggregate' && {
        contributions: [{ docs: documentsOf(spec.from), stored: contributionsOf(spec) }],
      }),
    }),
    pending: async (spec) => waitingOf(spec, services, signal),
    children: async (_, into) => {
      const rules = typeRules(pipeline.sources, into);
      const children: Doc[] = [];
      const { query, options } = reads.of(into.container);
      for await (const doc of fetchAll<Doc>(database.container(into.container), query, signal, options))
        if (isOfType(into.type, rules, doc)) children.push(doc);
      return { children, parents: documents };
    },
    rows: async (spec: OutsideSpec) => {
      const docs = documentsOf(spec.from);
      if (!ofTenant || spec.kind !== 'table') return rowsOf(docs, spec.to.rows?.(signal));
      const own = docs.filter((doc) => ofTenant.owns(spec.from.container, doc));
      return rowsOf(own, spec.to.part?.({ tenant: ofTenant.tenant }, signal));
    },
    sources: () => [...new Set(sources.map(nameOf))].reduce((sum, of) => sum + (documents.get(of)?.length ?? 0), 0),
  };
}

const rowsOf = <T>(docs: readonly Doc[], stored: AsyncIterable<T> | undefined) => stored && { docs, stored };

/** The documents of some types, by `Container/type`; for archived types with the archived documents. */
export async function readTypes(
  types: readonly SourceRef[],
  { pipeline, model, databases, homes, history, reads, signal, screen }: TypesReading,
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
      for await (const { doc = {}, version, at } of (await history()).documents(container, signal))
        keep(of, { ...doc, _etag: version.etag, _ts: at / 1_000 }, true);
    if (!isArchived.includes(false)) return;
    const { query, options } = reads?.of(container) ?? ALL;
    for (const one of databases(container))
      for await (const doc of fetchAll<Doc>(one.container(container), query, signal, options)) {
        homes.note(container, doc, one);
        keep(of, doc, false);
      }
  };
  await pMap(
    Map.groupBy(types, (type) => type.container),
    readContainer,
    { concurrency: 4 },
  );
  if (pipeline.part)
    for (const of of types)
      documents.set(nameOf(of), homes.eachOnce(documents.get(nameOf(of)) ?? [], keyPathsOf(model, of.container)));
  return documents;
}

/** The documents that wait for a joined document, by `identityText`. */
async function waitingOf(spec: CopySpec, { place: { state } }: Services, signal: AbortSignal): Promise<Set<string>> {
  const query = 'SELECT * FROM c WHERE c.projection = @by AND c.waits = true';
  const asked = { query, parameters: [{ name: '@by', value: projectionId(spec) }] };
  const found = new Set<string>();
  for await (const { source } of fetchAll<LocatorDocument>(state, asked, signal)) found.add(identityText(source));
  return found;
}
