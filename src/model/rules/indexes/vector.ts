// E9: what a vector index needs beside it.
import type { Design } from '../../documents.ts';
import type { SourceLine } from '../../model.ts';
import { examplesIn } from '../facts.ts';
import { type Rule, DESIGN, SOURCES, n, together } from '../rule.ts';

const INDEXES = /"?vectorIndexes"?\s*[:=]\s*\[(?!\s*\])/i;
/** A policy in JSON or in code, or a bullet that states one. */
const POLICY = /vector_?embedding|\bvector (?:embedding )?policy\b/i;
/** A flat index takes vectors up to this length. */
const FLAT_MOST = 505;
const FLAT = /"?type"?\s*[:=]\s*["']flat["']/i;
const LENGTH = /"?dimensions"?\s*[:=]\s*(\d+)/i;
/** A list of indexes has no more lines. */
const LONGEST = 10;

const isVector = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 1 && value.every((element) => typeof element === 'number');
const VECTOR = /^(?:vector|embedding)s?$|(?:Vector|Embedding|_vector|_embedding)$/;

interface Index {
  readonly at: SourceLine;
  /** Lines of its list that name the type flat. */
  readonly flat: readonly SourceLine[];
}

const indexesIn = ({ lines, file }: Design): Index[] =>
  lines.flatMap((line, index) => {
    if (!INDEXES.test(line)) return [];
    const own = lines.slice(index, index + LONGEST);
    const end = own.findIndex((one) => one.includes(']'));
    const flat = own
      .slice(0, end < 0 ? undefined : end + 1)
      .flatMap((one, offset) => (FLAT.test(one) ? [{ file, line: index + 1 + offset }] : []));
    return [{ at: { file, line: index + 1 }, flat }];
  });

export const VECTORS: readonly Rule[] = [
  {
    id: 'E9',
    title: 'A vector index has a vector policy',
    source: SOURCES.microsoft('Vector search in Azure Cosmos DB for NoSQL'),
    why: 'The index needs a vector embedding policy of the container: the path, the data type, the number of dimensions and the distance function (ASM-E168). Without it the container has no vectors to index, and a query with VectorDistance needs both. An index of the type `flat` takes at most 505 dimensions, `quantizedFlat` and `diskANN` 4,096 (ASM-E156).',
    hint: 'Add `vectorEmbeddingPolicy` with path, dataType, dimensions and distanceFunction.',
    needs: [DESIGN],
    *check(facts) {
      const { design } = facts;
      if (!design) return;
      const indexes = indexesIn(design);
      const stated = design.lines.findIndex((line) => LENGTH.test(line));
      const length = Number(LENGTH.exec(design.lines[stated] ?? '')?.[1] ?? 0);
      if (length > FLAT_MOST)
        yield* together(
          indexes.flatMap(({ flat }) => flat.map((at) => ({ at }))),
          `A flat index takes vectors of at most ${FLAT_MOST} numbers, and these have ${n(length)}`,
          [{ file: design.file, line: stated + 1 }],
        );
      if (design.lines.some((line) => POLICY.test(line))) return;
      yield* together(indexes, 'A vector index, but no vector policy, which the index needs');
      if (indexes.length > 0) return;
      // Vectors that a query searches by, without index and policy.
      for (const detail of facts.containers) {
        const search = facts
          .asked(detail)
          .find(({ queries }) => queries.some(({ text }) => /\bVectorDistance\s*\(/i.test(text)));
        const example = examplesIn(detail.container).find((one) =>
          Object.entries(one).some(([name, value]) => VECTOR.test(name) && isVector(value)),
        );
        if (search)
          yield {
            message: `${search.who} searches ${detail.container.name} by vectors, but the document states no vector policy`,
            at: search.at,
            ...(example && { related: [facts.example(example, detail.container.at)] }),
          };
      }
    },
  },
];
