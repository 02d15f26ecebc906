import { fchmodSync, mkdirSync, openSync } from 'node:fs';

/** Of folders and files that hold documents: nobody else on this machine reads them. */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** Makes a folder that this user alone may open; one that is there already stays as it is. */
export function privateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: FOLDER_MODE });
}

/** Opens a file to write at its end, that this user alone may read: an older one too. Returns its descriptor. */
export function openPrivate(path: string): number {
  const file = openSync(path, 'a', FILE_MODE);
  fchmodSync(file, FILE_MODE);
  return file;
}
