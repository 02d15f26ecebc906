import { MillraceError, messageOf } from '../../base/errors.ts';

/** One line of `doctor`. */
export interface Finding {
  /** What was checked. */
  readonly check: string;
  /** `bad`: something doesn't work, or won't; `doubtful`: a person should look. */
  readonly verdict: 'good' | 'doubtful' | 'bad';
  readonly what: string;
  readonly hint?: string;
}

export const good = (check: string, what: string): Finding => ({ check, verdict: 'good', what });
export const doubtful = (check: string, what: string, hint: string): Finding => ({
  check,
  verdict: 'doubtful',
  what,
  hint,
});
export const bad = (check: string, what: string, hint?: string): Finding => ({
  check,
  verdict: 'bad',
  what,
  ...(hint === undefined ? {} : { hint }),
});
export const failed = (check: string, error: unknown): Finding =>
  bad(check, messageOf(error).split('\n')[0] ?? '', error instanceof MillraceError ? error.hint : undefined);
