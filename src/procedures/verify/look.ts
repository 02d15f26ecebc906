// The comparison: stored sink documents with those that the sources determine. Whole, sample, page and tenant differ in what
// is read, which a `Reading` says; everything else is here once.
import type { Container } from '@azure/cosmos';
import { keyPathsOf } from '../../model/model.ts';
import { sourcesOf } from '../../pipeline/pipeline.ts';
import {
  type CopySpec,
  type Doc,
  type EmbedSpec,
  type OutsideSpec,
  type ProjectionSpec,
  type SourceRef,
  isOutside,
  projectionId,
  waitsFor,
} from '../../pipeline/specs.ts';
import { rowKey } from '../../pipeline/oracle/recompute.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import type { ContributionDocument } from '../../kinds/aggregate/contribution.ts';
import { letterStates } from '../projections/over-shards.ts';
import type { Screen } from '../screen.ts';
import type { Counts } from './asked-part.ts';
import { type ContributionPart, checkContributions } from './contributions.ts';
import type { Candidate } from './difference.ts';
import { type ParkedDocument, parkedOf } from './parked.ts';
import { SinkLook } from './sink-look.ts';
import { type OtherComparison, type OtherSpec, type StoredRow, checkChildren, checkRows } from './verify-others.ts';

/** One comparison of stored documents with those that the sources determine. */
export interface Comparison {
  readonly projections: readonly { id: string; expected: number; refused: number }[];
  readonly documents: { readonly sources: number; readonly expected: number; readonly found: number };
  readonly differences: readonly Candidate[];
  /** Source documents whose newest version is parked; nothing is expected of them. */
  readonly parked: readonly ParkedDocument[];
  /** Groups that were not recomputed, because they have too many source documents. */
  readonly largeGroups: number;
}

/** Documents of types, by `Container/type`. */
export type ByType = ReadonlyMap<string, readonly Doc[]>;

/** What is compared of one projection: its source documents, and the places that count. */
export interface Part {
  readonly docs: ByType;
  /** Default: every place. */
  readonly only?: (place: string) => boolean;
  /** Places whose documents can't be compared. */
  readonly unknown?: readonly string[];
  /** Groups that have contributions and no aggregate, too large to recompute. */
  readonly lost?: readonly Candidate[];
  readonly contributions?: readonly Contributions[];
  readonly largeGroups?: number;
}

/** Contributions to compare with those that source documents determine. */
export interface Contributions {
  readonly docs: readonly Doc[];
  readonly stored: AsyncIterable<ContributionDocument> | Iterable<ContributionDocument>;
  /** Default: all groups. */
  readonly groups?: ReadonlySet<string>;
}

/** What a comparison reads: all documents, or those that names determine. */
export interface Reading {
  /** The stored documents of a sink type. */
  sink(into: SourceRef): Promise<readonly Doc[]>;
  /** Those at the places of expected documents which `sink` has not read. */
  beside(into: SourceRef, places: readonly string[], read: readonly Doc[]): Promise<readonly Doc[]>;
  /** `stored`: what `sink` has read. */
  part(spec: ProjectionSpec, stored: readonly Doc[]): Promise<Part>;
  /** The source documents that say that they wait for a joined document, by `identityText`; undefined: not compared. */
  pending(spec: CopySpec): Promise<ReadonlySet<string> | undefined>;
  /** The children of a type, and their parents by type. */
  children(specs: readonly EmbedSpec[], into: SourceRef): Promise<{ children: readonly Doc[]; parents: ByType }>;
  /** Undefined: its rows are not compared. */
  rows(spec: OutsideSpec): Promise<{ docs: readonly Doc[]; stored: AsyncIterable<StoredRow> } | undefined>;
  /** The number of source documents read so far. */
  sources(): number;
}

export interface LookOptions {
  /** The versions to compare. */
  readonly chosen: readonly ProjectionSpec[];
  /** All versions that hosts update. Several may write one type, so the comparison is of all documents of a type. */
  readonly kept: readonly ProjectionSpec[];
  /** Embeds, and sinks outside the account that can list their content. */
  readonly others?: readonly OtherSpec[];
  /** Which sink documents are counted. Default: all. */
  readonly counts?: Counts | undefined;
  readonly screen: Pick<Screen, 'progress'>;
}

