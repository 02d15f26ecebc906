import { MillraceError, messageOf } from '../../base/errors.ts';
import type { Screen } from '../../procedures/screen.ts';
import { codeFrame } from '../../runtime/pipeline/code-frame.ts';
import { declaredPipeline } from '../../runtime/pipeline/load-pipeline.ts';
import { type LoadedPipeline, changedWorkspace } from '../../runtime/workspace.ts';
import { assertReloadable, sayReloaded } from './may-reload.ts';
import type { Stage } from './stage.ts';
import type { Revision, WatchedPipeline } from './watched-pipeline.ts';

export interface RevisionsOptions {
  readonly watched: WatchedPipeline;
  readonly stage: Stage;
  readonly screen: Pick<Screen, 'line'>;
  /** Makes the containers that a pipeline needs. */
  readonly prepare: (loaded: LoadedPipeline) => Promise<void>;
  readonly signal: AbortSignal;
}

/** The changed pipelines that a run can go over to. */
export class Revisions {
  readonly #options: RevisionsOptions;

  constructor(options: RevisionsOptions) {
    this.#options = options;
  }

  /**
   * Resolves once the files have changed and the pipeline that they make may take the place of the one that runs. What
   * may not is named on the screen, and nothing changes. Rejects when the run ends.
   */
  async next(running: LoadedPipeline): Promise<Revision> {
    const { watched, stage, screen, prepare, signal } = this.#options;
    for (;;) {
      const files = await watched.changed(signal);
      const names = files.join(', ');
      if (files.every((file) => INPUT.test(file))) {
        screen.line(`${names} changed. What is loaded stays; start \`millrace dev\` again to load by it.`);
        continue;
      }
      try {
        const { loaded, importer } = await watched.load();
        const next = stage.bind(loaded);
        await assertReloadable(running, next, stage);
        await prepare(next);
        const workspace = changedWorkspace(stage.workspace, { declared: (of) => declaredPipeline(of, importer) });
        const [first = '', ...more] = await sayReloaded(running.pipeline, next, workspace);
        screen.line([`${names} changed: ${first}`, ...more].join('\n'));
        return { loaded: next, importer };
      } catch (error) {
        signal.throwIfAborted();
        const why = `${names} changed, but the pipeline before runs on: ${messageOf(error)}`;
        const hint = error instanceof MillraceError && error.hint !== undefined ? [`  ${error.hint}`] : [];
        screen.line([why, ...codeFrame(running.folder, error), ...hint].join('\n'));
      }
    }
  }
}

/** What `workloadInput` reads. */
const INPUT = /^(input|workload)\.[jt]s$/;
