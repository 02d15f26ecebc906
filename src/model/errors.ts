import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';

export const MODEL_ERRORS = {
  'model-without-containers': {
    meaning:
      'Millrace found no container in the data-model document. It may be another document, or have a form that isn’t read.',
    hint: 'Write each container with its name and its key: a section `### Name Container` with `- **Partition Key**: /field`, or a table with the columns Container and Partition Key.',
    usage: true,
  },
} as const satisfies ErrorCatalogue;

export const modelError = errorsOf(MODEL_ERRORS);
