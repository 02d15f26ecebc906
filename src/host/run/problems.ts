// What keeps a process from its work now, as the probes and the metrics say it: by code, never by message, which may hold an
// address or the name of a tenant.
import { CLOCK_SKEW_MS } from '../../base/bounds.ts';
import { MillraceError } from '../../base/errors.ts';
import { errorTypeOf } from '../../base/telemetry/opentelemetry.ts';
import { until } from '../../base/until.ts';
import type { App } from '../../runtime/hosts/processor-host.ts';

export interface Problem {
  /** A container, `event hub NAME`, `shards`, `jobs` or `clock`. */
  readonly part: string;
  readonly code: string;
}

export type Problems = () => Promise<readonly Problem[]>;

/** A service counts as away when it doesn't answer for so long. */
const ANSWER_MS = 2_000;

/** Of a host. `clockOffMs`: how far its clock is from the service's, as of its last report. */
export const hostProblems = (app: Pick<App, 'failures'>, clockOffMs: number): Problem[] => {
  const failing = app.failures().map(({ part, error }) => ({ part, code: errorTypeOf(error) }));
  const all = Math.abs(clockOffMs) > CLOCK_SKEW_MS ? [...failing, { part: 'clock', code: 'clock-off' }] : failing;
  return [...new Map(all.map((one) => [`${one.part} ${one.code}`, one])).values()];
};

/** Of a service that is asked for it. */
export async function problemsOf(part: string, ask: () => Promise<unknown>): Promise<readonly Problem[]> {
  try {
    await until(ask(), AbortSignal.timeout(ANSWER_MS));
    return [];
  } catch (error) {
    return [{ part, code: error instanceof MillraceError ? error.code : 'unavailable' }];
  }
}

/** Callers of the same time share one call, and its result is kept for `ms`. A failure isn't kept. */
export function atMostEvery<T>(ms: number, ask: () => Promise<T>): () => Promise<T> {
  let kept: { readonly until: number; readonly value: Promise<T> } | undefined;
  return () => {
    if (kept && performance.now() < kept.until) return kept.value;
    const value = ask();
    kept = { until: performance.now() + ms, value };
    value.catch(() => {
      kept = undefined;
    });
    return value;
  };
}
