import { writeFile } from 'node:fs/promises';
import { messageOf } from '../base/errors.ts';
import { type OperationsErrorCode, operationsError } from '../procedures/errors.ts';

/** Writes a file that the user asked for. @throws UsageError with the code, if it can't be written */
export const writeText = (
  file: string,
  text: string,
  { code, flag = 'w' }: { readonly code: OperationsErrorCode; readonly flag?: 'w' | 'wx' },
): Promise<void> =>
  writeFile(file, text, { flag }).catch((cause: unknown) => {
    throw operationsError(code, `${file} can't be written: ${messageOf(cause)}`, { cause });
  });
