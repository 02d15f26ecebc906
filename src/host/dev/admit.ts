import { refusalOfId } from '../../base/item-id.ts';
import { roundedIn } from '../../base/whole-numbers.ts';
import { isKeyLevel } from '../../base/key-level.ts';
import { type KeyPath, storedKey, valueAtPath } from '../../cosmos/paths.ts';
import type { Step } from '../../pipeline/workload.ts';
import type { Key } from '../../feed/reading/change.ts';

/** Bytes of UTF-8 that a document may have in Cosmos DB (service quotas: maximum size of an item). */
export const MAX_DOCUMENT = 2 * 1024 * 1024;
const MAX_KEY = 2_048;

/** A step that passed the check, with its full key and its size in bytes. */
export interface Admitted {
  readonly step: Step;
  readonly key: Key;
  readonly id: string;
  readonly bytes: number;
}

/** Checks a document before it is sent, by Cosmos DB's own rules. Returns a text, the reason, if Cosmos DB would refuse it. */
export function admitSteps(step: Step, containers: ReadonlyMap<string, readonly KeyPath[]>): Admitted | string {
  const paths = containers.get(step.container);
  if (!paths) return `the model has no container ${step.container}`;
  if ('delete' in step) {
    const { key, id } = step.delete;
    if (key.length !== paths.length)
      return `its key has ${key.length} values, ${step.container} has ${paths.length} levels`;
    return refusedId(id) ?? { step, key, id, bytes: 0 };
  }
  const { upsert } = step;
  const refused = refusedId(upsert.id);
  if (refused !== undefined) return refused;
  const wrong = paths.find((path) => !isKeyLevel(valueAtPath(upsert, path) ?? null));
  if (wrong) return `its value at /${wrong.join('/')}, part of the partition key of ${step.container}, can't be a key`;
  const key = storedKey(upsert, paths);
  const tooLong = key.find((value) => typeof value === 'string' && Buffer.byteLength(value) > MAX_KEY);
  if (tooLong !== undefined) return `a partition key value is over ${MAX_KEY} bytes`;
  const rounded = roundedIn(upsert);
  if (rounded !== undefined) return `its ${rounded}`;
  const bytes = Buffer.byteLength(JSON.stringify(upsert));
  if (bytes > MAX_DOCUMENT) return `it has ${bytes.toLocaleString('en-US')} bytes; a document may have 2 MB`;
  return { step, key, id: upsert.id, bytes };
}

function refusedId(id: unknown): string | undefined {
  if (typeof id !== 'string') return 'its id is not a string';
  const why = refusalOfId(id);
  return why && `its id ${id === '' ? '' : `${JSON.stringify(id.slice(0, 60))} `}${why}`;
}
