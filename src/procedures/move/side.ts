import type { Container, Database, PartitionKeyDefinition } from '@azure/cosmos';
import { sharedError } from '../../base/shared-errors.ts';
import { UsageError } from '../../base/errors.ts';
import { canonical } from '../../base/json.ts';
import { once } from '../../base/once.ts';
import { throwMissing } from '../../cosmos/container-missing.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { effectivePartitionKey } from '../../cosmos/effective-partition-key.ts';
import { keyHash } from '../../cosmos/key-definition.ts';
import { splitPath } from '../../cosmos/paths.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { type OpenChanges, openChanges } from '../../feed/processor/read-changes.ts';
import type { Key } from '../../feed/reading/change.ts';
import type { Shard, ShardMap } from '../../shards/index.ts';
import { shownLocation } from '../../shards/map/documents.ts';
import type { KeySpan } from '../../shards/keys/spans.ts';
import type { Side } from '../migrate/copy.ts';
import type { MigrationPart } from '../migrate/part.ts';
import { keyedPart } from './keyed-part.ts';

/** A shard, as a move works on it. */
export interface MovePlace {
  readonly shard: Shard;
  readonly database: Database;
  readonly endpoint: string;
  /** The state container of hosts that read the shard; undefined: it has none, so no host has read it. */
  readonly state: Container | undefined;
}

/** A sharded container on both sides, and the part of it that is moved. */
export interface MovedContainer {
  readonly name: string;
  readonly source: Container;
  readonly target: Container;
  readonly left: Side;
  readonly right: Side;
  readonly part: MigrationPart;
  /** The source's feed of the part. It stays open, so that a reading within the pause is one request a range. */
  readonly feed: () => Promise<OpenChanges>;
  /** Where a full key of the source is in its feed. */
  readonly hashOf: (key: Key) => string;
}

/** @throws UsageError `container-missing`, `container-unfit` */
export async function movedContainers(
  map: ShardMap,
  span: KeySpan,
  { from, to }: { readonly from: MovePlace; readonly to: MovePlace },
): Promise<MovedContainer[]> {
  const moved = Object.entries(map.schema.sharded).map(async ([name, path]) => {
    const [source, target] = [from.database.container(name), to.database.container(name)];
    const [left, right] = await Promise.all([definitionOf(source), definitionOf(target)]);
    if (canonical(left.side.keyPaths) !== canonical(right.side.keyPaths))
      throw sharedError(
        'container-unfit',
        `The key of ${name} in ${shownLocation(to.shard.location)} is another one than in ${shownLocation(from.shard.location)}`,
      );
    const { kind, version } = keyHash(left.key);
    if (canonical(keyHash(right.key)) !== canonical({ kind, version }))
      throw sharedError('container-unfit', `${name} hashes its key in another way in each shard`);
    const hashOf = (key: Key): string => effectivePartitionKey(key, kind, version);
    const part = keyedPart(map, span, path, left.key);
    const feed = once(() => openChanges(source, part));
    return { name, source, target, left: left.side, right: right.side, part, feed, hashOf };
  });
  return Promise.all(moved);
}

export async function definitionOf(
  container: Container,
): Promise<{ side: Side; key: PartitionKeyDefinition | undefined }> {
  const read = withRetry(() => container.read(), { reads: true });
  const { resource } = await read.catch(throwMissing(container));
  const key = resource?.partitionKey;
  const { defaultTtl, _rid: rid = '' } = resource ?? {};
  return { side: { container: container.id, keyPaths: (key?.paths ?? []).map(splitPath), defaultTtl, rid }, key };
}

/** The state container of a shard, if there is one. */
export async function stateOf(database: Database, name: string): Promise<Container | undefined> {
  const state = database.container(name);
  try {
    await withRetry(() => state.read(), { reads: true });
    return state;
  } catch (error) {
    if (!(error instanceof UsageError) && failureOf(error).kind === 'not-found') return undefined;
    throw error;
  }
}
