import { type ErrorCatalogue, errorsOf, usage } from '../base/error-catalogue.ts';

export const ENGINE_ERRORS = {
  'erasure-gone': {
    meaning: 'Another process removed the record of the erasure while this one worked by it.',
    hint: 'Look at `millrace audit`. If the tenant still has to be erased, begin again.',
  },
  'erasures-full': {
    meaning: 'The pipeline has as many records of erased tenants as one document can hold.',
    hint: 'Remove the records of tenants that no longer write anything, and begin again.',
  },
  'letter-body-damaged': {
    meaning: 'The blob that holds the change of a dead letter can’t be read.',
    hint: 'Restore the blob from a backup or from soft delete, or run `millrace dead-letters discard`.',
  },
  'projection-held': {
    meaning: 'The projection waits: it is paused, its promotion is under way, or its deployment lacks something.',
    hint: 'Wait for the promotion, resume the projection, or correct the deployment: the message says which.',
    retryable: true,
  },
  'projection-incompatible': {
    meaning: 'The declaration of the projection changed, and no longer matches the data that this version has written.',
    hint: 'Undo the change and redrive the dead letters, or declare a new version and rebuild it.',
  },
  'resume-too-long': {
    meaning: 'Fan-out of earlier changes took too long, and Millrace will retry it.',
    hint: 'Wait. If it happens often, give the sink more throughput.',
    retryable: true,
  },
  'view-not-built': usage(
    'The projection has no current version: it was added after the first start and was never built.',
    'Run `millrace projections rebuild NAME`, then `millrace projections promote NAME`.',
  ),
  'waits-behind-parked': {
    meaning: 'An earlier change under the same key is a dead letter, so this change waits behind it.',
    hint: 'Fix the cause, then run `millrace dead-letters redrive --only NAME`. The waiting changes follow in their order.',
  },
} as const satisfies ErrorCatalogue;

export const engineError = errorsOf(ENGINE_ERRORS);