/** Recomputes what a reading has, and compares. */
export async function look(
  { pipeline, model }: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  services: Services,
  reading: Reading,
  { chosen, kept, others = [], counts, screen }: LookOptions,
): Promise<Comparison> {
  const pathsOf = (container: string): readonly string[] => keyPathsOf(model, container);
  const statesOf = (spec: ProjectionSpec | OutsideSpec): Promise<readonly Container[]> =>
    letterStates(spec, pipeline, services);
  const rules = pipeline.sources;
  const differences: Candidate[] = [];
  const parked: ParkedDocument[] = [];
  const projections: { id: string; expected: number; refused: number }[] = [];
  let [found, largeGroups] = [0, 0];
  for (const [sink, [{ into }]] of groupedBy(chosen, ({ into: of }) => nameOf(of))) {
    const specs = kept.filter((spec) => nameOf(spec.into) === sink);
    const keyPaths = pathsOf(into.container);
    const looked = new SinkLook(into.container, keyPaths);
    const stored = await reading.sink(into);
    for (const spec of specs) {
      const part = await reading.part(spec, stored);
      largeGroups += part.largeGroups ?? 0;
      const of = [...new Map(sourcesOf(spec).map((source) => [nameOf(source), source])).values()];
      const sources = of.flatMap((one) => {
        const docs = part.docs.get(nameOf(one));
        return docs ? [{ of: one, docs, keyPaths: pathsOf(one.container) }] : [];
      });
      const letters = await parkedOf(await statesOf(spec), projectionId(spec), sources);
      parked.push(...letters.documents);
      const own = (source: SourceRef): readonly Doc[] => letters.without(part.docs.get(nameOf(source)) ?? []);
      const context = { letters, rules, keyPathsOf: pathsOf, counts, ...(part.only && { only: part.only }) };
      projections.push({ id: projectionId(spec), ...looked.expect(spec, own, context) });
      for (const unsure of part.unknown ?? []) looked.contribution({ unsure });
      for (const lost of part.lost ?? []) looked.contribution(lost);
      if (spec.kind === 'aggregate') {
        const sourceKeys = pathsOf(spec.from.container);
        for (const { docs, stored: contributed, groups } of part.contributions ?? []) {
          const checked = { stored: contributed, letters, rules, keyPaths, sourceKeys };
          for await (const one of checkContributions(spec, letters.without(docs), checked))
            if (!groups || groups.has(groupOf(one))) looked.contribution(one);
        }
      } else if (spec.kind === 'copy' && waitsFor(spec)) {
        const waiting = await reading.pending(spec);
        if (waiting) looked.waiting(spec, waiting);
      }
    }
    const all = [...stored, ...(await reading.beside(into, looked.places(), stored))];
    found += counts ? all.filter((doc) => counts(rowKey(doc, keyPaths), into.container, doc)).length : all.length;
    differences.push(...looked.differences(all, specs.map(projectionId)));
    screen.progress('compared', found);
  }
  const add = (one: OtherComparison): void => {
    projections.push({ id: one.id, expected: one.expected, refused: one.refused });
    parked.push(...one.parked);
    differences.push(...one.differences);
    found += one.found;
  };
  const context = { pipeline, model, state: services.place.state, counts };
  const embeds = others.filter((spec) => spec.kind === 'embed');
  for (const [, [first, ...more]] of groupedBy(embeds, ({ into }) => nameOf(into))) {
    const { children, parents } = await reading.children([first, ...more], first.into);
    const documentsOf = (of: SourceRef): readonly Doc[] => parents.get(nameOf(of)) ?? [];
    for await (const one of checkChildren({ ...context, documentsOf }, [first, ...more], children)) add(one);
  }
  for (const spec of others.filter(isOutside)) {
    const rows = await reading.rows(spec);
    if (rows) add(await checkRows({ ...context, statesOf }, spec, rows.docs, rows.stored));
  }
  const expected = projections.reduce((sum, one) => sum + one.expected, 0);
  return { projections, documents: { sources: reading.sources(), expected, found }, differences, parked, largeGroups };
}

/** `Container/type`. */
export const nameOf = ({ container, type }: SourceRef): string => `${container}/${type}`;

const groupedBy = <T>(all: readonly T[], name: (one: T) => string): Map<string, [T, ...T[]]> =>
  Map.groupBy(all, name) as Map<string, [T, ...T[]]>;

const groupOf = (part: ContributionPart): string => ('unsure' in part ? part.unsure : part.document);
