// Where reactions, publishes, sends and custom runners begin on the account: what is recorded, or what a host would record.
import { type Pipeline, type StartSpec, projectionId } from '../../pipeline/specs.ts';
import { sourcesOf } from '../../pipeline/pipeline.ts';
import { startOf } from '../../pipeline/start.ts';
import { type RecordedStart, readStarts } from '../../engine/views/starts.ts';
import { Views } from '../../engine/views/views.ts';
import { countDocuments } from '../projections/estimate.ts';
import type { Services } from '../../runtime/workspace.ts';
import { plural } from '../table.ts';

export interface PlannedStart {
  readonly id: string;
  readonly start: StartSpec;
  /** When a host recorded it; null: the next host that starts will. */
  readonly recordedAt: string | null;
  /** What is declared, if something else is recorded: a start is recorded once for a version. */
  readonly declared?: StartSpec;
  /** Its source documents, by the service's count. */
  readonly documents: number;
  /** How many of them it passes over unless they are written again. By their time, so the last second is uncertain. */
  readonly below: number;
  /** How it gets what was before; absent if it gets everything. */
  readonly command?: string;
}

/** @throws UsageError if the account can't be reached */
export async function plannedStarts(pipeline: Pipeline, services: Services): Promise<PlannedStart[]> {
  const recorded = await readStarts(services.place.state, pipeline.name);
  const runs = recorded !== undefined || (await new Views(services.global.state, pipeline.name).read()) !== undefined;
  return Promise.all(
    [...pipeline.effects, ...pipeline.publishes].map(async (spec): Promise<PlannedStart> => {
      const id = projectionId(spec);
      const known: RecordedStart | undefined = recorded?.[id];
      const start = known?.start ?? startOf(spec);
      const until = start === 'beginning' ? 0 : start === 'now' ? (known?.at ?? Infinity) : start;
      let [documents, below] = [0, 0];
      for (const of of sourcesOf(spec)) {
        const all = await countDocuments(of, services.place.database, pipeline.sources);
        documents += all;
        const before = typeof until === 'string' ? new Date(until) : undefined;
        if (until === Infinity) below += all;
        else if (before) below += await countDocuments(of, services.place.database, pipeline.sources, before);
      }
      const late = start === 'beginning' && !known && runs;
      return {
        id,
        start,
        recordedAt: known?.at ?? null,
        ...(start !== startOf(spec) && { declared: startOf(spec) }),
        documents,
        below,
        ...((late || below > 0) && { command: `millrace projections replay ${spec.name}` }),
      };
    }),
  );
}

export function sayStart({ id, start, recordedAt, declared, documents, below, command }: PlannedStart): string {
  const where =
    start === 'now'
      ? recordedAt === null
        ? 'begins now, when the next host starts'
        : `begins at ${recordedAt}`
      : start === 'beginning'
        ? 'begins at the beginning'
        : `begins at ${start}`;
  const state = recordedAt === null ? 'not recorded yet' : `recorded at ${recordedAt}`;
  const other = declared === undefined ? '' : `, and its declaration says ${declared}, which counts for a new version`;
  const what =
    below > 0
      ? `passes over ${below.toLocaleString('en-US')} of ${plural(documents, 'document')} until they are written again`
      : command === undefined
        ? `all of ${plural(documents, 'document')} count`
        : `the pipeline already runs, so it gets only what the leases have not passed, of ${plural(documents, 'document')}`;
  return `${id}: ${where} (${state}${other}): ${what}${command === undefined ? '' : `. \`${command}\` gives it what was before`}`;
}
