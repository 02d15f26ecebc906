import { z } from 'zod';
import { type ProjectionSpec, projectionId } from '../../definition/kinds.ts';
import { defineOperation } from '../operation.ts';
import { plural, table } from '../table.ts';

export interface ProjectionRow {
  readonly id: string;
  readonly kind: ProjectionSpec['kind'];
  readonly from: string;
  readonly into: string;
  /** Types joined in, as `name: Container/type`. */
  readonly with: readonly string[];
  readonly onDelete: 'remove' | 'keep';
}

const rowOf = (spec: ProjectionSpec): ProjectionRow => ({
  id: projectionId(spec),
  kind: spec.kind,
  from: `${spec.from.container}/${spec.from.type}`,
  into: `${spec.into.container}/${spec.into.type}`,
  with: spec.kind === 'copy' ? spec.joins.map(({ name, of }) => `${name}: ${of.container}/${of.type}`) : [],
  onDelete: spec.onDelete,
});

export const projectionsList = defineOperation({
  noun: 'projections',
  verb: 'list',
  summary: 'List what is derived from what',
  examples: ['millrace projections list', 'millrace projections list --pipeline examples/flights --json'],
  effect: 'reads',
  input: z.object({}),
  run: async (_, { workspace }) => (await workspace.pipeline()).pipeline.projections.map(rowOf),
  format: (rows) =>
    `${table(
      ['projection', 'kind', 'from', 'into', 'with', 'on delete'],
      rows.map((row) => [row.id, row.kind, row.from, row.into, row.with.join(', '), row.onDelete]),
    )}\n${plural(rows.length, 'projection')}`,
});
