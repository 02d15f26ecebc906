import { MillraceError, messageOf } from '../base/errors.ts';

/** Of `doctor`. */
export interface Finding {
  /** What was looked at. */
  readonly check: string;
  /** `bad`: something doesn't work, or won't; `doubtful`: somebody should look. */
  readonly verdict: 'good' | 'doubtful' | 'bad';
  readonly what: string;
  readonly mend?: string;
}

export const good = (check: string, what: string): Finding => ({ check, verdict: 'good', what });
export const doubtful = (check: string, what: string, mend: string): Finding => ({
  check,
  verdict: 'doubtful',
  what,
  mend,
});
export const bad = (check: string, what: string, mend?: string): Finding => ({
  check,
  verdict: 'bad',
  what,
  ...(mend === undefined ? {} : { mend }),
});
export const failed = (check: string, error: unknown): Finding =>
  bad(check, messageOf(error).split('\n')[0] ?? '', error instanceof MillraceError ? error.mend : undefined);
