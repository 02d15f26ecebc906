import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';

export const CLI_ERRORS = {
  'not-confirmed': {
    meaning: 'The command can’t be undone and needs `--yes`.',
    hint: 'Look with `--dry-run` first, then add `--yes`.',
    usage: true,
  },
} as const satisfies ErrorCatalogue;

export const cliError = errorsOf(CLI_ERRORS);
