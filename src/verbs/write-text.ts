import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { messageOf } from '../base/errors.ts';
import { sharedError } from '../base/shared-errors.ts';

/** Writes a file that the user asked for, and makes its folder. @throws UsageError `unwritable` */
export async function writeText(file: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  } catch (cause) {
    throw sharedError('unwritable', `${file} can't be written: ${messageOf(cause)}`, { cause });
  }
}
