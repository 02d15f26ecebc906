import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';

export const INGEST_ERRORS = {
  'event-id-wrong': {
    meaning: '`map` returned an id that is not a string, or is empty.',
    hint: 'Return an id of one character or more, or no id.',
  },
  'event-key-missing': {
    meaning: 'The document that `map` returned has no value for a part of its partition key.',
    hint: 'Return every field of the partition key from `map`, or null if the event becomes no document.',
  },
  'event-mapped-wrong': {
    meaning: '`map` returned a value that is not an object.',
    hint: 'Return the document as an object, or null if the event becomes no document.',
  },
  'event-number-rounded': {
    meaning: 'The document of an event has a whole number that JavaScript can’t hold exactly.',
    hint: 'Send the number as a text, or leave it out in `map`. Then run `millrace dead-letters redrive`.',
  },
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
