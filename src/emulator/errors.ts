import type { ErrorCatalogue } from '../base/error-catalogue.ts';

export const EMULATOR_ERRORS = {
  'emulator-answer': {
    meaning: 'The embedded server answers a request with an error status, like Cosmos DB.',
    hint: 'Handle the status and the sub-status as you handle those of Cosmos DB.',
  },
} as const satisfies ErrorCatalogue;
