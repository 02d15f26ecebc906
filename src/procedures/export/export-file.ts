import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { sharedError } from '../../base/shared-errors.ts';
import { messageOf } from '../../base/errors.ts';

/** Characters that are written together. */
const CHUNK = 1_000_000;

/**
 * Writes lines to a file that appears when it is complete: they are written beside it first. Only its owner may read it.
 * Returns what the lines return. If that is undefined, there is no file.
 * @throws UsageError `exists` unless `force`, `unwritable`; and every error of the lines
 */
export async function writeComplete<T>(
  file: string,
  lines: AsyncGenerator<string, T>,
  { force }: { readonly force: boolean },
): Promise<T> {
  const beside = `${file}.${randomUUID().slice(0, 8)}.partial`;
  const named = <R>(work: Promise<R>): Promise<R> =>
    work.catch((cause: unknown) => {
      throw sharedError('unwritable', `${file} can't be written: ${messageOf(cause)}`, { cause });
    });
  if (!force) await refuseExisting(file);
  const handle = await named(open(beside, 'wx', 0o600));
  try {
    const result = await fill(handle, lines, named);
    if (result === undefined) return result;
    await named(handle.sync());
    await handle.close();
    if (!force) await refuseExisting(file);
    await named(rename(beside, file));
    return result;
  } finally {
    // Closed already, and renamed, if all went well.
    await handle.close().catch(() => undefined);
    await rm(beside, { force: true });
  }
}

async function fill<T>(
  handle: FileHandle,
  lines: AsyncGenerator<string, T>,
  named: <R>(work: Promise<R>) => Promise<R>,
): Promise<T> {
  let text = '';
  for (;;) {
    const next = await lines.next();
    if (!next.done) text += next.value;
    if (text.length > (next.done ? 0 : CHUNK)) {
      await named(handle.appendFile(text));
      text = '';
    }
    if (next.done) return next.value;
  }
}

async function refuseExisting(file: string): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (found)
    throw sharedError('exists', `${file} exists already`, {
      hint: 'Name another file with `--out`, or add `--force` to replace it.',
    });
}
