import type { Container, Model, ShardedContainers } from '../model.ts';
import { type ContainerOf, type ModelCode, type TypesOfContainer, documentFields } from './define-model.ts';

type Examples = Readonly<Record<string, Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>>>;

/** Example documents by container and type; absent where there are none. */
export type CodeExamples = Examples;

/** The model of a `model.ts`. Its lines aren't known. */
export function toModel({ containers }: ModelCode, file: string, examples: CodeExamples = {}): Model {
  const at = { file, line: 1 };
  const all = Object.entries(containers);
  const shards = shardsOf(all, file);
  return {
    title: 'model.ts',
    file,
    containers: all.map(([name, { key, types, ttl, unique, vectors, index, throughput, reference }]): Container => ({
      name,
      partitionKey: key,
      types: Object.entries(types).map(([type, document]) => ({
        name: type,
        fields: documentFields(type, document),
        examples: examples[name]?.[type] ?? [],
        at,
      })),
      ...(index && { indexingPolicy: index }),
      ...(ttl !== undefined && { defaultTtl: ttl === 'per document' ? -1 : ttl }),
      ...(unique && { uniqueKeys: unique.map((paths) => ({ paths })) }),
      ...(vectors && { vectors }),
      ...(throughput && { throughput }),
      ...(reference && { reference }),
      at,
      places: {},
    })),
    ...(shards && { shardMaps: [shards] }),
    findings: [],
  };
}

function shardsOf(
  all: readonly (readonly [string, ContainerOf<TypesOfContainer>])[],
  file: string,
): ShardedContainers | undefined {
  if (all.every(([, { shards }]) => shards === undefined)) return undefined;
  return {
    sharded: Object.fromEntries(
      all.filter(([, { shards }]) => shards === 'spread').map(([name, { key }]) => [name, key[0] ?? null]),
    ),
    reference: all.filter(([, { shards }]) => shards === 'every').map(([name]) => name),
    at: { file, line: 1 },
  };
}
