import { type ErrorCatalogue, errorsOf } from '../../base/error-catalogue.ts';

export const SQL_VERBS_ERRORS = {
  'sql-no-citus': {
    meaning: 'Tenants are isolated and nodes balanced by Citus, which the database doesn’t have.',
    hint: 'Let `POSTGRES_URL` name the coordinator of the cluster. A server alone has nothing to balance.',
    usage: true,
  },
  'sql-file-unreadable': {
    meaning: 'A file of SQL, DDL or sizes can’t be read, or has the wrong form.',
    hint: 'Check the path and the right to read it.',
    usage: true,
  },
  'sql-plan-or-run': {
    meaning: 'A call asks for statements that are only printed, and for the same statements to be run.',
    hint: 'Give one of the two flags.',
    usage: true,
  },
} as const satisfies ErrorCatalogue;

export const sqlVerbsError = errorsOf(SQL_VERBS_ERRORS);
