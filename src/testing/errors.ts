import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';

export const TESTING_ERRORS = {
  'host-died': {
    meaning: 'A test scenario with `crash` stopped a host between two requests, as it was asked to.',
    hint: 'Do nothing: the scenario continues from the checkpoint.',
    retryable: true,
  },
  'not-in-tests': {
    meaning: 'The test kit does not have a service that the pipeline needs.',
    hint: 'Use `millrace dev`, which has it.',
    usage: true,
  },
  'pattern-unknown': {
    meaning: '`--only` names a pattern that the two modelling documents do not have.',
    hint: 'Give the number of an access pattern, such as `--only 3`.',
    usage: true,
  },
  'table-unknown': {
    meaning: 'A test scenario expects rows of a table that no projection writes.',
    hint: 'Use the name of a table of the pipeline.',
    usage: true,
  },
  'type-unknown': {
    meaning: 'The data-model document has no example of this type.',
    hint: 'Name a container and a type of the data-model document.',
    usage: true,
  },
} as const satisfies ErrorCatalogue;

export const testingError = errorsOf(TESTING_ERRORS);
