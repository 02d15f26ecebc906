import { writeFile } from 'node:fs/promises';
import { messageOf } from '../base/errors.ts';
import { sharedError } from '../base/shared-errors.ts';

/** Writes a file that the user asked for. @throws UsageError `unwritable` */
export const writeText = (file: string, text: string, flag: 'w' | 'wx' = 'w'): Promise<void> =>
  writeFile(file, text, { flag }).catch((cause: unknown) => {
    throw sharedError('unwritable', `${file} can't be written: ${messageOf(cause)}`, { cause });
  });
