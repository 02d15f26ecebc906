import { sharedError } from '../base/shared-errors.ts';
import { MillraceError, messageOf } from '../base/errors.ts';
import { postgresError, CHECK_POSTGRES } from './errors.ts';

/**
 * - `data`: the server will never take these rows
 * - `slow`: the server broke the statement off because it took too long; fewer rows may pass
 * - `other`: the same transaction may succeed later
 */
export type PostgresFailureKind = 'data' | 'slow' | 'other';

const stateOf = (error: unknown): string => {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : '';
};

/** Classes of SQLSTATE: 22 data exception, 23 integrity constraint, 54 program limit; 57014 query canceled. */
export function failureKind(error: unknown): PostgresFailureKind {
  const state = stateOf(error);
  if (/^(22|23|54)/.test(state)) return 'data';
  return state === '57014' ? 'slow' : 'other';
}

/**
 * The error that a person reads. A table, a column or a schema is missing, or has another type or key than declared (42P01,
 * 42703, 3F000, 42804, 42P10): `sql migrate` says more. Class 53 is what a server has run out of; 25006 is a server that is
 * read-only (ASM-H44).
 */
export function failure(error: unknown, what: string): MillraceError {
  if (error instanceof MillraceError) return error;
  const state = stateOf(error);
  const message = `${what}: ${messageOf(error)}`;
  if (/^(42P01|42703|42804|42P10|3F000)$/.test(state))
    return postgresError('postgres-tables-missing', message, { cause: error });
  if (/^(28|42501)/.test(state))
    return sharedError('denied', message, {
      hint: 'Check `POSTGRES_URL`. The role needs rights to read and write in the schema `millrace`; `millrace sql migrate` needs to create there and in the schema of the views.',
      retryable: true,
      cause: error,
    });
  if (/^(53|25006)/.test(state)) return postgresError('postgres-full', message, { cause: error });
  if (failureKind(error) === 'data')
    return sharedError('sink-refused', message, {
      hint: 'Correct the document, or the table that was changed by hand. Then run `millrace dead-letters redrive`.',
      cause: error,
    });
  return sharedError('unavailable', message, { hint: CHECK_POSTGRES, cause: error });
}
