import type { KeyCodec } from './codec.ts';

/** The longest key in bytes. */
const MOST_BYTES = 128;

const GUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;
const HEX = /^(?:[\da-f]{2})*$/i;

const textOf = (code: string): string => Buffer.from(code, 'hex').toString('utf8');

/** Ordered as its text is, which is not the order of SQL Server. */
export const guid: KeyCodec = {
  encode: (value) =>
    typeof value === 'string' && GUID.test(value) ? value.toLowerCase().replaceAll('-', '') : undefined,
  toJson: (code) => code.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
  accepts: 'a GUID as text, such as 5c0f6a0e-3b1c-4e0a-9d53-0c9a4b1a7f11, in any case',
};

/** Trailing zeros count: [1] and [1, 0] are different keys. */
export const binaryBytes: KeyCodec = {
  encode: (value) => {
    if (typeof value === 'string')
      return HEX.test(value) && value.length <= 2 * MOST_BYTES ? value.toLowerCase() : undefined;
    return value instanceof Uint8Array && value.length <= MOST_BYTES ? Buffer.from(value).toString('hex') : undefined;
  },
  toJson: (code) => code,
  accepts: `at most ${MOST_BYTES} bytes, as Uint8Array or hexadecimal text`,
};

/** Compared byte by byte in UTF-8: case and normalisation count. For list maps only. */
export const text: KeyCodec = {
  encode: (value) =>
    typeof value === 'string' && value.isWellFormed() && Buffer.byteLength(value) <= MOST_BYTES
      ? Buffer.from(value).toString('hex')
      : undefined,
  toJson: textOf,
  accepts: `text of at most ${MOST_BYTES} bytes in UTF-8, without half characters`,
};
