import { createReadStream, createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { type UsageError, messageOf } from '../../../base/errors.ts';
import { defineOperation } from '../../../operations/operation.ts';
import { plural } from '../../../operations/table.ts';
import { command, send, serverInput } from './command.ts';
import { sharedError } from '../../../base/shared-errors.ts';

/** Most characters of one request, below the server's own limit. */
const CHUNK_CHARACTERS = 1_000_000;

export const emulatorExport = defineOperation({
  noun: 'emulator',
  verb: 'export',
  summary: 'Write everything that a running embedded server holds to a file, one JSON value a line',
  examples: ['millrace emulator export shop.jsonl'],
  effect: 'reads',
  argument: 'file',
  input: z.object({ file: z.string().describe('file to write; an existing file is replaced'), ...serverInput }),
  run: async ({ file, ...server }, { signal }) => {
    const { body } = await send('export', server, {}, signal);
    if (!body) throw sharedError('emulator-command-refused', 'The server sent nothing.');
    let lines = 0;
    const counted = async function* counting(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
      for await (const chunk of chunks) {
        for (const byte of chunk) if (byte === 10) lines++;
        yield chunk;
      }
    };
    await pipeline(Readable.fromWeb(body), counted, createWriteStream(file), {
      signal,
    }).catch((cause: unknown) => {
      throw signal.aborted ? cause : unusable(file, cause);
    });
    return { file, lines };
  },
  format: ({ file, lines }) => `${plural(lines, 'line')} in ${file}.`,
});

export const emulatorImport = defineOperation({
  noun: 'emulator',
  verb: 'import',
  summary: 'Load an export into a running embedded server, in addition to what it holds',
  examples: ['millrace emulator import shop.jsonl'],
  effect: 'changes',
  argument: 'file',
  input: z.object({ file: z.string().describe('file that `emulator export` wrote'), ...serverInput }),
  run: async ({ file, ...server }, { signal }) => {
    let [items, first] = [0, 1];
    let into: unknown;
    let chunk: string[] = [];
    const load = async (): Promise<void> => {
      const body = { lines: chunk.join('\n'), first, ...(into === undefined ? {} : { into }) };
      const answer = await command('import', server, body, signal);
      items += Number(answer['items']);
      into = answer['into'];
      first += chunk.length;
      chunk = [];
    };
    const input = createReadStream(file).on('error', () => {});
    const opened = new Promise<void>((resolve, reject) => input.once('open', () => resolve()).once('error', reject));
    await opened.catch((cause: unknown) => {
      throw unusable(file, cause);
    });
    let size = 0;
    for await (const line of createInterface({ input })) {
      if (size + line.length > CHUNK_CHARACTERS && chunk.length > 0) {
        await load();
        size = 0;
      }
      chunk.push(line);
      size += line.length;
    }
    if (chunk.length > 0) await load();
    return { items };
  },
  format: ({ items }) => `Loaded ${plural(items, 'item')}.`,
});

const unusable = (file: string, cause: unknown): UsageError =>
  sharedError('emulator-file-unusable', `The file ${file} can't be used: ${messageOf(cause)}`, { cause });
