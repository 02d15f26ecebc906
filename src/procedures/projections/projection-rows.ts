import {
  type EffectSpec,
  type EmbedSpec,
  type IngestSpec,
  type Pipeline,
  type ProjectionSpec,
  type SourceRef,
  projectionId,
} from '../../pipeline/specs.ts';
import { sourcesOf } from '../../pipeline/pipeline.ts';
import { isKept } from '../../engine/views/kept.ts';
import { NO_VIEW, type ViewsByName } from '../../engine/views/views.ts';
import { splitId } from './choose.ts';

export interface ListedProjection {
  readonly id: string;
  readonly kind: (ProjectionSpec | EmbedSpec | EffectSpec)['kind'] | 'publish' | 'ingest';
  readonly from: string;
  readonly into: string;
  /** Joined types as `name: Container/type`, the type that lists tenants, or the other types that a custom runner reads. */
  readonly with: readonly string[];
  /** null: a publish or an ingest never takes anything back, and a custom runner decides for itself. */
  readonly onDelete: 'remove' | 'keep' | null;
  /** `unknown`: no account is set, or no host has read a change yet. */
  readonly state:
    | 'current'
    | 'resetting'
    | 'filling'
    | 'filled'
    | 'frozen'
    | 'kept'
    | 'replaced'
    | 'not built'
    | 'idle'
    | 'unknown';
}

export const projectionRowOf = (spec: ProjectionSpec, views: ViewsByName | undefined): ListedProjection => ({
  id: projectionId(spec),
  kind: spec.kind,
  from: `${spec.from.container}/${spec.from.type}`,
  into: `${spec.into.container}/${spec.into.type}`,
  with: withOf(spec),
  onDelete: spec.onDelete,
  state: projectionStateOf(spec, views),
});

export const named = ({ container, type }: SourceRef): string => `${container}/${type}`;

function withOf(spec: ProjectionSpec): string[] {
  if (spec.kind === 'copy') return spec.joins.map(({ name, of }) => `${name}: ${named(of)}`);
  return spec.kind === 'reference' ? [`tenants: ${named(spec.tenants)}`] : [];
}

/**
 * Embeds and effects: they write into other documents or outside the account, so they have no versions side by side.
 */
export const otherRows = (
  { embeds, effects }: Pick<Pipeline, 'embeds' | 'effects'>,
  views?: ViewsByName,
): ListedProjection[] =>
  [...embeds, ...effects].map((spec) => {
    const [from, ...more] = sourcesOf(spec).map(named);
    return {
      id: projectionId(spec),
      kind: spec.kind,
      from: from ?? '',
      into: spec.kind === 'embed' ? named(spec.into) : spec.kind === 'table' ? `table ${spec.table}` : '',
      with: spec.kind === 'custom' ? more : [],
      onDelete: spec.kind === 'custom' ? null : spec.onDelete,
      state: stateWithoutVersions(spec, views),
    };
  });

export function projectionStateOf(
  { name, version }: Pick<ProjectionSpec, 'name' | 'version'>,
  views: ViewsByName | undefined,
): ListedProjection['state'] {
  if (!views) return 'unknown';
  const { current, staged, previous } = views[name] ?? NO_VIEW;
  if (current?.version === version) return 'current';
  if (staged?.version === version) return staged.phase;
  if (previous?.version === version) return isKept(previous, Date.now()) ? 'kept' : 'replaced';
  return current ? 'idle' : 'not built';
}

/** Whether another version is current instead of `name@version`. */
export function isReplaced(id: string, views: ViewsByName | undefined): boolean {
  const { name, version } = splitId(id);
  const { current, staged } = views?.[name] ?? NO_VIEW;
  return current !== null && current.version !== version && staged?.version !== version;
}

/** Of what has no versions side by side: hosts run it, once they run the pipeline. A rebuild under way shows its phase. */
export function stateWithoutVersions(
  { name, version }: Pick<ProjectionSpec, 'name' | 'version'>,
  views: ViewsByName | undefined,
): ListedProjection['state'] {
  if (!views) return 'unknown';
  const staged = views[name]?.staged;
  return staged?.version === version ? staged.phase : 'current';
}

/** Publishes and ingests. They have no versions side by side. */
export const streamRows = (
  { publishes, ingests }: Pick<Pipeline, 'publishes' | 'ingests'>,
  views?: ViewsByName,
): ListedProjection[] => [
  ...publishes.map((spec) => ({
    id: projectionId(spec),
    kind: spec.kind,
    from: `${spec.from.container}/${spec.from.type}`,
    into: `event hub ${spec.to}`,
    with: [],
    onDelete: null,
    state: stateWithoutVersions(spec, views),
  })),
  ...ingests.map((spec) => ({
    id: projectionId(spec),
    kind: spec.kind,
    from: sourceOfIngest(spec),
    into: `${spec.into.container}/${spec.into.type}`,
    with: [],
    onDelete: null,
    state: stateWithoutVersions(spec, views),
  })),
];

export const sourceOfIngest = ({ from, consumerGroup }: IngestSpec): string => `event hub ${from} (${consumerGroup})`;
