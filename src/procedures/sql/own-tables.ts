import { wholeDdl } from '../../pipeline/tables/whole-ddl.ts';
import { layoutsOf } from '../../runtime/tables.ts';
import type { Workspace } from '../../runtime/workspace.ts';
import { pipelineIfAny } from '../pipeline-if-any.ts';

/** A DDL as `readDdl` takes it, and its tenant column. */
export interface OwnTables {
  readonly file: string;
  readonly text: string;
  readonly tenant?: string | undefined;
}

/** The tables of the workspace's pipeline, as a cluster with Citus has them. Undefined: there is no pipeline, or no table. */
export async function ownTables(workspace: Pick<Workspace, 'pipeline'>): Promise<OwnTables | undefined> {
  const loaded = await pipelineIfAny(workspace);
  const layouts = loaded ? layoutsOf(loaded) : [];
  if (layouts.length === 0) return undefined;
  const text = wholeDdl(layouts, { citus: true })
    .map((statement) => `${statement};`)
    .join('\n');
  return { file: 'the tables of the pipeline', text, tenant: layouts.find(({ tenant }) => tenant)?.tenant?.name };
}
