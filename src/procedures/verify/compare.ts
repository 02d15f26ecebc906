import { once } from '../../base/once.ts';
import type { Settings } from '../../base/settings.ts';
import { openPipelineHistory } from '../../runtime/archives.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { databasesOf } from '../projections/over-shards.ts';
import type { AskedTenant } from '../tenants/tenant-flag.ts';
import { HomeDocuments, homeShards } from './reading/home-shards.ts';
import { type Comparison, type LookOptions, look } from './look.ts';
import { type Drawn, NamedReading } from './reading/named-reading.ts';
import { type TypesReading, wholeReading } from './reading/whole-reading.ts';

export interface CompareOptions extends LookOptions {
  readonly signal: AbortSignal;
  readonly readLagMs: number | undefined;
  /** Absent: no process writes meanwhile. */
  readonly settings?: Settings | undefined;
  /** Reads what this tenant's sink documents need. Others may be compared too, and may then differ wrongly. */
  readonly ofTenant?: AskedTenant | undefined;
  /** The documents to compare. Absent: all. */
  readonly drawn?: Drawn | undefined;
}

/**
 * Reads source documents, archived ones included, and sink documents once, recomputes, and compares. Of some documents: what
 * comes from the source documents drawn, and the sink documents drawn, from the sources that they name. A document that
 * should not exist is found if it was drawn, a missing one if a source of it was.
 */
export async function compare(
  loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  services: Services,
  options: CompareOptions,
): Promise<Comparison> {
  const { signal, screen, settings, drawn, readLagMs } = options;
  const types: TypesReading = {
    ...loaded,
    databases: await databasesOf(loaded.pipeline, services),
    homes: new HomeDocuments(await homeShards(loaded, services, settings)),
    history: once(() => openPipelineHistory(loaded, services, { signal, readLagMs })),
    signal,
    screen,
  };
  const reading = drawn
    ? new NamedReading(loaded, services, drawn, types)
    : await wholeReading(loaded, services, types, options);
  return look(loaded, services, reading, options);
}
