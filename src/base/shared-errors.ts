import { type ErrorCatalogue, errorsOf } from './error-catalogue.ts';

/** The codes of this room, and codes of several rooms that can't import one another. */
export const SHARED_ERRORS = {
  aborted: {
    meaning: 'The caller aborted the call.',
    hint: 'Repeat the call if you still need its result.',
  },
  'container-unknown': {
    meaning: 'The pipeline, the model or a test scenario has no container of this name.',
    hint: 'Correct the name, or add the container to the data-model document.',
    usage: true,
  },
  contended: {
    meaning: 'Other writers changed the same documents on every attempt.',
    hint: 'Try again; if it keeps happening, let fewer writers write to one document.',
    retryable: true,
  },
  'continuation-invalid': {
    meaning: 'A continuation token was changed, or belongs to another query or feed.',
    hint: 'Pass the token as it was returned.',
    usage: true,
  },
  'data-folder-unusable': {
    meaning: 'Millrace can’t write to the data folder, or another process uses it.',
    hint: 'Give `--data` a folder that you may write to.',
    usage: true,
  },
  'database-missing': {
    meaning: 'The account has no database of this name.',
    hint: 'Create the database, or correct its name.',
    usage: true,
  },
  'document-refused': {
    meaning: 'Cosmos DB refused to store a document.',
    hint: 'Check the size of the document, its id and its partition key.',
  },
  'emulator-command-refused': {
    meaning: 'The embedded server did not accept the command.',
    hint: 'Correct the command; the message says what the server answered.',
    usage: true,
  },
  'emulator-file-unusable': {
    meaning: 'A file of the embedded server can’t be read or written.',
    hint: 'Check the path and the rights on the file, or name another file.',
    usage: true,
  },
  'env-file-unreadable': {
    meaning: 'The settings file that `--env` names can’t be read.',
    hint: 'Write `millrace.NAME.env` with lines such as `COSMOS_DATABASE=shop`.',
    usage: true,
  },
  'env-invalid': {
    meaning: '`--env` has a value that can’t be part of a file name.',
    hint: 'Use letters, digits, - and _: `--env production` reads `millrace.production.env`.',
    usage: true,
  },
  'format-too-new': {
    meaning: 'A stored document has the format of a later version of Millrace.',
    hint: 'Upgrade this host to the version that wrote the document: see docs/upgrading.md.',
    retryable: true,
  },
  'jobs-url-missing': {
    meaning: 'Background jobs need a Redis or PostgreSQL server, but no setting names one.',
    hint: 'Set `JOBS_URL` to the address of the server.',
    usage: true,
  },
  'setting-invalid': {
    meaning: 'A setting has a value that Millrace can’t use.',
    hint: 'Correct the setting; the message names it and says what it takes.',
    usage: true,
  },
  'setting-missing': {
    meaning: 'A required setting is missing.',
    hint: 'Set the setting that the message names.',
    usage: true,
  },
  'sink-refused': {
    meaning: 'The sink refused a document, and would refuse it again.',
    hint: 'Correct the document or the projection, then run `millrace dead-letters redrive`.',
  },
  'source-unknown': {
    meaning: 'No projection of the pipeline reads a container of this name.',
    hint: 'Name a source container: `millrace projections list` lists them.',
    usage: true,
  },
} as const satisfies ErrorCatalogue;

export const sharedError = errorsOf(SHARED_ERRORS);
