import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';

export const SHARDS_ERRORS = {
  'gate-closed': {
    meaning: 'The application closed the write gate, and then tried to write through it.',
    hint: 'Close the gate after the last write, or open a new one.',
  },
} as const satisfies ErrorCatalogue;

export const shardsError = errorsOf(SHARDS_ERRORS);
