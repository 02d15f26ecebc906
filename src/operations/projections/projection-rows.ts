import { z } from 'zod';
import { UsageError } from '../../base/errors.ts';
import { failureOf } from '../../cosmos/failure.ts';
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
import { NO_VIEW, Views, type ViewsByName } from '../../engine/views/views.ts';
import { defineOperation } from '../operation.ts';
import { plural, table } from '../table.ts';
import type { Workspace } from '../../runtime/workspace.ts';

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

const rowOf = (spec: ProjectionSpec, views: ViewsByName | undefined): ProjectionRow => ({
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
const otherRows = ({ embeds, effects }: Pick<Pipeline, 'embeds' | 'effects'>): ProjectionRow[] =>
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
const streamRows = ({ publishes, ingests }: Pick<Pipeline, 'publishes' | 'ingests'>): ProjectionRow[] => [
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

/** The list of what is declared is of use without an account as well. */
async function readViews(workspace: Workspace, pipeline: string): Promise<ViewsByName | undefined> {
  try {
    return await new Views((await workspace.services()).state, pipeline).read();
  } catch (error) {
    if (error instanceof UsageError || failureOf(error).kind === 'not-found') return undefined;
    throw error;
  }
}

export const projectionsList = defineOperation({
  noun: 'projections',
  verb: 'list',
  summary: 'List what is derived from what',
  examples: ['millrace projections list', 'millrace projections list --pipeline examples/flights --json'],
  effect: 'reads',
  input: z.object({}),
  run: async (_, { workspace }) => {
    const { pipeline } = await workspace.pipeline();
    const views = await readViews(workspace, pipeline.name);
    const rows = pipeline.projections.map((spec) => rowOf(spec, views));
    return [...rows, ...otherRows(pipeline), ...streamRows(pipeline)];
  },
  format: (rows) =>
    `${table(
      ['projection', 'kind', 'from', 'into', 'with', 'on delete', 'state'],
      rows.map((row) => [row.id, row.kind, row.from, row.into, row.with.join(', '), row.onDelete ?? '', row.state]),
    )}\n${sayCounts(rows)}`,
});

function sayCounts(rows: readonly ProjectionRow[]): string {
  const of = (kind: ProjectionRow['kind']): number => rows.filter((row) => row.kind === kind).length;
  const [publishes, ingests] = [of('publish'), of('ingest')];
  return [
    plural(rows.length - publishes - ingests, 'projection'),
    ...(publishes > 0 ? [`${publishes} to event hubs`] : []),
    ...(ingests > 0 ? [`${ingests} from event hubs`] : []),
  ].join(', ');
}
