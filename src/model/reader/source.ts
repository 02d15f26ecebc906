// From bytes to text: what can't be a document of ours is refused here with a word about why.
import { readFile, stat } from 'node:fs/promises';
import { UsageError, messageOf } from '../../base/errors.ts';
import { inTime } from '../../base/in-time.ts';

/** Bytes. Real pairs have 20 to 300 KB; a Markdown parser takes seconds for one megabyte of lists. */
export const LARGEST = 1_000_000;

/** @throws UsageError `model-unreadable`, `document-too-large`, `document-encoding`, `document-empty` */
export async function readDocument(path: string): Promise<string> {
  let bytes: Buffer;
  try {
    const { size } = await stat(path);
    if (size > LARGEST) throw tooLarge(path, size);
    bytes = await readFile(path);
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    const directory = cause instanceof Error && 'code' in cause && cause.code === 'EISDIR';
    throw new UsageError(
      'model-unreadable',
      `The document ${path} can't be read: ${directory ? 'it is a directory' : messageOf(cause)}`,
      { cause, mend: 'Give a folder with cosmosdb_data_model.md, and cosmosdb_requirements.md beside it.' },
    );
  }
  return decode(bytes, path);
}

/**
 * Milliseconds, at least and for each character. A document of nothing but lists takes a fifth of it for a character;
 * lists and quotes by the thousand, and numbers by the thousand in one cell, take time with the square of their number.
 */
const LONGEST = { least: 15_000, each: 0.03 };

/** What `parse` makes of a document's text. @throws UsageError `document-too-slow` */
export function parsed<T>(text: string, file: string, parse: () => T): T {
  const ms = Math.round(LONGEST.least + LONGEST.each * text.length);
  return inTime(ms, parse, (cause) => {
    const why = `${file} can't be read: it isn't understood after ${Math.round(ms / 1_000)} s`;
    const mend = 'Something in it is there by the thousand: lists or quotes of their own, or numbers in one cell.';
    return new UsageError('document-too-slow', why, { cause, mend });
  });
}

const tooLarge = (path: string, size: number): UsageError =>
  new UsageError(
    'document-too-large',
    `${path} has ${(size / 1e6).toFixed(1)} MB; a modelling document has ${LARGEST / 1e6} MB at most`,
    { mend: 'Name the document itself; data and logs belong elsewhere.' },
  );

/** Text of a document's bytes, without its byte order mark. Throws what `readDocument` throws. */
export function decode(bytes: Uint8Array, path: string): string {
  if (bytes.length > LARGEST) throw tooLarge(path, bytes.length);
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
    throw new UsageError('document-empty', `${path} is empty`, { mend: 'Write the document first.' });
  return text;
}

const encoding = (path: string, why: string): UsageError =>
  new UsageError('document-encoding', `${path} can't be read as text: ${why}`, { mend: 'Save it as UTF-8.' });

/** Lines end in bytes that occur in no other character of UTF-8, so each can be tried alone. */
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
