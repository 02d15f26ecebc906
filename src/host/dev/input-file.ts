import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { messageOf } from '../../base/errors.ts';
import { operationsError } from '../../procedures/errors.ts';

/** One document's text. `broken`: it is none, and why. */
export interface InputText {
  readonly text: string;
  readonly broken?: string;
}

/** More than any document, written with any indent. */
const LONGEST = 16 * 1024 * 1024;

/**
 * The documents of a file: its lines, or the elements of its one JSON array, as Data Explorer exports them. It may be
 * packed by gzip. `progress` is called with the bytes of the file that were used.
 * @throws UsageError `input-invalid`
 */
export async function* textsOf(path: string, progress: (bytes: number) => void): AsyncGenerator<InputText> {
  const isPacked = (await headOf(path)).subarray(0, 2).equals(Buffer.from([0x1f, 0x8b]));
  const file = createReadStream(path);
  const source: Readable = isPacked ? file.pipe(createGunzip()) : file;
  file.on('error', (error) => source.destroy(error));
  let used = 0;
  const use = (text: string): void => {
    used += Buffer.byteLength(text);
    // Of a packed file it isn't known what the text was packed to.
    progress(isPacked ? file.bytesRead : used);
  };
  try {
    const parts = decoded(source, path);
    const first = await firstOf(parts);
    yield* first.trimStart().startsWith('[') ? elementsOf(first, parts, path, use) : linesOf(first, parts, use);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && String(error.code).startsWith('Z_'))) throw error;
    throw operationsError('input-invalid', `The gzip file ${path} is damaged or cut off: ${messageOf(error)}`, {
      hint: 'Copy or export the file again.',
      cause: error,
    });
  } finally {
    file.destroy();
    source.destroy();
  }
}

async function headOf(path: string): Promise<Buffer> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** UTF-8, without the byte order mark of Windows. */
async function* decoded(source: Readable, path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let isFirst = true;
  for await (const chunk of source as AsyncIterable<Buffer>) {
    // In UTF-16 each character of JSON has a zero byte; in UTF-8 none has.
    if (isFirst && (/^(?:fffe|feff)/.test(chunk.toString('hex', 0, 2)) || chunk.subarray(0, 64).includes(0)))
      throw operationsError('input-invalid', `The file ${path} is UTF-16, not UTF-8`, {
        hint: 'Save it as UTF-8: `iconv -f utf-16 -t utf-8 FILE`, or in PowerShell `Get-Content FILE | Set-Content -Encoding utf8 NEW`.',
      });
    isFirst = false;
    yield decoder.decode(chunk, { stream: true });
  }
  yield decoder.decode();
}

/** What comes before the first character that is no space, and some after it. */
async function firstOf(parts: AsyncGenerator<string>): Promise<string> {
  let first = '';
  while (first.trim() === '') {
    const { value, done } = await parts.next();
    if (done) return first;
    first += value;
  }
  return first;
}

async function* linesOf(
  first: string,
  parts: AsyncGenerator<string>,
  use: (text: string) => void,
): AsyncGenerator<InputText> {
  let rest = first;
  for (;;) {
    const lines = rest.split('\n');
    rest = lines.pop()!;
    for (const line of lines) {
      use(`${line}\n`);
      yield { text: line.replace(/\r$/, '') };
    }
    const { value, done } = await parts.next();
    if (done) break;
    rest += value;
  }
  use(rest);
  if (rest !== '') yield { text: rest };
}

async function* elementsOf(
  first: string,
  parts: AsyncGenerator<string>,
  path: string,
  use: (text: string) => void,
): AsyncGenerator<InputText> {
  let depth = 0;
  let inString = false;
  let isEscaped = false;
  let element = '';
  let isEnded = false;
  for (let part = first; ;) {
    let from = 0;
    for (let at = 0; at < part.length && !isEnded; at++) {
      const char = part[at]!;
      if (isEscaped) isEscaped = false;
      else if (inString) {
        if (char === '\\') isEscaped = true;
        else if (char === '"') inString = false;
      } else if (char === '"') inString = true;
      else if (char === '[' || char === '{') {
        depth += 1;
        if (depth === 1) from = at + 1;
      } else if (char === ']' || char === '}' || (char === ',' && depth === 1)) {
        if (depth === 1) {
          element += part.slice(from, at);
          if (element.trim() !== '') yield { text: element.trim() };
          element = '';
          from = at + 1;
        }
        if (char !== ',') depth -= 1;
        isEnded = depth === 0;
      }
    }
    element += part.slice(from);
    use(part);
    if (element.length > LONGEST)
      throw operationsError('input-invalid', `An element of the array in ${path} has over 16 MB`, {
        hint: 'Check that the file is one JSON array of documents, or give one document a line.',
      });
    const { value, done } = await parts.next();
    if (done) break;
    part = value;
  }
  if (depth > 0) yield { text: element.trim(), broken: 'the array that it is in is cut off' };
  else if (element.trim() !== '') yield { text: element.trim(), broken: 'it stands after the end of the array' };
}
