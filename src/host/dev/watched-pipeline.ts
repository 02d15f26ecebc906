import { existsSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { until } from '../../base/until.ts';
import { type Importer, freshImporter } from '../../runtime/pipeline/fresh-import.ts';
import { loadPipeline } from '../../runtime/pipeline/load-pipeline.ts';
import type { LoadedPipeline } from '../../runtime/workspace.ts';
import { ChangedFiles } from './changed-files.ts';

/** A pipeline, and an importer that loads the same. */
export interface Revision {
  readonly loaded: LoadedPipeline;
  readonly importer: Importer;
}

/** A pipeline folder that can be loaded again, and the files that decide what is loaded. */
export class WatchedPipeline implements Disposable {
  readonly #folder: string;
  readonly #files: ChangedFiles;
  readonly #changed = new Set<string>();
  #noticed = Promise.withResolvers<void>();

  constructor(folder: string) {
    this.#folder = folder;
    this.#files = new ChangedFiles((files) => {
      for (const file of files) this.#changed.add(file);
      this.#noticed.resolve();
    });
    // A folder that isn't there is named by `load`.
    if (existsSync(folder)) this.#files.add(folder);
  }

  /**
   * Loads the pipeline as its files are now.
   * @throws UsageError as `loadPipeline`
   */
  async load(): Promise<Revision> {
    // Also of a pipeline that can't be loaded: the next change may correct any of its files.
    const importer = freshImporter((file) => this.#files.add(dirname(file)));
    return { loaded: await loadPipeline(this.#folder, importer), importer };
  }

  /** Resolves with the names of the files that changed since the last call, once there are some. */
  async changed(signal: AbortSignal): Promise<string[]> {
    await until(this.#noticed.promise, signal);
    const names = [...this.#changed].map((file) => basename(file));
    this.#changed.clear();
    this.#noticed = Promise.withResolvers();
    return names;
  }

  [Symbol.dispose](): void {
    this.#files[Symbol.dispose]();
  }
}
