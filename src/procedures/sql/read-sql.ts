import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { sharedError } from '../../base/shared-errors.ts';
import { messageOf } from '../../base/errors.ts';

/** A file as it was named, with its text. @throws UsageError `unreadable` */
export async function readSql(directory: string, file: string): Promise<{ file: string; text: string }> {
  const text = await readFile(resolve(directory, file), 'utf8').catch((cause: unknown) => {
    throw sharedError('unreadable', `${file} can’t be read: ${messageOf(cause)}`, { cause });
  });
  return { file, text };
}
