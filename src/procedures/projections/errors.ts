import { type ErrorCatalogue, errorsOf } from '../../base/error-catalogue.ts';

export const PROJECTION_ERRORS = {
  'version-read': {
    meaning: 'A projection that should be removed writes documents that another projection reads.',
    hint: 'Remove the other projection too, or give it another source. Then run the command again.',
    usage: true,
  },
} as const satisfies ErrorCatalogue;

export const projectionError = errorsOf(PROJECTION_ERRORS);
