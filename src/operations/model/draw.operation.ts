import { z } from 'zod';
import { operationsError } from '../errors.ts';
import { defineOperation } from '../operation.ts';
import { graphOf } from './draw/graph.ts';
import { mermaidOf } from './draw/mermaid.ts';
import { svgOf } from './draw/svg.ts';
import { readPair } from './pair.ts';
import { pipelineDirectory } from './settings.ts';

export const modelDraw = defineOperation({
  noun: 'model',
  verb: 'draw',
  summary: 'Draw containers, keys, types and projections as SVG or Mermaid',
  examples: ['millrace model draw > model.svg', 'millrace model draw examples/flights --as mermaid'],
  effect: 'reads',
  argument: 'directory',
  input: z.object({
    directory: pipelineDirectory,
    as: z.enum(['svg', 'mermaid']).default('svg').describe('format of the drawing'),
  }),
  run: async ({ directory, as }, { workspace }) => {
    const { design } = (await readPair(workspace, directory)).documents;
    if (!design)
      throw operationsError('model-missing', 'There is no data-model document to draw', {
        hint: 'Write cosmosdb_data_model.md, or draft it with `millrace model import`.',
      });
    const graph = graphOf(design);
    return { ...graph, as, drawing: as === 'svg' ? svgOf(graph, true) : mermaidOf(graph) };
  },
  format: ({ drawing }) => drawing,
});
