import { isMissing } from '../base/key-level.ts';
import { type KeyPath, fullKey } from '../cosmos/paths.ts';
import type { Key } from '../feed/reading/change.ts';
import { sharedError } from '../base/shared-errors.ts';

/** What a runner needs to know about the container that it writes to. */
export interface SinkContainer {
  readonly name: string;
  readonly keyPaths: readonly KeyPath[];
}

/** The full key of a sink document. @throws MillraceError `key-missing` */
export function sinkKey(sink: SinkContainer, document: object): Key {
  const keyed = fullKey(document, sink.keyPaths);
  if ('key' in keyed) return keyed.key;
  throw sharedError(
    'key-missing',
    `The document for ${sink.name} has no value at ${keyed.missing}, which is part of its partition key`,
    { hint: `Return ${keyed.missing.slice(1)} from \`map\` or \`groupBy\`.` },
  );
}

/** The fields that put a document of Millrace (a contribution, a tombstone) into the partition with this key. */
export function keyFields(sink: SinkContainer, key: Key): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [level, path] of sink.keyPaths.entries()) {
    if (isMissing(key[level])) continue;
    let target = fields;
    for (const name of path.slice(0, -1)) target = (target[name] ??= {}) as Record<string, unknown>;
    const last = path.at(-1);
    if (last !== undefined) target[last] = key[level];
  }
  return fields;
}
