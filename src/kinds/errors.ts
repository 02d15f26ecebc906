import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';

export const PROJECTIONS_ERRORS = {
  'batch-too-large': {
    meaning: 'One document changes more sink documents of a group than a transactional batch can hold.',
    hint: 'Use fewer `distinct` measures in one aggregate, or count coarser values.',
  },
  'join-state-missing': {
    meaning: 'A copy needs the stored state of a joined document, and Millrace could neither read nor create it.',
    hint: 'Check the state container. Millrace reads the page again.',
    retryable: true,
  },
  'measure-keep': {
    meaning: 'The `keep` function of a `top` measure returned no object, or an object that is too large.',
    hint: 'Return an object of at most 1,000 bytes of JSON from `keep`.',
  },
  'measure-not-a-number': {
    meaning: 'A measure that needs a number got a value that is not a finite number.',
    hint: 'Return a number, or leave the document out with `where`.',
  },
  'measure-not-text': {
    meaning: 'A `distinct` measure got a value that is not a string.',
    hint: 'Return the value as a string, or leave the document out with `where`.',
  },
  'measure-too-many-values': {
    meaning: 'One document has more different values for a `distinct` measure than a transactional batch can hold.',
    hint: 'Count coarser values, or let `groupBy` divide the rows of a document among more groups.',
  },
  'place-changed': {
    meaning: 'A new version of a reference document would get another id or partition key in the sink.',
    hint: 'Take the id and the partition key from fields that never change, such as the document’s own id.',
  },
  'place-depends-on-join': {
    meaning: 'The id or the partition key of a copy depends on a joined document.',
    hint: 'Take the id and the partition key from the copied document alone. Let `map` accept null for a joined document.',
  },
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
  'sink-collision': {
    meaning: 'Two source documents would have copies with the same id and partition key.',
    hint: 'Return an id from `map` that contains the partition key and the id of the source document.',
  },
  'sink-id-missing': {
    meaning: 'A projection returned a document without an id.',
    hint: 'Return a non-empty string as `id`.',
  },
  'sink-key-missing': {
    meaning: 'A sink document has no value for a part of its partition key.',
    hint: 'Return every field of the partition key from `map` or `groupBy`.',
  },
  'sink-occupied': {
    meaning: 'The sink already has a document with this id, and another writer wrote it.',
    hint: 'Give the projection a type or a container of its own, or delete that document.',
  },
  'sink-unreachable': {
    meaning: 'A sink outside of Cosmos DB could not take the documents.',
    hint: 'Check the service behind the sink. Millrace tries again.',
    retryable: true,
  },
  'state-refused': {
    meaning: 'Cosmos DB refused a document in the state container.',
    hint: 'Check the size of the source document, and the rights of the identity on the state container.',
  },
  'sum-unsafe': {
    meaning: 'The sum of a measure would leave the range in which integers are exact (2^53).',
    hint: 'Sum a larger unit, group by more fields, or leave the document out with `where`.',
  },
  'tenant-key-changed': {
    meaning: 'A key field of a tenant changed, so its copies would move to another partition key.',
    hint: 'Name a field in `key` that never changes, such as the tenant’s id.',
  },
  'tenant-key-missing': {
    meaning: 'A tenant has no value in a field that `key` names.',
    hint: 'Give every tenant that field, or name another field in `key`.',
  },
  'value-not-storable': {
    meaning:
      'A projection returned a value that JSON can’t hold, or left out a field that every document of the type has.',
    hint: 'Return a value that the type allows, or leave the document out with `where`. Then run `millrace dead-letters redrive`.',
  },
  'value-of-other-type': {
    meaning: 'A projection returned a value of another type than the data-model document shows.',
    hint: 'Return the type that the model shows, or add an example with the other type to the data-model document. Then run `millrace dead-letters redrive`.',
  },
  'event-too-large': {
    meaning: 'An event is larger than the event hub accepts.',
    hint: 'Return less from `map`: the fields that consumers need, or the key to read the document by.',
  },
} as const satisfies ErrorCatalogue;

export const projectionsError = errorsOf(PROJECTIONS_ERRORS);
