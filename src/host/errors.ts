import { type ErrorCatalogue, errorsOf, usage } from '../base/error-catalogue.ts';

export const HOST_ERRORS = {
  'authentication-off': usage(
    '`MILLRACE_AUTH` requires signed-in callers, and App Service authentication is off.',
    'Deploy `infra/` with the parameter `entraClientId`, which switches it on.',
  ),
  'container-differs': {
    meaning: 'A deployed container differs from what the pipeline needs.',
    hint: 'Show the differences with `millrace model apply --dry-run`, or deploy `infra/` again.',
  },
  'event-metadata-missing': {
    meaning: 'The Functions host delivered events without their sequence numbers.',
    hint: 'Use version 5 or later of the Event Hubs extension.',
  },
  'init-install': {
    meaning: 'The project is written, but npm could not install its packages.',
    hint: 'Run `npm install` in the project again; npm’s own messages above say why it failed. Without a network: `npm install --offline --omit=dev`.',
  },
  'role-missing': usage(
    'The caller of an HTTP request lacks the app role for it.',
    'Assign it in Microsoft Entra ID: Enterprise applications → this application → Users and groups.',
  ),
  'shutting-down': {
    meaning: 'The function app is shutting down and takes no more work.',
    hint: 'Try again; another instance takes the work.',
    retryable: true,
  },
  unauthenticated: usage(
    'The caller of an HTTP request is not signed in.',
    'Send a bearer token for this application beside the key.',
  ),
  unexpected: {
    meaning: 'An error without a code of Millrace: from a library, the runtime or your own code.',
    hint: 'Read the message; the log may have more.',
  },
  'tables-unready': {
    meaning: 'Hosts can’t write a table, so the changes of its source wait.',
    hint: 'Run `millrace doctor`: it names each fault of the tables with its remedy.',
  },
  'app-invalid': usage(
    'A function app has an error, so `millrace functions start` can’t run it.',
    'Correct the file, function or binding that the message names.',
  ),
  'dev-restart': usage(
    'The running `millrace dev` can’t take over the changed pipeline: it needs another server or name, or new data.',
    'Stop `millrace dev` and start it again. The pipeline before runs on until then.',
  ),
  'app-place-invalid': usage(
    'A function app of a pipeline over shards doesn’t say which place it works on, or SHARD_RID isn’t the `_rid` of its database.',
    'Set SHARD_DATABASE to the database of a shard, and SHARD_RID to the value that the message names.',
  ),
  'app-place-unknown': usage(
    'SHARD_DATABASE of a function app names no shard of the map.',
    'Set SHARD_DATABASE to the database of a shard, and SHARD_COSMOS or SHARD_COSMOS__accountEndpoint to its account if that isn’t the account of COSMOS.',
  ),
  'process-ended': {
    meaning: 'A process or a thread that Millrace started did not start, or ended unexpectedly.',
    hint: 'Read the lines before this message, then run the command again.',
  },
} as const satisfies ErrorCatalogue;

export type HostErrorCode = keyof typeof HOST_ERRORS;

export const hostError = errorsOf(HOST_ERRORS);
