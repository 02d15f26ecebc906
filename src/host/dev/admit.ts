import { type KeyPath, fullKey } from '../../cosmos/paths.ts';
import type { Step } from '../../definition/workload.ts';
import type { Key } from '../../feed/reading/change.ts';

/** Bytes of UTF-8 that a document may have in Cosmos DB (service quotas: maximum size of an item). */
export const MAX_DOCUMENT = 2 * 1024 * 1024;
/** Bytes of an id (same page). */
const MAX_ID = 1_023;
const MAX_KEY = 2_048;

/** A step that may be written, with its full key and its size in bytes. */
export interface Admitted {
  readonly step: Step;
  readonly key: Key;
  readonly id: string;
  readonly bytes: number;
}

/** Checks a document at the edge, by the rules Cosmos DB itself would refuse it by; text: why it is refused. */
export function admit(step: Step, containers: ReadonlyMap<string, readonly KeyPath[]>): Admitted | string {
  const paths = containers.get(step.container);
  if (!paths) return `there is no container ${step.container} in the model`;
  if ('delete' in step) {
    const { key, id } = step.delete;
    if (key.length !== paths.length)
      return `its key has ${key.length} values, ${step.container} has ${paths.length} levels`;
    return refusedId(id) ?? { step, key, id, bytes: 0 };
  }
  const { upsert } = step;
  const refused = refusedId(upsert.id);
  if (refused !== undefined) return refused;
  const keyed = fullKey(upsert, paths);
  if ('missing' in keyed) return `it has no value at ${keyed.missing}, part of the partition key of ${step.container}`;
  const tooLong = keyed.key.find((value) => typeof value === 'string' && Buffer.byteLength(value) > MAX_KEY);
  if (tooLong !== undefined) return `a partition key value is over ${MAX_KEY} bytes`;
  const bytes = Buffer.byteLength(JSON.stringify(upsert));
  if (bytes > MAX_DOCUMENT)
    return `it has ${bytes.toLocaleString('en-US')} bytes, over the 2 MB that a document may have`;
  return { step, key: keyed.key, id: upsert.id, bytes };
}

function refusedId(id: unknown): string | undefined {
  if (typeof id !== 'string') return 'its id is no string';
  if (id === '') return 'its id is empty';
  if (Buffer.byteLength(id) > MAX_ID) return `its id is over ${MAX_ID} bytes`;
  if (/[/\\#?]/.test(id)) return `its id ${JSON.stringify(id.slice(0, 60))} has one of / \\ # ?, which are not allowed`;
  return undefined;
}
