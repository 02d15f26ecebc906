// E9: what a vector index needs beside it.
import type { Design } from '../documents.ts';
import type { Place } from '../model.ts';
import { examplesIn } from './facts.ts';
import { type Rule, DESIGN, SOURCES, missing, n, together } from './rule.ts';

const POLICY = /vectorEmbedding|vector (embedding )?policy|distance ?function|\bdimensions\b/i;
/** A sentence on the length of a vector is no policy beside an empty list of indexes. */
const NAMED_POLICY = /vectorEmbedding|vector (embedding )?policy|distance ?function/i;
const EMPTY = /"?vectorIndexes"?\s*:\s*\[\s*\]/;
/** A flat index takes vectors up to this length. */
const FLAT_MOST = 505;
const FLAT = /\b(?:vector index|type)\b[^.|]{0,20}(?<!quantized[- _]?)\bflat\b/i;
const LENGTH = /\bdimensions?\b\W{1,8}(\d{3,5})\b|\b(\d{3,5})[- ]?(?:dimensions?|dim)\b/i;

/** The lines about a flat index, where a line states a vector that is too long for it. */
function flatIn({ lines, file }: Design): { readonly at: Place; readonly length: number; readonly stated: Place }[] {
  const vectors = lines.some((line) => /\bvector\b/i.test(line));
  const stated = lines.findIndex((line) => LENGTH.test(line));
  const [, before, after] = LENGTH.exec(lines[stated] ?? '') ?? [];
  const length = Number(before ?? after ?? 0);
  if (!vectors || length <= FLAT_MOST) return [];
  return lines.flatMap((line, index) =>
    FLAT.test(line) && /\bvector\b/i.test(lines.slice(Math.max(0, index - 3), index + 1).join(' '))
      ? [{ at: { file, line: index + 1 }, length, stated: { file, line: stated + 1 } }]
      : [],
  );
}

const isVector = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 1 && value.every((element) => typeof element === 'number');

export const VECTORS: readonly Rule[] = [
  {
    id: 'E9',
    title: 'A vector index has a vector policy',
    severity: 'error',
    source: SOURCES.microsoft('Vector search in Azure Cosmos DB for NoSQL'),
    why: 'The index needs a vector embedding policy of the container: the path, the data type, the number of dimensions and the distance function. Without it the container has no vectors to index. An index of the type `flat` takes at most 505 dimensions, `quantizedFlat` and `diskANN` 4,096 (ASM-E156).',
    hint: 'Add `vectorEmbeddingPolicy` with path, dataType, dimensions and distanceFunction.',
    needs: [DESIGN],
    *check(facts) {
      const lines = facts.design?.lines ?? [];
      const starts = (facts.design?.headings ?? []).map(({ at }) => at.line);
      const flat = facts.design ? flatIn(facts.design) : [];
      yield* together(
        flat,
        `A flat index takes vectors of at most ${FLAT_MOST} numbers, and these have ${n(flat[0]?.length ?? 0)}`,
        flat.slice(0, 1).map(({ stated }) => stated),
      );
      let known = lines.some((line) => /\bvector index/i.test(line)) && lines.some((line) => LENGTH.test(line));
      for (const { container, prose } of facts.containers) {
        const last = Math.max(container.at.line, ...prose.map(({ at }) => at.line));
        const end = Math.min(lines.length + 1, ...starts.filter((line) => line > last));
        const own = lines.slice(container.at.line - 1, end - 1).map((line) => line.replaceAll('*', ''));
        const at = own.findIndex((line) => /"?vectorIndexes"?\s*:(?!\s*\[\s*\])|\bvector index\b/i.test(line));
        if (at < 0) {
          // A document with a vector, in a design that searches by vectors and nowhere has a policy for them.
          const isOne = ([name, value]: readonly [string, unknown]): boolean =>
            /^(vector|embedding)s?$|(Vector|Embedding|_vector|_embedding)$/.test(name) && isVector(value);
          const vectors = examplesIn(container).filter((example) => Object.entries(example).some(isOne));
          const field = vectors.flatMap((example) => Object.entries(example)).find(isOne)?.[0];
          if (field === undefined) continue;
          const searched = lines.some((line) => /\b(vector|similarity|semantic) search\b|VectorDistance/i.test(line));
          const empty = lines.findIndex((line) => EMPTY.test(line));
          if (!searched || lines.some((line) => (empty < 0 ? POLICY : NAMED_POLICY).test(line))) continue;
          known = true;
          if (empty >= 0) {
            yield {
              message: `${container.name} has the vectors ${field}, but the policy lists no vector index, and the document states no vector policy: a search by them needs both`,
              at: { file: container.at.file, line: empty + 1 },
              related: [facts.field(vectors[0] ?? {}, field, container.at)],
              hint: 'Add `vectorEmbeddingPolicy` with path, dataType, dimensions and distanceFunction, and the path to `vectorIndexes`.',
            };
            continue;
          }
          yield {
            message: `${container.name} has the vectors ${field}, but the document states no vector policy, which a search by them needs`,
            at: {
              file: container.at.file,
              line:
                container.at.line +
                Math.max(
                  0,
                  own.findIndex((line) => line.includes(field)),
                ),
            },
          };
          continue;
        }
        known = true;
        if (!own.some((line) => POLICY.test(line)))
          yield {
            message: `${container.name} has a vector index, but no vector policy, which the index needs`,
            at: { file: container.at.file, line: container.at.line + at },
          };
      }
      if (!known) yield missing('a vector index');
    },
  },
];
