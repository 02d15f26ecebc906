import type { Database } from '@azure/cosmos';
import { isDeepStrictEqual } from 'node:util';
import pMap from 'p-map';
import { canonical, digest } from '../../base/json.ts';
import { isOfType, typeRules } from '../../definition/discriminator.ts';
import {
  type Doc,
  type Pipeline,
  type ProjectionSpec,
  type SourceRef,
  type SourceRules,
  projectionId,
} from '../../definition/kinds.ts';
import { isEmptied } from '../../definition/emptied.ts';
import { sourcesOf } from '../../definition/pipeline.ts';
import { ownFields, recompute, rowKey } from '../../definition/recompute.ts';
import type { History } from '../../archive/types.ts';
import { openPipelineHistory } from '../archive/open.ts';
import { fetchAll } from '../fetch-all.ts';
import type { Screen } from '../screen.ts';
import type { LoadedPipeline, Services } from '../workspace.ts';
import { checkContributions } from './contributions.ts';
import { type OtherSpec, checkOthers } from './verify-others.ts';

export interface Difference {
  readonly projections: readonly string[];
  readonly container: string;
  /** The sink document's key values and id, as canonical JSON. */
  readonly document: string;
  readonly kind: 'missing' | 'unexpected' | 'different';
  /** Top-level fields that differ. */
  readonly fields: readonly string[];
  readonly expected?: Doc;
  readonly found?: Doc;
}

/** A difference with what it was seen by: the same again later, it isn't on its way. */
export type Candidate = Difference & { readonly evidence: string };

export interface Pass {
  readonly projections: readonly { id: string; expected: number; refused: number }[];
  readonly documents: { readonly sources: number; readonly expected: number; readonly found: number };
  readonly differences: readonly Candidate[];
}

export interface PassOptions {
  readonly signal: AbortSignal;
  readonly screen: Pick<Screen, 'progress'>;
  readonly readLagMs: number | undefined;
  /** Versions whose sinks are compared. */
  readonly chosen: readonly ProjectionSpec[];
  /** Versions that are kept up: several may write one type between them, so what is compared is a type's documents. */
  readonly kept: readonly ProjectionSpec[];
  /** What is compared beside them: embedded fields, and sinks that can be asked what they hold. */
  readonly others?: readonly OtherSpec[];
}

/** Reads every source document, hot and cold, and every sink document once, works it all out anew, and compares. */
export async function comparePass(
  { pipeline, model }: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  services: Services,
  { signal, screen, readLagMs, chosen, kept, others = [] }: PassOptions,
): Promise<Pass> {
  const sinks = Map.groupBy(chosen, ({ into }) => name(into));
  const together = kept.filter(({ into }) => sinks.has(name(into)));
  const documents = await readTypes(
    [...together.flatMap(sourcesOf), ...together.map(({ into }) => into), ...others.map(({ from }) => from)],
    {
      database: services.database,
      history: await openPipelineHistory({ pipeline, model }, services, { signal, readLagMs }),
    },
    new Set(pipeline.archives.map(({ from }: Pipeline['archives'][number]) => name(from))),
    pipeline.sources,
    signal,
    screen,
  );
  const documentsOf = (of: SourceRef): readonly Doc[] => documents.get(name(of)) ?? [];
  const differences: Candidate[] = [];
  const projections: { id: string; expected: number; refused: number }[] = [];
  let found = 0;
  for (const [sink] of sinks) {
    const specs = together.filter(({ into }) => name(into) === sink);
    const [{ into } = { into: undefined }] = specs;
    if (!into) continue;
    const keyPaths = model.containers.find((container) => container.name === into.container)?.partitionKey ?? [];
    const expected = new Map<string, Doc>();
    for (const spec of specs) {
      let refused = 0;
      const rows = recompute(spec, documentsOf, pipeline.sources, { keyPaths, refused: () => (refused += 1) });
      for (const [key, row] of rows) expected.set(key, row);
      projections.push({ id: projectionId(spec), expected: rows.size, refused });
    }
    const actual = documentsOf(into);
    found += actual.length;
    const told = new Set<string>();
    for (const difference of compare(expected, actual, keyPaths)) {
      told.add(difference.document);
      differences.push({ projections: specs.map(projectionId), container: into.container, ...difference });
    }
    for (const spec of specs) {
      if (spec.kind !== 'aggregate') continue;
      const sourceKeys =
        model.containers.find((container) => container.name === spec.from.container)?.partitionKey ?? [];
      const context = { database: services.database, rules: pipeline.sources, sourceKeys, keyPaths, signal };
      for await (const difference of checkContributions(spec, documentsOf(spec.from), context))
        if (!told.has(difference.document)) differences.push(difference);
    }
  }
  for await (const checked of checkOthers(others, {
    pipeline,
    model,
    documentsOf,
    database: services.database,
    signal,
  })) {
    projections.push({ id: checked.id, expected: checked.expected, refused: checked.refused });
    found += checked.found;
    differences.push(...checked.differences);
  }
  const sources = new Set([...together.flatMap(sourcesOf), ...others.map(({ from }) => from)].map(name));
  return {
    projections,
    documents: {
      sources: [...sources].reduce((sum, source) => sum + (documents.get(source)?.length ?? 0), 0),
      expected: projections.reduce((sum, projection) => sum + projection.expected, 0),
      found,
    },
    differences,
  };
}

