import { isObject } from './json.ts';
import { pointerPart } from './json-pointer.ts';

/** Beyond this no 64-bit integer lies, so a whole number there was written as a double. */
const LARGEST = 2 ** 64;

/**
 * Whether a number that was read of JSON may be another one than its writer wrote: the service keeps 64-bit integers, and
 * JSON.parse rounds those beyond 2^53 without an error (ASM-E90). A double of that size is taken for one too.
 */
export const mayBeRounded = (value: number): boolean =>
  Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) <= LARGEST;

export const sayRounded = (value: number): string =>
  `is the whole number ${value} beyond 2^53, which JavaScript may have rounded`;

/** Where a value that was read has a number that may be rounded, and what it is; undefined: nowhere. */
export function roundedIn(value: unknown, path = ''): string | undefined {
  if (typeof value === 'number') return mayBeRounded(value) ? `${path} ${sayRounded(value)}` : undefined;
  if (!isObject(value) && !Array.isArray(value)) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const found = roundedIn(member, `${path}/${pointerPart(name)}`);
    if (found !== undefined) return found;
  }
  return undefined;
}
