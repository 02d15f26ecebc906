import { shardsError } from '../errors.ts';
import { shown } from '../../base/json.ts';
import { binaryBytes, guid, text } from './binary.ts';
import type { KeyCodec, KeyJson } from './codec.ts';
import { int32, int64 } from './integers.ts';
import { dateTime, dateTimeOffset, keyDuration } from './times.ts';

export const KEY_TYPES = {
  int32,
  int64,
  guid,
  bytes: binaryBytes,
  dateTime,
  dateTimeOffset,
  duration: keyDuration,
  text,
} as const;

export type KeyTypeName = keyof typeof KEY_TYPES;

/** Any form that a key type accepts. */
export type KeyValue = string | number | bigint | Date | Uint8Array;

/** The code of a key. @throws UsageError `shard-key-invalid` */
export function encodeKey(type: KeyTypeName, value: unknown): string {
  const codec: KeyCodec = KEY_TYPES[type];
  const code = codec.encode(value);
  if (code !== undefined) return code;
  throw shardsError('shard-key-invalid', `${shown(value)} is not a key of type ${type}`, {
    hint: `Give ${codec.accepts}.`,
  });
}

/** The form that documents have, of a code that this module made. */
export const keyJson = (type: KeyTypeName, code: string): KeyJson => KEY_TYPES[type].toJson(code);

/** A key for people. In documents an int64 is text, and it is a number all the same. */
export const shownKey = (type: KeyTypeName, key: KeyJson): string =>
  type === 'int64' ? String(key) : JSON.stringify(key);

/**
 * The value that a document has at the container's first key path, for a key in any form that its type accepts.
 * @throws UsageError `shard-key-invalid`
 */
export const keyForm = (type: KeyTypeName, value: KeyValue): KeyJson => keyJson(type, encodeKey(type, value));
