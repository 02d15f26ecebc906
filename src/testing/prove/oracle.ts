// All documents that a database must hold, given what applications wrote into it. Code that shares nothing with the
// projections recomputes the derived ones.
import type { Doc, Pipeline, SourceRef } from '../../definition/specs.ts';
import { isOfType, typeRules } from '../../definition/discriminator.ts';
import { recompute, visible } from '../../definition/oracle/recompute.ts';
import { recomputeEmbeds } from '../../definition/oracle/recompute-embeds.ts';
import type { Model } from '../../model/model.ts';

/** Documents by container. */
export type ByContainer = ReadonlyMap<string, readonly Doc[]>;

export const refName = ({ container, type }: SourceRef): string => `${container}/${type}`;

/** Types that projections write; no application may write them. */
export const derivedTypes = ({ projections }: Pick<Pipeline, 'projections'>): ReadonlySet<string> =>
  new Set(projections.map(({ into }) => refName(into)));

/** Types of the model that applications write. */
export function sourceTypes({ pipeline, model }: { pipeline: Pipeline; model: Model }): SourceRef[] {
  const derived = derivedTypes(pipeline);
  return model.containers
    .flatMap(({ name, types }) => types.map((type) => ({ container: name, type: type.name })))
    .filter((of) => !derived.has(refName(of)));
}

/**
 * `stored`: every document of every container, as read from the database. `cold`: archived documents; they are sources
 * that don't change, and the result doesn't contain them.
 */
export function expectedDocuments(
  { pipeline, model }: { pipeline: Pipeline; model: Model },
  stored: ByContainer,
  cold: ByContainer = new Map(),
): Map<string, Doc[]> {
  const { sources, projections, embeds } = pipeline;
  const derived = derivedTypes(pipeline);
  const known = new Map<string, Doc[]>();
  const keyPaths = (name: string): readonly string[] =>
    model.containers.find((container) => container.name === name)?.partitionKey ?? [];
  const typed = (all: ByContainer, of: SourceRef): Doc[] =>
    (all.get(of.container) ?? []).filter((doc) => isOfType(of.type, typeRules(sources, of), doc));
  const written = (of: SourceRef): Doc[] => typed(stored, of);
  // A document that a projection refuses contributes nothing; the proof reports parked changes separately.
  const refused = (): void => undefined;
  const workedOut = (of: SourceRef): Doc[] => {
    if (derived.has(refName(of))) {
      const specs = projections.filter(({ into }) => refName(into) === refName(of));
      return specs.flatMap((spec) => [
        ...recompute(spec, history, sources, { keyPaths: keyPaths(of.container), refused }).values(),
      ]);
    }
    const specs = embeds.filter(({ into }) => refName(into) === refName(of));
    if (specs.length === 0) return written(of);
    const parents = (wanted: SourceRef): Doc[] => (refName(wanted) === refName(of) ? written(of) : history(wanted));
    return [...recomputeEmbeds(specs, parents, sources, refused)].map(({ expected }) => expected);
  };
  const documents = (of: SourceRef): Doc[] => {
    const before = known.get(refName(of));
    if (before) return before;
    const now = workedOut(of);
    known.set(refName(of), now);
    return now;
  };
  const history = (of: SourceRef): Doc[] => [...documents(of), ...typed(cold, of)];
  return new Map(
    model.containers.map(({ name, types }) => [
      name,
      types.flatMap((type) => documents({ container: name, type: type.name })).map(visible),
    ]),
  );
}
