import { isObject } from './json.ts';
import { type UsageError, messageOf } from './errors.ts';
import { sharedError } from './shared-errors.ts';

/** The error of a folder that can't be used for data. */
export const unusableFolder = (folder: string, cause: unknown): UsageError =>
  sharedError('unwritable', `The data folder ${folder} can't be used: ${messageOf(cause)}`, {
    hint:
      (isObject(cause) && HINTS[String(cause['errcode'] ?? cause['code'])]) ||
      'Name a folder that this user may write to.',
    cause,
  });

const FULL = 'Free space on its disk, or name a folder of another one.';
/** By the codes of the system, and those of SQLite. */
const HINTS: Readonly<Record<string, string>> = {
  EROFS: 'Its file system is read-only. Mount it for writing, or name a folder of another one.',
  ENOSPC: FULL,
  EDQUOT: FULL,
  EFBIG: FULL,
  13: FULL,
  778: FULL,
};

/** Whether it is an error of the system, such as EACCES. */
export const isErrno = (error: unknown): boolean => isObject(error) && typeof error['errno'] === 'number';

/** The error of a folder that another process has open. */
export const folderInUse = (folder: string, pid: string, cause?: unknown): UsageError =>
  sharedError('unwritable', `Another process (${pid}) has the data folder ${folder} open`, {
    hint: 'End that process, or name another folder.',
    cause,
  });

/** The error of a folder whose data can't be used, however often it is tried. `why`: a sentence about `file` without it. */
export const damagedFolder = (folder: string, file: string, why: string, cause?: unknown): UsageError =>
  sharedError('unreadable', `The data folder ${folder} is damaged: ${file} ${why}`, {
    hint: 'Put a copy of the folder in its place. Or move it away, and start again with an empty one.',
    cause,
  });

/** The same, of a server that doesn't say which file it is. */
export const cantStart = (folder: string, server: string, cause: unknown): UsageError =>
  damagedFolder(folder, server, `can't start on its files: ${messageOf(cause)}`, cause);
