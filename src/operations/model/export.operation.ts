import { z } from 'zod';
import type { Documents } from '../../model/documents.ts';
import type { Place } from '../../model/model.ts';
import { defineOperation } from '../operation.ts';
import { type Exported, exported } from './export-schema.ts';
import { readPair, shortPath } from './pair.ts';
import { pipelineDirectory } from './settings.ts';

export const modelExport = defineOperation({
  noun: 'model',
  verb: 'export',
  summary: 'Print what both modelling documents state as JSON, or the JSON Schema of that',
  examples: ['millrace model export examples/flights > model.json', 'millrace model export --schema'],
  effect: 'reads',
  argument: 'directory',
  input: z.object({
    directory: pipelineDirectory,
    schema: z.boolean().default(false).describe('print the JSON Schema; no document is read'),
  }),
  run: async ({ directory, schema }, { workspace }): Promise<object> => {
    if (schema) return z.toJSONSchema(exported);
    const { documents } = await readPair(workspace, directory);
    return exportOf(documents, ({ file, line }) => ({ file: shortPath(workspace.directory, file), line }));
  },
  format: (result) => JSON.stringify(result, null, 2),
});

export function exportOf({ design, requirements }: Documents, at: (place: Place) => Place): Exported {
  return exported.parse({
    form: 'millrace-model/1',
    title: design?.title ?? requirements?.title ?? '',
    containers: (design?.containers ?? []).map(({ container, size, derived }) => ({
      ...container,
      derived,
      types: container.types.map((type) => ({ ...type, at: at(type.at) })),
      documentBytes: size,
      at: at(container.at),
    })),
    patterns: (requirements?.patterns ?? []).map((pattern) => ({
      ...pattern,
      peak: pattern.rate?.peak,
      average: pattern.rate?.average,
      at: at(pattern.at),
    })),
    accesses: (design?.mapping ?? []).map((row) => ({ ...row, patterns: row.ids, at: at(row.at) })),
    projections: (design?.projections ?? []).map((row) => ({
      ...row,
      keys: row.keyText,
      fields: row.fieldsText,
      maxLagMs: row.lagMs,
      at: at(row.at),
    })),
  });
}
