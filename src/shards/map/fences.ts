// A fence stands in the partition of a key, in each container of its shard that the schema names in `fenced`. It follows
// the local map: each operation sets it after the local map, and before the map shows the operation. SPEC-routing, ROUTE-F.
import type { Container, Database } from '@azure/cosmos';
import type { Clock } from '../../base/clock.ts';
import { formatOf } from '../../base/format.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { withRetry } from '../../cosmos/retry.ts';
import type { KeyJson } from '../keys/codec.ts';
import { keyJson } from '../keys/key-type.ts';
import type { MapFacts, MappingDocument, ShardLocation } from './documents.ts';

/** A key, and its mapping if that is online on the shard. */
export interface FencedKey {
  readonly code: string;
  readonly mapping: string | undefined;
}

/** Sets the fences of a shard, unless they were set at this generation or a later one. */
export type SetFences = (
  at: { readonly shard: string; readonly location: ShardLocation },
  keys: readonly FencedKey[],
  generation: number,
) => Promise<void>;

/** One for each shard: its generations are those of the local map, which a shard that is created again has from the start. */
export const fenceId = (shard: string): string => `millrace.fence|${shard}`;

/** The field of the key in a fenced container. */
export const fencedField = ({ sharded }: MapFacts['schema'], container: string): string => sharded[container]!.slice(1);

/** What the fences of a shard say after its local map lost and got mappings. */
export function fencedKeys(before: readonly MappingDocument[], after: readonly MappingDocument[]): FencedKey[] {
  const online = new Map(after.flatMap(({ low, status, id }) => (status === 'online' ? [[low, id] as const] : [])));
  const codes = new Set([...before, ...after].map(({ low }) => low));
  return [...codes].map((code) => ({ code, mapping: online.get(code) }));
}

/** Sets fences in the containers of a shard's database. */
export function fenceSetter(
  connect: (location: ShardLocation) => Database,
  { keyType, schema }: MapFacts,
  retry: { readonly clock: Clock; readonly withinMs: number },
): SetFences {
  return async ({ shard, location }, keys, generation) => {
    for (const name of schema.fenced ?? [])
      for (const { code, mapping = null } of keys) {
        const key = keyJson(keyType, code);
        const fence = { id: fenceId(shard), [fencedField(schema, name)]: key, mapping, generation };
        await setFence(connect(location).container(name), key, fence, retry);
      }
  };
}

interface Fence {
  readonly id: string;
  /** Null: the fence is closed. */
  readonly mapping: string | null;
  readonly generation: number;
}

/** By conditional patches, which need no ETag: every fenced write changes the document. Each step may be repeated. */
async function setFence(
  container: Container,
  key: KeyJson,
  fence: Fence,
  retry: { readonly clock: Clock; readonly withinMs: number },
): Promise<void> {
  const { id, mapping, generation } = fence;
  const patch = (): Promise<unknown> =>
    container.item(id, key).patch({
      condition: `from c where c.generation < ${generation}`,
      operations: [
        { op: 'set', path: '/mapping', value: mapping },
        { op: 'set', path: '/generation', value: generation },
      ],
    });
  const create = (): Promise<unknown> =>
    // It never expires, whatever the container's default is.
    container.items.create({ ...fence, type: 'millrace.fence', ...formatOf('fence'), ttl: -1, writes: 0 });
  const kindOf = (send: () => Promise<unknown>): Promise<string | undefined> =>
    withRetry(send, { ...retry, reads: true }).then(
      () => undefined,
      (error: unknown) => {
        const { kind } = failureOf(error);
        if (kind === 'precondition' || kind === 'conflict' || kind === 'not-found') return kind;
        throw error;
      },
    );
  if ((await kindOf(patch)) !== 'not-found') return;
  if ((await kindOf(create)) === undefined) return;
  // Another process created it meanwhile.
  await withRetry(patch, { ...retry, reads: true }).catch((error: unknown) => {
    if (failureOf(error).kind !== 'precondition') throw error;
  });
}
