import type { Database } from '@azure/cosmos';
import { isDeepStrictEqual } from 'node:util';
import pMap from 'p-map';
import { z } from 'zod';
import { UsageError } from '../../base/errors.ts';
import { canonical } from '../../base/json.ts';
import { type Doc, type ProjectionSpec, type SourceRef, projectionId } from '../../definition/kinds.ts';
import { isEmptied } from '../../definition/emptied.ts';
import { sourcesOf } from '../../definition/pipeline.ts';
import { ownFields, recompute, rowKey } from '../../definition/recompute.ts';
import type { History } from '../../archive/types.ts';
import { openPipelineHistory } from '../archive/open.ts';
import { fetchAll } from '../fetch-all.ts';
import { defineOperation } from '../operation.ts';
import type { Screen } from '../screen.ts';
import { suggestion } from '../suggest.ts';
import { plural, table } from '../table.ts';
import type { LoadedPipeline, Services } from '../workspace.ts';

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

export interface Verification {
  readonly projections: readonly { id: string; expected: number; refused: number }[];
  readonly documents: { readonly sources: number; readonly expected: number; readonly found: number };
  /** All of them counted, the first thousand shown. */
  readonly different: number;
  readonly differences: readonly Difference[];
}

export interface VerifyOptions {
  readonly signal: AbortSignal;
  readonly screen: Screen;
  /** One projection by its name; all of them if absent. */
  readonly only?: string | undefined;
  /** How old a read may be, milliseconds (A3); what is archived is looked at twice, that long apart. Default 5,000. */
  readonly readLagMs?: number | undefined;
}

const SHOWN = 1_000;
const PRINTED = 20;

/**
 * Reads every source document, archived ones included, and every sink document, works every projection out anew by code that shares nothing with the running
 * one, and compares document by document. Sources and sinks must be at rest: there are no reads as of a moment.
 */
export async function verify(
  { pipeline, model }: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  services: Services,
  { signal, screen, only, readLagMs }: VerifyOptions,
): Promise<Verification> {
  const chosen = choose(pipeline.projections, only);
  // Several projections may write one type between them, so what is compared is a type's documents, not a projection's.
  const sinks = Map.groupBy(chosen, ({ into }) => name(into));
  const together = pipeline.projections.filter(({ into }) => sinks.has(name(into)));
  const documents = await readTypes(
    [...together.flatMap(sourcesOf), ...together.map(({ into }) => into)],
    {
      database: services.database,
      history: await openPipelineHistory({ pipeline, model }, services, { signal, readLagMs }),
    },
    new Set(pipeline.archives.map(({ from }) => name(from))),
    signal,
    screen,
  );
  const documentsOf = (of: SourceRef): readonly Doc[] => documents.get(name(of)) ?? [];

  const differences: Difference[] = [];
  const projections: { id: string; expected: number; refused: number }[] = [];
  let different = 0;
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
    for (const difference of compare(expected, actual, keyPaths)) {
      different += 1;
      if (differences.length < SHOWN)
        differences.push({ projections: specs.map(projectionId), container: into.container, ...difference });
    }
  }
  const sources = new Set(together.flatMap(sourcesOf).map(name));
  return {
    projections,
    documents: {
      sources: [...sources].reduce((sum, source) => sum + (documents.get(source)?.length ?? 0), 0),
      expected: projections.reduce((sum, projection) => sum + projection.expected, 0),
      found,
    },
    different,
    differences,
  };
}

const name = ({ container, type }: SourceRef): string => `${container}/${type}`;

function choose(projections: readonly ProjectionSpec[], only: string | undefined): readonly ProjectionSpec[] {
  if (only === undefined) return projections;
  const found = projections.filter((spec) => spec.name === only || projectionId(spec) === only);
  if (found.length > 0) return found;
  const known = projections.map((spec) => spec.name);
  throw new UsageError('projection-unknown', `There is no projection ${only}${suggestion(only, known)}`, {
    mend: '`millrace projections list` lists them.',
  });
}

/** The documents of some types, by `Container/type`: those of archived types hot and cold. */
async function readTypes(
  types: readonly SourceRef[],
  { database, history }: { database: Database; history: History },
  archived: ReadonlySet<string>,
  signal: AbortSignal,
  screen: Screen,
): Promise<Map<string, Doc[]>> {
  const documents = new Map<string, Doc[]>(types.map((of) => [name(of), []]));
  let read = 0;
  const keep = (container: string, doc: Doc, cold: boolean): void => {
    const type = name({ container, type: String(doc['type']) });
    if (archived.has(type) === cold && !isEmptied(doc)) documents.get(type)?.push(doc);
    if (++read % 1_000 === 0) screen.progress('read for comparison', read);
  };
  const readContainer = async ([container, of]: readonly [string, readonly SourceRef[]]): Promise<void> => {
    const isArchived = of.map((type) => archived.has(name(type)));
    if (isArchived.includes(true))
      for await (const { doc = {} } of history.documents(container, signal)) keep(container, doc, true);
    if (isArchived.includes(false))
      for await (const doc of fetchAll<Doc>(database.container(container), 'SELECT * FROM c', signal))
        keep(container, doc, false);
  };
  await pMap(
    Map.groupBy(types, (type) => type.container),
    readContainer,
    { concurrency: 4 },
  );
  return documents;
}

type Compared = Omit<Difference, 'projections' | 'container'>;

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
    if (!row) yield { kind: 'unexpected', document, fields: [], found };
    else if (!isDeepStrictEqual(row, found)) {
      const fields = [...new Set([...Object.keys(row), ...Object.keys(found)])].filter(
        (field) => canonical(row[field]) !== canonical(found[field]),
      );
      yield { kind: 'different', document, fields, expected: row, found };
    }
  }
  for (const [document, row] of left) yield { kind: 'missing', document, fields: [], expected: row };
}

export function formatVerification({ projections, documents, different, differences }: Verification): string {
  const lines = [
    table(
      ['projection', 'documents', 'refused'],
      projections.map(({ id, expected, refused }) => [id, expected, refused]),
    ),
    '',
    `Worked out anew from ${plural(documents.sources, 'source document')} and compared with ${plural(documents.found, 'sink document')}: ${
      different === 0 ? 'no difference.' : plural(different, 'difference')
    }`,
  ];
  for (const { kind, container, document, fields, expected, found } of differences.slice(0, PRINTED)) {
    lines.push(`  ${kind}: ${container} ${document}${fields.length === 0 ? '' : ` in ${fields.join(', ')}`}`);
    for (const field of fields)
      lines.push(`    ${field}: expected ${canonical(expected?.[field])}, found ${canonical(found?.[field])}`);
  }
  if (different > PRINTED)
    lines.push(`  … and ${plural(different - PRINTED, 'other')}; --json shows up to ${SHOWN.toLocaleString('en-US')}.`);
  return lines.join('\n');
}

export const projectionsVerify = defineOperation({
  noun: 'projections',
  verb: 'verify',
  summary: 'Work projections out anew and compare them with what is stored, document by document',
  examples: ['millrace projections verify', 'millrace projections verify route-totals --json'],
  effect: 'reads',
  argument: 'name',
  input: z.object({
    name: z.string().optional().describe('one projection; all of them if absent. Stop what writes to them first'),
  }),
  run: async ({ name: only }, { workspace, signal, screen }) =>
    verify(await workspace.pipeline(), await workspace.services(), { signal, screen, only }),
  format: formatVerification,
  ok: ({ different }) => different === 0,
});
