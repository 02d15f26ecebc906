import { fchmodSync, mkdirSync, openSync } from 'node:fs';

/** Modes of folders and files that hold documents: other users of this machine can't read them. */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** Creates a folder that only this user may open. The mode of an existing folder doesn't change. */
export function privateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: FOLDER_MODE });
}

/** Opens a file for appending, new or old, and lets only this user read it. Returns its descriptor. */
export function openPrivate(path: string): number {
  const file = openSync(path, 'a', FILE_MODE);
  fchmodSync(file, FILE_MODE);
  return file;
}
