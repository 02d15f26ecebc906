// E9: what a vector index needs beside it.
import { type Rule, DESIGN, SOURCES, missing } from './rule.ts';

export const VECTORS: readonly Rule[] = [
  {
    id: 'E9',
    title: 'A vector index has a vector policy',
    severity: 'error',
    source: SOURCES.microsoft('Vector search in Azure Cosmos DB for NoSQL'),
    why: 'The index needs a vector embedding policy of the container: the path, the data type, the number of dimensions and the distance function. Without it the container has no vectors to index.',
    hint: 'Add `vectorEmbeddingPolicy` with path, dataType, dimensions and distanceFunction.',
    needs: [DESIGN],
    *check(facts) {
      const lines = facts.design?.lines ?? [];
      const starts = (facts.design?.headings ?? []).map(({ at }) => at.line);
      let known = false;
      for (const { container, prose } of facts.containers) {
        const last = Math.max(container.at.line, ...prose.map(({ at }) => at.line));
        const end = Math.min(lines.length + 1, ...starts.filter((line) => line > last));
        const own = lines.slice(container.at.line - 1, end - 1).map((line) => line.replaceAll('*', ''));
        const at = own.findIndex((line) => /"?vectorIndexes"?\s*:|\bvector index\b/i.test(line));
        if (at < 0) continue;
        known = true;
        if (
          !own.some((line) =>
            /vectorEmbedding|vector (embedding )?policy|distance ?function|\bdimensions\b/i.test(line),
          )
        )
          yield {
            message: `${container.name} has a vector index, but no vector policy, which the index needs`,
            at: { file: container.at.file, line: container.at.line + at },
          };
      }
      if (!known) yield missing('a vector index');
    },
  },
];
