import { isObject } from './json.ts';

/** The level of a partition key that a document lacks, in the form that the protocol, the client and JSON have for it. */
export type MissingLevel = Readonly<Record<string, never>>;

/** `null` is another value, and lies in another partition (ASM-A35). */
export const MISSING: MissingLevel = Object.freeze({});

/** One level of a stored document's partition key. */
export type KeyLevel = string | number | boolean | null | MissingLevel;

export const isMissing = (level: unknown): level is MissingLevel => isObject(level) && Object.keys(level).length === 0;

/** Whether a level has a value. */
export const isKeyValue = (value: unknown): value is string | number | boolean | null =>
  value === null || ['string', 'number', 'boolean'].includes(typeof value);

/** Whether the field of another document names a level by this value. Neither null nor a missing field does. */
export const namesLevel = (value: unknown): value is string | number | boolean => value !== null && isKeyValue(value);

/** Whether a person or a caller may give this as a level. */
export const isKeyLevel = (value: unknown): value is KeyLevel => isKeyValue(value) || isMissing(value);

/** The level that a document with this value at the key's path has. */
export const levelOf = (value: unknown): KeyLevel => (isKeyValue(value) ? value : MISSING);
