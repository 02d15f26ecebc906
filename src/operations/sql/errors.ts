import { type ErrorCatalogue, errorsOf } from '../../base/error-catalogue.ts';

export const SQL_VERBS_ERRORS = {
  'sql-file-unreadable': {
    meaning: 'A file of SQL, DDL or sizes can’t be read, or has the wrong form.',
    hint: 'Check the path and the right to read it.',
    usage: true,
  },
} as const satisfies ErrorCatalogue;

export const sqlVerbsError = errorsOf(SQL_VERBS_ERRORS);
