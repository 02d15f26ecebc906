import {
  type EffectSpec,
  type EmbedSpec,
  type IngestSpec,
  type Pipeline,
  type ProjectionSpec,
  type SourceRef,
  projectionId,
} from '../../definition/specs.ts';
import { sourcesOf } from '../../definition/pipeline.ts';
import { NO_VIEW, type ViewsByName } from '../../engine/views/views.ts';

export interface ProjectionRow {
  readonly id: string;
  readonly kind: (ProjectionSpec | EmbedSpec | EffectSpec)['kind'] | 'publish' | 'ingest';
  readonly from: string;
  readonly into: string;
  /** Types joined in, as `name: Container/type`; what lists the tenants; what else a custom runner reads. */
  readonly with: readonly string[];
  /** null: a publish sends what happens, an ingest creates; neither takes back; of a custom runner it's the user's own affair. */
  readonly onDelete: 'remove' | 'keep' | null;
  /** `unknown`: there is no account to ask, or no host has read a change yet. */
  readonly state:
    | 'current'
    | 'filling'
    | 'filled'
    | 'frozen'
    | 'replaced'
    | 'not built'
    | 'idle'
    | 'unknown'
    | 'declared';
}

export const rowOf = (spec: ProjectionSpec, views: ViewsByName | undefined): ProjectionRow => ({
  id: projectionId(spec),
  kind: spec.kind,
  from: `${spec.from.container}/${spec.from.type}`,
  into: `${spec.into.container}/${spec.into.type}`,
  with: withOf(spec),
  onDelete: spec.onDelete,
  state: stateOf(spec, views),
});

const named = ({ container, type }: SourceRef): string => `${container}/${type}`;

function withOf(spec: ProjectionSpec): string[] {
  if (spec.kind === 'copy') return spec.joins.map(({ name, of }) => `${name}: ${named(of)}`);
  return spec.kind === 'reference' ? [`tenants: ${named(spec.tenants)}`] : [];
}

/** What writes into documents of others, or outside of the account: nothing that could be built beside what is there. */
export const otherRows = ({ embeds, effects }: Pick<Pipeline, 'embeds' | 'effects'>): ProjectionRow[] =>
  [...embeds, ...effects].map((spec) => {
    const [from, ...more] = sourcesOf(spec).map(named);
    return {
      id: projectionId(spec),
      kind: spec.kind,
      from: from ?? '',
      into: spec.kind === 'embed' ? named(spec.into) : '',
      with: spec.kind === 'custom' ? more : [],
      onDelete: spec.kind === 'custom' ? null : spec.onDelete,
      state: 'declared',
    };
  });

export function stateOf(
  { name, version }: Pick<ProjectionSpec, 'name' | 'version'>,
  views: ViewsByName | undefined,
): ProjectionRow['state'] {
  if (!views) return 'unknown';
  const { current, staged, previous } = views[name] ?? NO_VIEW;
  if (current?.version === version) return 'current';
  if (staged?.version === version) return staged.phase;
  if (previous?.version === version) return 'replaced';
  return current ? 'idle' : 'not built';
}

/** What goes to event hubs, and what comes from them. They have no versions to choose from. */
export const streamRows = ({ publishes, ingests }: Pick<Pipeline, 'publishes' | 'ingests'>): ProjectionRow[] => [
  ...publishes.map((spec) => ({
    id: projectionId(spec),
    kind: spec.kind,
    from: `${spec.from.container}/${spec.from.type}`,
    into: `event hub ${spec.to}`,
    with: [],
    onDelete: null,
    state: 'declared' as const,
  })),
  ...ingests.map((spec) => ({
    id: projectionId(spec),
    kind: spec.kind,
    from: sourceOfIngest(spec),
    into: `${spec.into.container}/${spec.into.type}`,
    with: [],
    onDelete: null,
    state: 'declared' as const,
  })),
];

export const sourceOfIngest = ({ from, consumerGroup }: IngestSpec): string => `event hub ${from} (${consumerGroup})`;
