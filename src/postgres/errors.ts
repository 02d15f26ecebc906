import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';

export const CHECK_POSTGRES = 'Check the server, the network and `POSTGRES_URL`. Millrace tries again.';

export const POSTGRES_ERRORS = {
  'postgres-full': {
    meaning:
      'PostgreSQL has no connection, disk or memory left. Azure makes a server whose disk is nearly full read-only; a replica is read-only too.',
    hint: 'Give it more storage or connections, or close those that nothing uses. Does `POSTGRES_URL` name a replica? Millrace tries again.',
    retryable: true,
  },
  'postgres-tables-missing': {
    meaning:
      'A table, column or content is missing in PostgreSQL, or has another type or key than the pipeline declares.',
    hint: 'Run `millrace sql migrate`. Millrace tries again.',
    retryable: true,
  },
} as const satisfies ErrorCatalogue;

export const postgresError = errorsOf(POSTGRES_ERRORS);
