import { z } from 'zod';
import { UsageError } from '../../base/errors.ts';
import { withRetry } from '../../cosmos/retry.ts';
import type { RangePosition } from '../../feed/reading/position.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { throwMissing } from '../../cosmos/container-missing.ts';
import { suggestion } from '../../base/near.ts';
import type { Services } from '../../runtime/workspace.ts';

const NAME = /^[^/\\#?\s]{1,100}$/;

/** A name becomes the id of a document. */
export const checkpointName = z.string().regex(NAME, 'has 1 to 100 characters, no blanks and none of / \\ # ?');

/** @throws UsageError `input-invalid` for what can be no name */
export function assertCheckpointName(name: string): void {
  if (NAME.test(name)) return;
  throw new UsageError('input-invalid', `No checkpoint can be called ${JSON.stringify(name)}`, {
    mend: '`millrace checkpoints list` lists those that there are.',
  });
}

/** Positions of one prefix's leases at one time. */
export interface SavedSet {
  readonly prefix: string;
  readonly container: string;
  /** The container's `_rid`: positions mean nothing in another container of the same name. */
  readonly rid: string;
  readonly positions: readonly RangePosition[];
}

/** Positions under a name, a document of the state container. */
export interface Checkpoint {
  readonly id: string;
  readonly pk: 'checkpoints';
  readonly type: 'millrace.checkpoint';
  /** ISO 8601 UTC. */
  readonly at: string;
  readonly actor: string;
  readonly sets: readonly SavedSet[];
}

export async function listCheckpoints({ state }: Services, signal: AbortSignal): Promise<Checkpoint[]> {
  const found: Checkpoint[] = [];
  const query = "SELECT * FROM c WHERE c.pk = 'checkpoints'";
  for await (const one of fetchAll<Checkpoint>(state, query, signal, { partitionKey: 'checkpoints' })) found.push(one);
  return found.toSorted((a, b) => (a.at < b.at ? -1 : 1));
}

/** @throws UsageError `checkpoint-unknown`, with a name that is near; `input-invalid` for what can be no name */
export async function readCheckpoint(services: Services, name: string, signal: AbortSignal): Promise<Checkpoint> {
  assertCheckpointName(name);
  const item = services.state.item(name, 'checkpoints');
  const { resource } = await withRetry(() => item.read<Checkpoint>(), { reads: true, signal }).catch(
    throwMissing(services.state),
  );
  if (resource) return resource;
  const names = (await listCheckpoints(services, signal)).map(({ id }) => id);
  throw new UsageError('checkpoint-unknown', `There is no checkpoint ${name}${suggestion(name, names)}`, {
    mend: names.length === 0 ? 'Save one by `millrace checkpoints save NAME`.' : `There are: ${names.join(', ')}.`,
  });
}
