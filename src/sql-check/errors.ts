import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';

export const SQL_CHECK_ERRORS = {
  'sql-unreadable': {
    meaning: 'PostgreSQL’s parser refuses a text. The message has the line and the place.',
    hint: 'Correct the text. The parser is that of PostgreSQL 17; commands of `psql` that begin with a backslash are not SQL.',
    usage: true,
  },
} as const satisfies ErrorCatalogue;

export const sqlCheckError = errorsOf(SQL_CHECK_ERRORS);