const name = ({ container, type }: SourceRef): string => `${container}/${type}`;

/** The documents of some types, by `Container/type`: those of archived types hot and cold. */
async function readTypes(
  types: readonly SourceRef[],
  { database, history }: { database: Database; history: History },
  archived: ReadonlySet<string>,
  rules: readonly SourceRules[],
  signal: AbortSignal,
  screen: Pick<Screen, 'progress'>,
): Promise<Map<string, Doc[]>> {
  const documents = new Map<string, Doc[]>(types.map((of) => [name(of), []]));
  let read = 0;
  const keep = (of: readonly SourceRef[], doc: Doc, cold: boolean): void => {
    const known = of.find((each) => isOfType(each.type, typeRules(rules, each), doc));
    const type = known ? name(known) : '';
    if (archived.has(type) === cold && !isEmptied(doc)) documents.get(type)?.push(doc);
    if (++read % 1_000 === 0) screen.progress('read for comparison', read);
  };
  const readContainer = async ([container, of]: readonly [string, readonly SourceRef[]]): Promise<void> => {
    const isArchived = of.map((type) => archived.has(name(type)));
    if (isArchived.includes(true))
      for await (const { doc = {} } of history.documents(container, signal)) keep(of, doc, true);
    if (isArchived.includes(false))
      for await (const doc of fetchAll<Doc>(database.container(container), 'SELECT * FROM c', signal))
        keep(of, doc, false);
  };
  await pMap(
    Map.groupBy(types, (type) => type.container),
    readContainer,
    { concurrency: 4 },
  );
  return documents;
}

type Compared = Omit<Difference, 'projections' | 'container'> & { readonly evidence: string };

function* compare(
  expected: ReadonlyMap<string, Doc>,
  actual: readonly Doc[],
  keyPaths: readonly string[],
): Generator<Compared> {
  const left = new Map(expected);
  for (const stored of actual) {
    const document = rowKey(stored, keyPaths);
    const found = ownFields(stored);
    const row = left.get(document);
    left.delete(document);
    const evidence = (): string => digest([row, stored['_etag']]);
    if (!row) yield { kind: 'unexpected', document, fields: [], found, evidence: evidence() };
    else if (!isDeepStrictEqual(row, found)) {
      const fields = [...new Set([...Object.keys(row), ...Object.keys(found)])].filter(
        (field) => canonical(row[field]) !== canonical(found[field]),
      );
      yield { kind: 'different', document, fields, expected: row, found, evidence: evidence() };
    }
  }
  for (const [document, row] of left)
    yield { kind: 'missing', document, fields: [], expected: row, evidence: digest([row]) };
}
