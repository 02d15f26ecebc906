import type { Clock } from '../base/clock.ts';
import type { Workspace } from '../runtime/workspace.ts';
import type { Running } from './journal/runs.ts';
import type { Screen } from './screen.ts';

/** The steps and costs of an operation, for `--dry-run`. */
export interface Plan {
  /** One imperative phrase each; none: nothing to do. */
  readonly steps: readonly string[];
  /** Request units; 0 if the operation takes only a few. */
  readonly ru: number;
  /** The duration with all waits; absent if it is short. */
  readonly seconds?: number;
}

/** A result before the last one, for an operation that the user ends. */
export interface Interim {
  readonly value: unknown;
  /** For a terminal, which shows only the last one. */
  readonly text: string;
  /** For a log, in one line. A line that says the same as the line before isn't repeated. */
  readonly line: string;
}

export interface Context {
  readonly workspace: Workspace;
  /** Of a pipeline over shards, the place that the operation works in: its database. Absent: all, or there is one. */
  readonly place?: string;
  /** The user who runs the operation, for the audit record. */
  readonly actor: string;
  /** Aborted by Ctrl-C: the operation must stop cleanly and throw its reason, or return. */
  readonly signal: AbortSignal;
  /** Shows the progress to people; the result is not printed here. */
  readonly screen: Screen;
  /** Shows an interim result at once; absent where only one result can be given, as over HTTP. */
  readonly show?: (interim: Interim) => void;
  /**
   * Writes a line to standard output, and resolves when there is room for the next. The result is then not printed. Absent
   * where there is no standard output, as over HTTP.
   */
  readonly output?: (line: string) => Promise<void>;
  /** What places leave for each other, where a call works in several. Absent: it works in one. */
  readonly between?: Map<string, unknown>;
  /** When a job was asked for that runs now, wall clock. Absent: it is no job. */
  readonly askedAt?: number;
  /** What says that the operation runs. Absent: it is a short one. */
  readonly running?: Running;
  /** Measures the waits of a procedure; absent: the system's clock. */
  readonly clock?: Clock;
}

/** The parts of a workspace that procedures need. */
export const partsOf = async ({ workspace, signal }: Context) => ({
  loaded: await workspace.pipeline(),
  services: await workspace.services(),
  settings: workspace.settings(),
  signal,
});
