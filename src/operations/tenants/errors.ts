import { type ErrorCatalogue, errorsOf } from '../../base/error-catalogue.ts';

export const TENANTS_ERRORS = {
  'container-of-no-tenant': {
    meaning: 'The container doesn’t exist in the data model, or its documents belong to no tenant.',
    hint: 'Name a container whose documents have the tenant’s field.',
    usage: true,
  },
  'export-exists': {
    meaning: 'The file of an export already exists.',
    hint: 'Name another file with `--out`, or add `--force` to replace it.',
    usage: true,
  },
  'tenant-undeclared': {
    meaning: 'The command got a tenant, but the pipeline declares none.',
    hint: 'Declare `tenant` in the pipeline, with the field that names it. Or leave `--tenant` out.',
    usage: true,
  },
  'tenant-unknown': {
    meaning: 'The command found no documents of this tenant.',
    hint: 'Run `millrace tenants list` to see the tenants, or `millrace archive list` to see those of the archive.',
    usage: true,
  },
} as const satisfies ErrorCatalogue;

export const tenantsError = errorsOf(TENANTS_ERRORS);
