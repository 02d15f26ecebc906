import { z } from 'zod';
import { sharedError } from '../../base/shared-errors.ts';
import type { UsageError } from '../../base/errors.ts';
import { readItem } from '../../cosmos/read-item.ts';
import { isRenumbered } from '../../feed/reading/epochs.ts';
import type { RangePosition } from '../../feed/reading/position.ts';
import { fetchList } from '../../cosmos/fetch-all.ts';
import { throwMissing } from '../../cosmos/container-missing.ts';
import { suggestion } from '../../base/near.ts';
import type { Services } from '../../runtime/workspace.ts';
import { operationsError } from '../errors.ts';

const NAME = /^[^/\\#?\s]{1,100}$/;

/** A checkpoint's name. It becomes the id of a document, so it can't have the characters that an id can't have. */
export const checkpointName = z.string().regex(NAME, 'must have 1 to 100 characters, without blanks or / \\ # ?');

/** @throws UsageError `input-invalid` if a checkpoint can't have this name */
export function assertCheckpointName(name: string): void {
  if (NAME.test(name)) return;
  throw operationsError('input-invalid', `${JSON.stringify(name)} is not a valid checkpoint name`, {
    hint: 'Run `millrace checkpoints list` to see the checkpoints.',
  });
}

/** Positions of one prefix's leases at one time. */
export interface SavedSet {
  readonly prefix: string;
  readonly container: string;
  /** The container's `_rid`: positions have no meaning in another container of the same name. */
  readonly rid: string;
  readonly positions: readonly RangePosition[];
  /** The epoch of the container when the positions were read. Absent: none was stored. */
  readonly epoch?: number;
}

/** A set of a checkpoint, compared with the container's numbering now. */
export interface ComparedSet extends SavedSet {
  /** The container may have used lsns of the positions again: a position may leave out changes since it was saved. */
  readonly renumbered: boolean;
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

export async function listCheckpoints({ global: { state } }: Services, signal: AbortSignal): Promise<Checkpoint[]> {
  const found = await fetchList<Checkpoint>(state, 'SELECT * FROM c', signal, { partitionKey: 'checkpoints' });
  return found.toSorted((a, b) => (a.at < b.at ? -1 : 1));
}

/** @throws UsageError `not-found`, with a similar name; `input-invalid` */
export async function readCheckpoint(services: Services, name: string, signal: AbortSignal): Promise<Checkpoint> {
  assertCheckpointName(name);
  const item = services.global.state.item(name, 'checkpoints');
  const stored = await readItem<Checkpoint>(item, { signal }).catch(throwMissing(services.global.state));
  if (stored) return stored;
  const names = (await listCheckpoints(services, signal)).map(({ id }) => id);
  throw sharedError('not-found', `There is no checkpoint ${name}${suggestion(name, names)}`, {
    hint: names.length === 0 ? 'Save one with `millrace checkpoints save NAME`.' : `Name one of: ${names.join(', ')}.`,
  });
}

/** @throws UsageError `not-found`, `input-invalid` */
export async function comparedSets(services: Services, name: string, signal: AbortSignal): Promise<ComparedSet[]> {
  const { sets } = await readCheckpoint(services, name, signal);
  return Promise.all(
    sets.map(async (set) => {
      const { container, rid, epoch } = set;
      return {
        ...set,
        renumbered: epoch !== undefined && (await isRenumbered(services.place.state, container, { rid, epoch })),
      };
    }),
  );
}

export const renumbered = (name: string, container: string): UsageError =>
  operationsError(
    'checkpoint-renumbered',
    `Since checkpoint ${name} was saved, ${container} may have lost changes and used their positions again`,
  );
