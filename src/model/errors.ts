import { type ErrorCatalogue, errorsOf, usage } from '../base/error-catalogue.ts';

export const MODEL_ERRORS = {
  'model-without-containers': usage(
    'Millrace found no container in the data-model document. It may be another document, or have a form that isn’t read.',
    'Write each container with its name and its key: a section `### Name Container` with `- **Partition Key**: /field`, or a table with the columns Container and Partition Key.',
  ),
} as const satisfies ErrorCatalogue;

export const modelError = errorsOf(MODEL_ERRORS);
