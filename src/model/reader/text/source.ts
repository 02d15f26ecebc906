// Reads the bytes of a document as text, and refuses files that can't be a modelling document.
import { readFile, stat } from 'node:fs/promises';
import { sharedError } from '../../../base/shared-errors.ts';
import { UsageError, messageOf } from '../../../base/errors.ts';
import { inTime } from './in-time.ts';

/** Bytes. Real pairs have 20 to 300 KB; a Markdown parser needs seconds for one megabyte of lists. */
export const LARGEST_DOCUMENT = 1_000_000;

/** @throws UsageError `unreadable`, `model-wrong` */
export async function readMarkdown(path: string): Promise<string> {
  let bytes: Buffer;
  try {
    const { size } = await stat(path);
    if (size > LARGEST_DOCUMENT) throw tooLarge(path, size);
    bytes = await readFile(path);
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    const directory = cause instanceof Error && 'code' in cause && cause.code === 'EISDIR';
    throw sharedError(
      'unreadable',
      `The document ${path} can't be read: ${directory ? 'it is a directory' : messageOf(cause)}`,
      { hint: 'Name a folder with `cosmosdb_data_model.md` and `cosmosdb_requirements.md`.', cause },
    );
  }
  return decode(bytes, path);
}

/**
 * Milliseconds: at least, and for each character. A document that is only lists needs a fifth of this for a character.
 * With thousands of lists or quotes, or of numbers in one cell, the time grows with the square of their number.
 */
const LONGEST = { least: 15_000, each: 0.03 };

/** The result of `parse`. @throws UsageError `model-wrong` if it takes too long for a text of this length */
export function parsed<T>(text: string, file: string, parse: () => T): T {
  const ms = Math.round(LONGEST.least + LONGEST.each * text.length);
  return inTime(ms, parse, (cause) => {
    const why = `${file} can't be read: reading it took more than ${Math.round(ms / 1_000)} s`;
    return sharedError('model-wrong', why, {
      hint: 'Look for thousands of separate lists or quotes, or thousands of numbers in one table cell, and remove them.',
      cause,
    });
  });
}

/** Without a byte order mark, and with the line ends that every expression of the reader and the rules expects. */
export const plainLines = (document: string): string => document.replace(/^\uFEFF/, '').replaceAll(/\r\n?/g, '\n');

const tooLarge = (path: string, size: number): UsageError =>
  sharedError(
    'model-wrong',
    `${path} has ${(size / 1e6).toFixed(1)} MB; a modelling document has ${LARGEST_DOCUMENT / 1e6} MB at most`,
    { hint: 'Check that the path names the modelling document. Move data and logs to other files.' },
  );

/** Text of a document's bytes, without its byte order mark. Throws the errors of `readDocument`. */
export function decode(bytes: Uint8Array, path: string): string {
  if (bytes.length > LARGEST_DOCUMENT) throw tooLarge(path, bytes.length);
  const wide = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  if (wide) throw encoding(path, 'it is UTF-16');
  const nul = bytes.indexOf(0);
  if (nul >= 0) throw encoding(path, `it is binary: there is a NUL byte at ${nul}`);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw encoding(path, `line ${firstInvalidLine(bytes)} isn't UTF-8`);
  }
  if (text.trim() === '')
    throw sharedError('model-wrong', `${path} is empty`, {
      hint: 'Write it, or name another folder.',
    });
  return text;
}

const encoding = (path: string, why: string): UsageError =>
  sharedError('unreadable', `${path} can't be read as text: ${why}`, { hint: 'Save the document as UTF-8.' });

/** The byte of a line end occurs in no other UTF-8 character, so each line can be decoded separately. */
function firstInvalidLine(bytes: Uint8Array): number {
  const strict = new TextDecoder('utf-8', { fatal: true });
  for (let line = 1, from = 0; from <= bytes.length; line++) {
    const end = bytes.indexOf(10, from);
    const to = end < 0 ? bytes.length : end;
    try {
      strict.decode(bytes.subarray(from, to));
    } catch {
      return line;
    }
    from = to + 1;
  }
  return 1;
}
