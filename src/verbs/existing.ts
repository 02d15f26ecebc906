import { stat } from 'node:fs/promises';

/** Whether there is a file or folder. */
export const existing = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
