import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';

export const PATTERNS_ERRORS = {
  'bin-contended': {
    meaning: 'Too many writers append to the bins of one window, or one of its bins was deleted.',
    hint: 'Let one writer append to a stream at a time, or append more events in one call. Keep all bins of a window, or none.',
    retryable: true,
  },
  'bin-refused': {
    meaning: 'Cosmos DB refused to write a bin.',
    hint: 'Name every field of the partition key in `stream`, and check the rights of the identity.',
  },
  'document-changing': {
    meaning: 'Another writer is changing or deleting the document.',
    hint: 'Read the document again, and repeat the call if it is still right.',
    retryable: true,
  },
  'document-exists': {
    meaning: 'The container already has a document with this id and partition key.',
    hint: 'Choose another id, or change that document.',
  },
  'document-key-missing': {
    meaning: 'The document has no value for a part of its partition key.',
    hint: 'Give the document every field of the partition key.',
    usage: true,
  },
  'document-missing': {
    meaning: 'The container has no document with this id and partition key.',
    hint: 'Check the id and the partition key. Another process may have deleted the document.',
  },
  'document-unmarked': {
    meaning: 'The document lacks the field `uniqueness` of this constraint.',
    hint: 'Create documents with the constraint, and keep the field `uniqueness` when you replace them.',
  },
  'order-invalid': {
    meaning: '`orderBy` is empty, or has a path that can’t be used.',
    hint: 'Give paths such as `/placedAt` or `/address/city`.',
    usage: true,
  },
  'page-size-invalid': {
    meaning: 'The page size is not valid.',
    hint: 'Give a whole number from 1 to 1,000.',
    usage: true,
  },
  'reservations-container': {
    meaning: 'The container can’t hold reservations: its partition key or its default time to live is wrong.',
    hint: 'Create a separate container with the partition key `/id` and a default time to live of -1.',
    usage: true,
  },
  'shards-invalid': {
    meaning: 'An option of `shardedKey`, or the value to choose a shard by, is not valid.',
    hint: 'Correct the value; the message names it.',
    usage: true,
  },
  'unique-rule-invalid': {
    meaning: 'A uniqueness constraint has an option that it can’t use.',
    hint: 'Correct the option; the message names it.',
    usage: true,
  },
  'unique-value-invalid': {
    meaning: 'The value that must be unique is not text, or is empty.',
    hint: 'Give text that is not empty.',
    usage: true,
  },
  'value-taken': {
    meaning: 'Another document has the value, or reserves it at the moment.',
    hint: 'Choose another value. If the error is retryable, the value may become free: repeat the call.',
  },
  'bins-invalid': {
    meaning: 'An option of `eventBins` has a value that it does not accept.',
    hint: 'Correct the option; the message names it.',
    usage: true,
  },
  'event-invalid': {
    meaning: 'An event has no id, or a date is not valid.',
    hint: 'Give each event an `id` of one character or more and a date `at`.',
    usage: true,
  },
  'bin-event-too-large': {
    meaning: 'One event is larger than a bin may be.',
    hint: 'Raise `maxBytes`, or store the event elsewhere and its address in the bin.',
    usage: true,
  },
} as const satisfies ErrorCatalogue;

export const patternsError = errorsOf(PATTERNS_ERRORS);
