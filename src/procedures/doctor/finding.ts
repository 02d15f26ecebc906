import { MillraceError, messageOf } from '../../base/errors.ts';

/** One line of `doctor`. */
export interface DoctorFinding {
  /** What was checked. */
  readonly check: string;
  /** `bad`: something doesn't work, or won't; `doubtful`: a person should look. */
  readonly verdict: 'good' | 'doubtful' | 'bad';
  readonly what: string;
  readonly hint?: string;
}

export const good = (check: string, what: string): DoctorFinding => ({ check, verdict: 'good', what });
export const doubtful = (check: string, what: string, hint: string): DoctorFinding => ({
  check,
  verdict: 'doubtful',
  what,
  hint,
});
export const bad = (check: string, what: string, hint?: string): DoctorFinding => ({
  check,
  verdict: 'bad',
  what,
  ...(hint === undefined ? {} : { hint }),
});
export const failedFinding = (check: string, error: unknown): DoctorFinding =>
  bad(check, messageOf(error).split('\n')[0] ?? '', error instanceof MillraceError ? error.hint : undefined);
