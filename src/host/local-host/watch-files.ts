import { type FSWatcher, readdirSync, watch } from 'node:fs';
import { join } from 'node:path';
import { SOURCE_FILE } from '../source-file.ts';

const NOT_THE_APP = new Set(['node_modules', '.git', '.millrace', 'test', 'infra', 'docs', 'bench', 'coverage']);
/** Milliseconds without a change before the app restarts, because a build writes many files. */
const QUIET_MS = 300;

/** Calls `changed` when source files of an app have changed, once the changes have stopped. A log that grows isn't one. */
export function watchFiles(root: string, changed: (file: string) => void): Disposable {
  let timer: NodeJS.Timeout | undefined;
  const note = (file: string | null): void => {
    if (file !== null && (NOT_THE_APP.has(file) || !SOURCE_FILE.test(file))) return;
    clearTimeout(timer);
    timer = setTimeout(() => changed(file ?? 'a file'), QUIET_MS);
  };
  const folders = readdirSync(root, { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && !NOT_THE_APP.has(entry.name) && !entry.name.startsWith('.'),
  );
  const watchers: FSWatcher[] = [
    watch(root, (_, file) => note(file)),
    ...folders.map(({ name }) =>
      watch(join(root, name), { recursive: true }, (_, file) => note(file === null ? null : join(name, file))),
    ),
  ];
  // A watched folder can be deleted.
  for (const watcher of watchers) watcher.on('error', () => note(null));
  return {
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      for (const watcher of watchers) watcher.close();
    },
  };
}
