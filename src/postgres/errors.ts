import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';

export const POSTGRES_ERRORS = {
  'pglite-missing': {
    meaning: 'The embedded PostgreSQL, for tables and background jobs in development and tests, is not installed.',
    hint: 'Install it with `npm install --save-dev @electric-sql/pglite @electric-sql/pglite-socket`, or let `dev` use servers of your own: `POSTGRES_URL`, `JOBS_URL`.',
    usage: true,
  },
  'postgres-denied': {
    meaning: 'The PostgreSQL server refused the sign-in, or the role lacks a right.',
    hint: 'Check `POSTGRES_URL`. The role needs rights to read and write in the schema `millrace`; `millrace sql migrate` needs to create there and in the schema of the views.',
    retryable: true,
  },
  'postgres-full': {
    meaning:
      'PostgreSQL has no connection, disk or memory left. Azure makes a server whose disk is nearly full read-only; a replica is read-only too.',
    hint: 'Give it more storage or connections, or close those that nothing uses. Does `POSTGRES_URL` name a replica? Millrace tries again.',
    retryable: true,
  },
  'postgres-refused': {
    meaning: 'PostgreSQL will never accept a row, because it breaks a constraint or a limit.',
    hint: 'Correct the document, or the table that was changed by hand. Then run `millrace dead-letters redrive`.',
  },
  'postgres-tables-missing': {
    meaning:
      'A table, column or content is missing in PostgreSQL, or has another type or key than the pipeline declares.',
    hint: 'Run `millrace sql migrate`. Millrace tries again.',
    retryable: true,
  },
  'postgres-unreachable': {
    meaning: 'PostgreSQL didn’t answer, or broke off a transaction.',
    hint: 'Check the server, the network and `POSTGRES_URL`. Millrace tries again.',
    retryable: true,
  },
  'postgres-url-invalid': {
    meaning: 'The setting `POSTGRES_URL` is not the address of a PostgreSQL server.',
    hint: 'Write it as `postgres://USER:PASSWORD@HOST:5432/DATABASE`. In Azure, a user without a password signs in by identity.',
    usage: true,
  },
} as const satisfies ErrorCatalogue;

export const postgresError = errorsOf(POSTGRES_ERRORS);
