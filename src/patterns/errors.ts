import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';

export const PATTERNS_ERRORS = {
  'document-unmarked': {
    meaning: 'The document lacks the field `uniqueness` of this constraint.',
    hint: 'Create documents with the constraint, and keep the field `uniqueness` when you replace them.',
  },
  'value-taken': {
    meaning: 'Another document has the value, or reserves it at the moment.',
    hint: 'Choose another value. If the error is retryable, the value may become free: repeat the call.',
  },
} as const satisfies ErrorCatalogue;

export const patternsError = errorsOf(PATTERNS_ERRORS);
