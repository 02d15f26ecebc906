import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';
import { GIVE_DATA_ROLE } from '../cosmos/failure.ts';

export const SINKS_ERRORS = {
  'batch-failed': {
    meaning: 'Cosmos DB answered a transactional batch with a status that names no operation to park.',
    hint: 'Wait: Millrace tries again. If it happens often, look the status up in the Cosmos DB documentation.',
    retryable: true,
  },
  'container-denied': {
    meaning: 'This identity has no right to read or write in the container.',
    hint: GIVE_DATA_ROLE,
    retryable: true,
  },
  'event-hub-denied': {
    meaning: 'The event hub refused the key or the identity.',
    hint: 'Check the key in `EVENTHUBS`, or give the identity the roles "Azure Event Hubs Data Sender" (publish) and "Azure Event Hubs Data Receiver" (ingest).',
    retryable: true,
  },
  'event-hub-missing': {
    meaning: 'The namespace has no event hub, or no consumer group, of this name.',
    hint: 'Create the event hub (and the consumer group) in the namespace, or correct its name in the pipeline.',
    retryable: true,
  },
  'event-hub-unreachable': {
    meaning: 'The event hub accepted no event for a long time.',
    hint: 'Check that the namespace is reachable. The unpublished events wait, in their order.',
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
  'sink-too-large': {
    meaning: 'A document is larger than 2 MB, the most that Cosmos DB stores.',
    hint: 'Leave large fields out of the sink, or store them in documents of their own.',
  },
} as const satisfies ErrorCatalogue;

export const sinksError = errorsOf(SINKS_ERRORS);
