// Which projections' documents are also written by others, so that a version may bring no change to them.
import { pointerPart } from '../../base/json-pointer.ts';
import { type Model, containerOf } from '../../model/model.ts';
import { ref, same } from '../declaration.ts';
import { readByWhole } from './field-flow.ts';
import { sourcesOf } from '../pipeline.ts';
import type { EffectSpec, EmbedSpec, Pipeline, ProjectionSpec, PublishSpec, SourceRef } from '../specs.ts';

/** The fields of a type that are no change: those of `source()`, or the vectors of the container. */
export const ignoredOf = ({ sources }: Pick<Pipeline, 'sources'>, model: Model, of: SourceRef): readonly string[] =>
  sources.find((rules) => same(rules, of))?.ignore ??
  (containerOf(model, of.container)?.vectors ?? []).map(({ path }) => path);

/** The fields that embeds write into the documents of a type. */
export const embeddedPaths = (embeds: readonly EmbedSpec[], of: SourceRef): string[] =>
  embeds
    .filter(({ into }) => same(into, of))
    .flatMap(({ each, set }) =>
      Object.keys(set).map((field) =>
        each ? `/${pointerPart(each.field)}/*/${pointerPart(field)}` : `/${pointerPart(field)}`,
      ),
    );

/** Who writes into the documents of an effect besides their own writer. */
export interface Touched {
  /** The fields of a type that are no change. */
  readonly ignored: (of: SourceRef) => readonly string[];
  /** Of these, those that embeds write. Absent: what embeds write is a change. */
  readonly embedded?: (of: SourceRef) => readonly string[];
}

/** Undefined: nobody else is known to write into the documents, so each version of one is a change. */
export function touchedBy(spec: EffectSpec | PublishSpec, pipeline: Pipeline, model: Model): Touched | undefined {
  const { projections, embeds } = pipeline;
  if (spec.kind === 'table' || (spec.kind === 'custom' && spec.echoes !== false)) return undefined;
  const own = (of: SourceRef): readonly string[] => ignoredOf(pipeline, model, of);
  const writers = spec.kind === 'publish' ? [...projections, ...embeds] : embeds;
  const isTouched = sourcesOf(spec).some((of) => own(of).length > 0 || writers.some(({ into }) => same(into, of)));
  const isOnce = spec.kind === 'react' && spec.unfinished !== undefined;
  if (spec.kind === 'react' && !spec.echoes) {
    const embedded = (of: SourceRef): readonly string[] => embeddedPaths(embeds, of);
    return isTouched || isOnce ? { ignored: (of) => [...embedded(of), ...own(of)], embedded } : undefined;
  }
  const isOwn = spec.kind === 'publish' ? isTouched : sourcesOf(spec).some((of) => own(of).length > 0);
  return isOwn || isOnce ? { ignored: own } : undefined;
}

/**
 * The fields of a projection's sources that are no change and that its functions don't read, as the model's examples show.
 * Undefined: there are none, so it needs every version. A copy with joined documents needs every version of its own: a
 * change of a joined one makes it again from the version that it has (COPY-J1).
 */
export function unreadBy(
  spec: ProjectionSpec,
  pipeline: Pipeline,
  model: Model,
): ((of: SourceRef) => readonly string[]) | undefined {
  const reads = readByWhole(spec, model, pipeline.sources);
  const unread = new Map(
    sourcesOf(spec).map((of) => {
      const paths = ignoredOf(pipeline, model, of);
      const read = reads.get(ref(of));
      const isMadeAgain = spec.kind === 'copy' && spec.joins.length > 0 && same(spec.from, of);
      const isRead = isMadeAgain || !read || read.has('*') || paths.some((path) => read.has(path.split('/')[1] ?? ''));
      return [ref(of), isRead ? [] : paths] as const;
    }),
  );
  return [...unread.values()].some((paths) => paths.length > 0) ? (of) => unread.get(ref(of)) ?? [] : undefined;
}
