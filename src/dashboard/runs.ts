import { randomUUID } from 'node:crypto';
import { canonical } from '../base/json.ts';
import { messageOf } from '../base/errors.ts';
import { withoutSecrets } from '../base/secrets.ts';
import type { Context } from '../procedures/context.ts';
import type { OperationResult } from '../verbs/operation.ts';
import type { Screen } from '../procedures/screen.ts';
import type { AskedOperation } from './allowed.ts';
import { dashboardError } from './errors.ts';

/** An operation that was started from a page and changes something. */
export interface RunRow {
  readonly id: string;
  readonly operation: string;
  /** The input as `name=value`. */
  readonly input: string;
  /** ISO 8601 UTC. */
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly state: 'running' | 'done' | 'findings' | 'failed';
  readonly progress: { readonly what: string; readonly done: number; readonly of: number | null } | null;
  /** The last lines that it reported, its result or its error; cut. */
  readonly text: string;
}

/** Runs that are shown, and presses that are remembered. */
const MOST_SHOWN = 20;
const MOST_PRESSES = 20;
const MOST_TEXT = 2_000;

/**
 * Runs changing operations, each press of a button once: a second request of the same press gets the first one's result,
 * and the same operation with the same input doesn't start while it runs. An operation goes on when its browser leaves.
 */
export class Runs {
  readonly #presses = new Map<string, Promise<OperationResult>>();
  readonly #underway = new Map<string, Promise<OperationResult>>();
  readonly #rows: RunRow[] = [];
  readonly #changed: (rows: readonly RunRow[]) => void;

  /** `changed` is called at each change of a row; it may be called thousands of times a second. */
  constructor(changed: (rows: readonly RunRow[]) => void) {
    this.#changed = changed;
  }

  /** The newest first. */
  get rows(): readonly RunRow[] {
    return this.#rows;
  }

  /** @throws UsageError `run-underway`, and what the operation throws */
  start(asked: AskedOperation, context: Omit<Context, 'screen'>): Promise<OperationResult> {
    const { name, input, once = '' } = asked;
    const press = `${name} ${once} ${canonical(input)}`;
    const known = this.#presses.get(press);
    if (known) return known;
    const same = `${name} ${canonical(input)}`;
    if (this.#underway.has(same)) throw dashboardError('run-underway', `${name} runs already, with the same input`);
    const running = this.#perform(asked, context).finally(() => this.#underway.delete(same));
    this.#underway.set(same, running);
    this.#presses.set(press, running);
    for (const oldest of this.#presses.keys()) {
      if (this.#presses.size <= MOST_PRESSES) break;
      this.#presses.delete(oldest);
    }
    return running;
  }

  /** Resolves when nothing runs any more. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#underway.values());
  }

  async #perform(
    { name, operation, input }: AskedOperation,
    context: Omit<Context, 'screen'>,
  ): Promise<OperationResult> {
    const id = randomUUID();
    const startedAt = new Date().toISOString();
    const given = Object.entries(input).map(([field, value]) => `${field}=${String(value)}`);
    const change = (to: Partial<RunRow>): void => {
      const at = this.#rows.findIndex((row) => row.id === id);
      if (at >= 0) this.#rows[at] = { ...this.#rows[at]!, ...to };
      this.#changed(this.#rows);
    };
    this.#rows.unshift({
      id,
      operation: name,
      input: clean(given.join(' ')),
      startedAt,
      endedAt: null,
      state: 'running',
      progress: null,
      text: '',
    });
    this.#forget();
    change({});
    const screen: Screen = {
      live: false,
      line: (text) => change({ text: clean(text) }),
      draw: () => undefined,
      progress: (what, done, of) => change({ progress: { what, done, of: of ?? null } }),
    };
    const end = (state: RunRow['state'], text: string): void =>
      change({ state, text: clean(text), endedAt: new Date().toISOString() });
    try {
      const result = await operation.run(input, { ...context, screen });
      end(result.ok ? 'done' : 'findings', result.text);
      return result;
    } catch (error) {
      end('failed', messageOf(error));
      throw error;
    }
  }

  /** Only rows that have ended are forgotten. */
  #forget(): void {
    while (this.#rows.length > MOST_SHOWN) {
      const oldest = this.#rows.findLastIndex(({ endedAt }) => endedAt !== null);
      if (oldest < 0) return;
      this.#rows.splice(oldest, 1);
    }
  }
}

const clean = (text: string): string => withoutSecrets(text, MOST_TEXT);
