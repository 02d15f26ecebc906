import { type ErrorCatalogue, errorsOf } from '../../base/error-catalogue.ts';

export const BACKLOG_ERRORS = {
  'backlog-drained': {
    meaning: 'The pipeline reads the container, so its hosts apply what is set aside.',
    hint: 'Run a host, and wait until `millrace status` shows nothing that is set aside.',
    usage: true,
  },
  'backlog-none': {
    meaning: 'No changes of this container are set aside.',
    hint: 'Run `millrace doctor`: it names the containers of which changes are set aside that no host drains.',
    usage: true,
  },
  'leases-backlog': {
    meaning: 'The leases have passed changes that are set aside. Another processor would never get these changes.',
    hint: 'Let the hosts run until `millrace status` shows nothing that is set aside. Then stop them and run the command again.',
    usage: true,
  },
} as const satisfies ErrorCatalogue;

export const backlogError = errorsOf(BACKLOG_ERRORS);
