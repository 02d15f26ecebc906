import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';

export const INGEST_ERRORS = {
  'event-not-json': {
    meaning: 'The body of an event is not JSON.',
    hint: 'Fix the producer, or declare the ingest with `format: "raw"` and read the bytes in `map`.',
  },
  'ingest-threw': {
    meaning: 'A function of the ingest threw an error.',
    hint: 'Correct the function or the event’s producer, then run `millrace dead-letters redrive`.',
  },
} as const satisfies ErrorCatalogue;

export const ingestError = errorsOf(INGEST_ERRORS);
