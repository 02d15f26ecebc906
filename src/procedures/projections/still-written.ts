// Whether what a declaration reads is still written: a version that ends leaves its container as it is, and what is derived
// from that stands still, without an error anywhere.
import { same } from '../../pipeline/declaration.ts';
import { isProjection } from '../../pipeline/kind-facts.ts';
import { feedReaders, sourcesOf } from '../../pipeline/pipeline.ts';
import { type DerivedSpec, type Pipeline, type SourceRef, projectionId } from '../../pipeline/specs.ts';
import { isKept } from '../../engine/views/kept.ts';
import { NO_VIEW, type ViewVersion, type ViewsByName } from '../../engine/views/views.ts';
import { operationsError } from '../errors.ts';
import { splitId } from './choose.ts';
import { named } from './projection-rows.ts';

type Written = SourceRef & { readonly name: string; readonly version: number };

/** Hosts apply changes to it, or will: it is being built. What has no versions side by side is always applied. */
const isRun = (spec: DerivedSpec, views: ViewsByName): boolean => {
  const { current, staged } = views[spec.name] ?? NO_VIEW;
  return !isProjection(spec) || current?.version === spec.version || staged?.version === spec.version;
};

/** It may also become current again. */
export const isRunOrKept = (spec: DerivedSpec, views: ViewsByName): boolean => {
  const { previous } = views[spec.name] ?? NO_VIEW;
  return isRun(spec, views) || (previous?.version === spec.version && isKept(previous, Date.now()));
};

/**
 * Refuses the end of a version whose documents a declaration reads. `next`: the version that is current instead; it may write
 * the same type in the same container. `counts`: whether a declaration is in the way.
 * @throws UsageError `version-read`
 */
export function refuseRead(
  pipeline: Pipeline,
  views: ViewsByName,
  ended: Written,
  next?: ViewVersion | null,
  counts: (spec: DerivedSpec, views: ViewsByName) => boolean = () => true,
): void {
  if (next && same(next, ended)) return;
  const reader = feedReaders(pipeline).find(
    (spec) => counts(spec, views) && sourcesOf(spec).some((of) => same(of, ended)),
  );
  if (!reader) return;
  const unlike = next ? `, and ${projectionId({ name: ended.name, version: next.version })} does not` : '';
  throw operationsError(
    'version-read',
    `${projectionId(reader)} reads ${named(ended)}, which ${projectionId(ended)} writes${unlike}`,
    next ? { hint: wayOf(reader, ended, next, views) } : {},
  );
}

/** How a reader of a version that ends comes to read the next one. */
function wayOf(reader: DerivedSpec, ended: SourceRef, next: SourceRef, views: ViewsByName): string {
  const { name } = reader;
  const verb = (what: string): string => `\`millrace projections ${what}\``;
  if (!isProjection(reader))
    return `Let ${name} read ${named(next)} instead, and deploy that first. Then run this command again.`;
  const { staged, previous } = views[name] ?? NO_VIEW;
  const others = (of: ViewVersion | null): of is ViewVersion => of?.reads.some((one) => same(one, ended)) === false;
  if (staged?.version === reader.version)
    return `Drop it with ${verb(`drop ${projectionId(reader)}`)}, and build one that reads ${named(next)}. Then run this command again.`;
  if (previous?.version === reader.version)
    return `Hosts keep it until ${previous.keptUntil}; ${verb(`promote ${name} --keep 0`)} ends that earlier. Then run this command again.`;
  if (others(staged)) return `Promote ${name}@${staged.version} first: ${verb(`promote ${name}`)}.`;
  if (others(previous) && isKept(previous, Date.now()))
    return `Go back to ${name}@${previous.version} first: ${verb(`promote ${name} --back`)}.`;
  return `First declare a version of ${name} that reads ${named(next)}, deploy it, and run ${verb(`rebuild ${name}`)}, then ${verb(`promote ${name}`)}.`;
}

/** What only a version that was replaced has written; `until`: hosts keep that version so long, and write it meanwhile. */
export interface Unwritten {
  readonly of: SourceRef;
  readonly by: string;
  readonly until?: string | undefined;
}

/**
 * The first of some sources that no current version writes, though one did before. What an application writes is none, nor
 * is what a version writes that is being built, or comes later.
 */
export function unwrittenOf(
  reads: readonly SourceRef[],
  { projections }: Pick<Pipeline, 'projections'>,
  views: ViewsByName,
): Unwritten | undefined {
  const all = Object.entries(views);
  for (const of of reads) {
    if (all.some(([, { current, staged }]) => [current, staged].some((one) => one && same(one, of)))) continue;
    const [name, { previous } = NO_VIEW] = all.find(([, view]) => view.previous && same(view.previous, of)) ?? [];
    if (name !== undefined && previous) {
      const until = isKept(previous, Date.now()) ? previous.keptUntil : undefined;
      return { of, by: projectionId({ name, version: previous.version }), until };
    }
    const older = projections.find(
      (spec) => same(spec.into, of) && spec.version < (views[spec.name]?.current?.version ?? 0),
    );
    if (older) return { of, by: projectionId(older) };
  }
  return undefined;
}

/**
 * Refuses to make a version current that leaves a reader without a writer: one of what hosts write now and would not write
 * then, or the version itself, of what was written before. A reader's version that is only kept doesn't count: a reader goes
 * first.
 * @throws UsageError `version-read`
 */
export function assertStillWritten(pipeline: Pipeline, views: ViewsByName, name: string, next: ViewVersion): void {
  const { current, staged, previous } = views[name] ?? NO_VIEW;
  const left = staged?.version === next.version ? null : staged;
  const then = { ...views, [name]: { ...NO_VIEW, current: next, staged: left } };
  for (const ended of [current, isKept(previous, Date.now()) ? previous : null])
    if (ended) refuseRead(pipeline, then, { ...ended, name }, next, isRun);
  const unwritten = unwrittenOf(next.reads, pipeline, then);
  if (!unwritten || unwritten.until !== undefined) return;
  throw operationsError('version-read', `${projectionId({ name, version: next.version })} ${sayUnwritten(unwritten)}`, {
    hint: readAnother(name, unwritten, views),
  });
}

/** Hosts no longer keep the version before. @throws UsageError `version-read` */
export function assertEndable(pipeline: Pipeline, views: ViewsByName, name: string): void {
  const { current, previous } = views[name] ?? NO_VIEW;
  if (previous && isKept(previous, Date.now())) refuseRead(pipeline, views, { ...previous, name }, current, isRun);
}

export const sayUnwritten = ({ of, by, until }: Unwritten): string =>
  until === undefined
    ? `reads ${named(of)}, which ${by} wrote and no version writes any more: it stands still`
    : `reads ${named(of)}, which ${by} alone writes, and hosts keep that until ${until}`;

export function readAnother(name: string, { by }: Unwritten, views: ViewsByName): string {
  const current = views[splitId(by).name]?.current;
  const other = current ? named(current) : 'another source';
  return `Declare a version of ${name} that reads ${other}, deploy it, and run \`millrace projections rebuild ${name}\`, then \`millrace projections promote ${name}\`.`;
}
