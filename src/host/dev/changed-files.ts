import { createHash } from 'node:crypto';
import { type FSWatcher, readFileSync, readdirSync, watch } from 'node:fs';
import { join } from 'node:path';
import { SOURCE_FILE } from '../source-file.ts';

/** Milliseconds without a change before a change counts: editors write a file in steps, and tools write several. */
const QUIET_MS = 150;

/**
 * Watches the source files in folders, without the folders in them, and calls `changed` with the paths of those whose
 * content isn't what it was.
 */
export class ChangedFiles implements Disposable {
  readonly #changed: (files: readonly string[]) => void;
  readonly #watchers = new Map<string, FSWatcher>();
  #known = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(changed: (files: readonly string[]) => void) {
    this.#changed = changed;
  }

  /** Watches a folder, if it isn't watched yet. */
  add(folder: string): void {
    if (this.#watchers.has(folder)) return;
    const watcher = watch(folder, (_, file) => {
      if (file === null || SOURCE_FILE.test(file)) this.#soon();
    });
    // A watched folder can be deleted.
    watcher.on('error', () => this.#soon());
    this.#watchers.set(folder, watcher);
    for (const [file, content] of contentsOf(folder)) this.#known.set(file, content);
  }

  #soon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#compare(), QUIET_MS);
  }

  #compare(): void {
    const now = new Map([...this.#watchers.keys()].flatMap(contentsOf));
    const names = new Set([...this.#known.keys(), ...now.keys()]);
    const files = [...names].filter((file) => this.#known.get(file) !== now.get(file));
    this.#known = now;
    if (files.length > 0) this.#changed(files.toSorted());
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers.values()) watcher.close();
  }
}

function contentsOf(folder: string): [file: string, digest: string][] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry): [string, string][] => {
      const file = join(folder, entry.name);
      return entry.isFile() && SOURCE_FILE.test(entry.name)
        ? [[file, createHash('sha256').update(readFileSync(file)).digest('hex')]]
        : [];
    });
  } catch {
    // Deleted, or between two names: the next change tells.
    return [];
  }
}
