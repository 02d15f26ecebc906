import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';

export const JOBS_ERRORS = {
  'jobs-unreachable': {
    meaning: 'The datastore of the background jobs can’t be used.',
    hint: 'Check `JOBS_URL`, the network and the rights. In PostgreSQL the role must be able to create a schema, once.',
    usage: true,
  },
  'jobs-url-invalid': {
    meaning: 'The setting `JOBS_URL` is not the address of a Redis or PostgreSQL server.',
    hint: 'Write it as `redis://HOST:6379`, `rediss://:PASSWORD@HOST:6380` or `postgres://USER:PASSWORD@HOST:5432/DATABASE`. In Azure, a user without a password signs in by identity.',
    usage: true,
  },
} as const satisfies ErrorCatalogue;

export const jobsError = errorsOf(JOBS_ERRORS);
