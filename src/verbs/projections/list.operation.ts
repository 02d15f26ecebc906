import type { Container } from '@azure/cosmos';
import { z } from 'zod';
import { UsageError } from '../../base/errors.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { readStarts } from '../../engine/views/starts.ts';
import { Views } from '../../engine/views/views.ts';
import { defineOperation } from '../operation.ts';
import { plural, textTable } from '../../procedures/table.ts';
import { splitId } from '../../procedures/projections/choose.ts';
import type { Workspace } from '../../runtime/workspace.ts';
import { sayBegin } from '../../procedures/rebuild/begins.ts';
import {
  type ListedProjection,
  projectionRowOf,
  otherRows,
  streamRows,
} from '../../procedures/projections/projection-rows.ts';

/** Undefined where no account is set, or nothing is stored: the list of the declared projections is useful even then. */
async function readIfAny<T>(workspace: Workspace, read: (state: Container) => Promise<T>): Promise<T | undefined> {
  try {
    return await read((await workspace.services()).global.state);
  } catch (error) {
    const unset = error instanceof UsageError && error.code === 'setting-missing';
    if (unset || failureOf(error).kind === 'not-found') return undefined;
    throw error;
  }
}

export const projectionsList = defineOperation({
  name: 'projections list',
  summary: 'List the projections with their sources, sinks and state',
  examples: ['millrace projections list', 'millrace projections list --pipeline examples/flights --json'],
  shards: 'every',
  effect: 'reads',
  input: z.object({}),
  run: async (_, { workspace }) => {
    const { pipeline } = await workspace.pipeline();
    const views = await readIfAny(workspace, (state) => new Views(state, pipeline.name).read());
    const rows = pipeline.projections.map((spec) => projectionRowOf(spec, views));
    const starts = await readIfAny(workspace, (state) => readStarts(state, pipeline.name));
    return [...rows, ...otherRows(pipeline, views), ...streamRows(pipeline, views)].map((row) => ({
      ...row,
      paused: Boolean(views?.[splitId(row.id).name]?.paused),
      /** Where it begins, once a host has recorded it. */
      start: starts?.[row.id] ?? null,
    }));
  },
  format: (rows) =>
    `${textTable(
      ['projection', 'kind', 'from', 'into', 'with', 'on delete', 'begins', 'state'],
      rows.map((row) => [
        row.id,
        row.kind,
        row.from,
        row.into,
        row.with.join(', '),
        row.onDelete ?? '',
        row.start ? sayBegin(row.start) : '',
        row.paused && row.state === 'current' ? 'current, paused' : row.state,
      ]),
    )}\n${sayCounts(rows)}`,
});

function sayCounts(rows: readonly Pick<ListedProjection, 'kind'>[]): string {
  const of = (kind: ListedProjection['kind']): number => rows.filter((row) => row.kind === kind).length;
  const [publishes, ingests] = [of('publish'), of('ingest')];
  return [
    plural(rows.length - publishes - ingests, 'projection'),
    ...(publishes > 0 ? [`${publishes} to event hubs`] : []),
    ...(ingests > 0 ? [`${ingests} from event hubs`] : []),
  ].join(', ');
}
