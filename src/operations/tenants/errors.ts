import { type ErrorCatalogue, errorsOf } from '../../base/error-catalogue.ts';

export const TENANTS_ERRORS = {
  'tenant-undeclared': {
    meaning: 'The command got a tenant, but the pipeline declares none.',
    hint: 'Declare `tenant` in the pipeline, with the field that names it. Or leave `--tenant` out.',
    usage: true,
  },
  'tenant-unknown': {
    meaning: 'The archive has no documents of this tenant.',
    hint: 'Run `millrace archive list` to see the tenants.',
    usage: true,
  },
} as const satisfies ErrorCatalogue;

export const tenantsError = errorsOf(TENANTS_ERRORS);
