import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';

export const PROJECTIONS_ERRORS = {
  poison: {
    meaning: 'One or more changes can’t be applied, however often Millrace tries.',
    hint: 'Correct the projection or the documents, then run `millrace dead-letters redrive`.',
  },
  'projection-threw': {
    meaning: 'A function of the projection threw an error.',
    hint: 'Correct the function or the document, then run `millrace dead-letters redrive`.',
  },
  'reaction-failed': {
    meaning: 'A reaction failed on every attempt.',
    hint: 'Fix the service that the reaction calls, then run `millrace dead-letters redrive`.',
  },
  'effect-unfinished': {
    meaning: 'An effect in `once` began, its host died, and nobody knows whether it ended.',
    hint: 'Look at the receiver. If it happened, run `millrace dead-letters discard`. If not, run `millrace projections rerun` for the document, then discard the letter.',
  },
  'sink-occupied': {
    meaning: 'The sink already has a document with this id, and another writer wrote it.',
    hint: 'Give the projection a type or a container of its own, or delete that document.',
  },
  'state-refused': {
    meaning: 'Cosmos DB refused a document in the state container.',
    hint: 'Check the size of the source document, and the rights of the identity on the state container.',
  },
  'sum-unsafe': {
    meaning: 'The sum of a measure would leave the range in which integers are exact (2^53).',
    hint: 'Sum a larger unit, group by more fields, or leave the document out with `where`.',
  },
  'value-of-other-type': {
    meaning: 'A projection returned a value of another type than the data-model document shows.',
    hint: 'Return the type that the model shows, or add an example with the other type to the data model. Then run `millrace dead-letters redrive`.',
  },
  'place-changed': {
    meaning:
      'The id or the partition key of a copy, or the group of a `stable` aggregate, would change: it depends on a joined document, or on a field that changed.',
    hint: "Take the id and the partition key from fields that never change, such as the document’s own id. For a copy, `missing: 'wait'` lets them come from a joined document.",
  },
} as const satisfies ErrorCatalogue;

export const projectionsError = errorsOf(PROJECTIONS_ERRORS);
