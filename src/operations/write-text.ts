import { writeFile } from 'node:fs/promises';
import { UsageError, messageOf } from '../base/errors.ts';

/** Writes a file that somebody asked for. @throws UsageError of the code, where it can't be written */
export const writeText = (
  file: string,
  text: string,
  { code, mend, flag = 'w' }: { readonly code: string; readonly mend: string; readonly flag?: 'w' | 'wx' },
): Promise<void> =>
  writeFile(file, text, { flag }).catch((cause: unknown) => {
    throw new UsageError(code, `${file} can't be written: ${messageOf(cause)}`, { cause, mend });
  });
