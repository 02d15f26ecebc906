import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';

export const SQL_CHECK_ERRORS = {
  'sql-unreadable': {
    meaning: 'PostgreSQL’s parser refuses a text. The message has the line and the place.',
    hint: 'Correct the text. The parser is that of PostgreSQL 18; of the commands of `psql` it knows those of a dump.',
    usage: true,
  },
  'sql-too-deep': {
    meaning:
      'A statement is nested deeper than the check reads, such as a query in a query, a long chain of operators or of UNION.',
    hint: 'Divide the statement. Write a chain of values as a list, such as one of VALUES.',
    usage: true,
  },
} as const satisfies ErrorCatalogue;

export const sqlCheckError = errorsOf(SQL_CHECK_ERRORS);
