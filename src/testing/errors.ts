import type { ErrorCatalogue } from '../base/error-catalogue.ts';

export const TESTING_ERRORS = {
  'host-died': {
    meaning: 'A test scenario with `crash` stopped a host between two requests, as it was asked to.',
    hint: 'Do nothing: the scenario continues from the checkpoint.',
    retryable: true,
  },
} as const satisfies ErrorCatalogue;
