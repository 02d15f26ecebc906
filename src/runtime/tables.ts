// Binds the tables of a pipeline to its model and to a database.
import type { Settings } from '../base/settings.ts';
import { requirePostgresUrl } from '../base/settings.ts';
import type { Pipeline } from '../pipeline/specs.ts';
import { withRows } from '../pipeline/tables/bind.ts';
import { type TableLayout, layoutOf } from '../pipeline/tables/layout.ts';
import { type Database, openDatabase } from '../postgres/database.ts';
import { tableSink } from '../access/tables/table-sink.ts';
import type { LoadedPipeline } from './workspace.ts';

/** The database of the settings. It connects with the first transaction, so a pipeline without tables needs none. */
export function lazyDatabase(settings: () => Pick<Settings, 'postgresUrl'>): Database {
  let opened: Database | undefined;
  return {
    transaction: async (work, options) => {
      opened ??= openDatabase(requirePostgresUrl(settings()));
      return opened.transaction(work, options);
    },
    close: async () => opened?.close(),
  };
}

/** The same pipeline, whose tables write to the database. */
export function withTables(loaded: LoadedPipeline, database: Database): LoadedPipeline {
  const { pipeline, model } = loaded;
  const effects = pipeline.effects.map((spec) => {
    if (spec.kind !== 'table') return spec;
    const layout = layoutOf(spec, pipeline, model);
    return { ...withRows(spec, pipeline, model), to: tableSink({ layout, database }) };
  });
  return { ...loaded, pipeline: { ...pipeline, effects } };
}

/** The tables of a pipeline, lower versions first. */
export const layoutsOf = ({
  pipeline,
  model,
}: {
  readonly pipeline: Pick<Pipeline, 'effects' | 'sources' | 'tenant'>;
  readonly model: LoadedPipeline['model'];
}): TableLayout[] =>
  pipeline.effects
    .filter((spec) => spec.kind === 'table')
    .map((spec) => layoutOf(spec, pipeline, model))
    .toSorted((a, b) => a.version - b.version);
