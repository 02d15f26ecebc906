import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';

export const SINKS_ERRORS = {
  'batch-failed': {
    meaning: 'Cosmos DB answered a transactional batch with a status that names no operation to park.',
    hint: 'Wait: Millrace tries again. If it happens often, look the status up in the Cosmos DB documentation.',
    retryable: true,
  },
  'tables-differ': {
    meaning: 'A table has another column type or another key than the pipeline declares. `sql migrate` only adds.',
    hint: 'Declare another version of the projection, which has tables of its own, and rebuild it. Or correct the table if it was changed by hand.',
  },
  'tables-place': {
    meaning: 'A row names another partition key, id or tenant than its document has, so a deletion would not find it.',
    hint: 'Let `upcast` keep the fields of the partition key, the id and the tenant.',
  },
  'tables-replaced': {
    meaning: 'Another process has replaced or removed the content of a table that was to become current.',
    hint: 'Run `millrace projections show NAME`, then rebuild it again if that is still wanted.',
  },
  'tables-view-used': {
    meaning: 'A view of Millrace gets other columns, or a table is to be dropped, and a view of yours reads it.',
    hint: 'Drop the named views, promote or migrate again, and create them again.',
  },
} as const satisfies ErrorCatalogue;

export const sinksError = errorsOf(SINKS_ERRORS);
