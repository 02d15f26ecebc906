import { z } from 'zod';
import { UsageError } from '../../base/errors.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { Views, type ViewsByName } from '../../engine/views/views.ts';
import { defineOperation } from '../operation.ts';
import { plural, table } from '../table.ts';
import type { Workspace } from '../../runtime/workspace.ts';
import { type ProjectionRow, rowOf, otherRows, streamRows } from './projection-rows.ts';

/** Undefined without an account: the list of the declared projections is useful even then. */
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
  summary: 'List the declared projections with their sources, sinks and state',
  examples: ['millrace projections list', 'millrace projections list --pipeline examples/flights --json'],
  effect: 'reads',
  input: z.object({}),
  run: async (_, { workspace }) => {
    const { pipeline } = await workspace.pipeline();
    const views = await readViews(workspace, pipeline.name);
    const rows = pipeline.projections.map((spec) => rowOf(spec, views));
    return [...rows, ...otherRows(pipeline, views), ...streamRows(pipeline)];
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
