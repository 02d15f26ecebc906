import type { KeyCodec } from './codec.ts';

/** Big-endian with the sign bit flipped, so that negative numbers come first. */
export const keyCodeOf = (value: bigint, bits: 32 | 64): string =>
  (value + (1n << BigInt(bits - 1))).toString(16).padStart(bits / 4, '0');

export const numberOf = (code: string, bits: 32 | 64): bigint => BigInt(`0x${code}`) - (1n << BigInt(bits - 1));

const fits = (value: bigint, bits: 32 | 64): boolean => BigInt.asIntN(bits, value) === value;

const encoded = (value: unknown, bits: 32 | 64): string | undefined => {
  const exact = typeof value === 'number' ? Number.isSafeInteger(value) : typeof value === 'bigint';
  if (!exact) return undefined;
  const number = BigInt(value as number | bigint);
  return fits(number, bits) ? keyCodeOf(number, bits) : undefined;
};

const DECIMAL = /^(0|-?[1-9]\d{0,18})$/;

export const int32: KeyCodec = {
  encode: (value) => encoded(value, 32),
  toJson: (code) => Number(numberOf(code, 32)),
  accepts: 'a whole number from -2147483648 to 2147483647',
};

/** In documents a text: a JSON number is exact only up to 2^53, and readers round beyond it without an error. */
export const int64: KeyCodec = {
  encode: (value) => encoded(typeof value === 'string' && DECIMAL.test(value) ? BigInt(value) : value, 64),
  toJson: (code) => numberOf(code, 64).toString(),
  accepts: 'a bigint, a whole number up to 2^53 - 1, or its decimal digits as text',
};
