import { type ErrorCatalogue, errorsOf } from '../../base/error-catalogue.ts';

export const TENANTS_ERRORS = {
  'backfill-key': {
    meaning: 'The tenant field is part of the container’s partition key, which a write can’t change.',
    hint: 'Move the documents to a container with the new key: `millrace migrate NAME --into TARGET`.',
    usage: true,
  },
  'backfill-moved': {
    meaning: 'The write gate of the container leads to another container.',
    hint: 'Run the backfill for the container that writers write to.',
    usage: true,
  },
  'backfill-overtaken': {
    meaning: 'Another process has taken over the backfill, because this one did not renew its lock.',
    hint: 'Wait until the other one has ended. Then run the command again: it resumes.',
    retryable: true,
  },
  'backfill-runs': {
    meaning: 'Another process backfills this container.',
    hint: 'Wait until it has ended. If it died, its lock is free after 210 s.',
    retryable: true,
  },
  'container-of-no-tenant': {
    meaning: 'The container doesn’t exist in the data model, or its documents belong to no tenant.',
    hint: 'Name a container whose documents have the tenant’s field.',
    usage: true,
  },
  'erase-denied': {
    meaning: 'This identity may not delete everything that an erasure has to delete.',
    hint: 'Give it "Cosmos DB Built-in Data Contributor" on the account and, for a storage account with versions, "Storage Blob Data Owner". Then run the command again.',
    usage: true,
  },
  'erase-runs': {
    meaning: 'Another process erases a tenant of this pipeline.',
    hint: 'Wait until it has ended. If it died, its lock is free after 210 s.',
    retryable: true,
  },
  'erase-unfinished': {
    meaning: 'After several rounds a search still found documents of the tenant.',
    hint: 'Stop the part of the application that writes for this tenant. Then run the command again: it resumes.',
    retryable: true,
  },
  'erasure-none': {
    meaning: 'The tenant has no record of an erasure.',
    hint: 'Check the name of the tenant. A tenant without a record can be used.',
    usage: true,
  },
  'erasure-open': {
    meaning: 'The erasure of the tenant has begun to remove, and has not ended.',
    hint: 'Run `millrace tenants erase T --yes` to its end first.',
    usage: true,
  },
  'export-exists': {
    meaning: 'The file of an export already exists.',
    hint: 'Name another file with `--out`, or add `--force` to replace it.',
    usage: true,
  },
  'tenant-erased': {
    meaning: 'The tenant is being erased, or was erased, so an export would have a part of its documents, or none.',
    hint: 'If the tenant comes back, run `millrace tenants admit T` first.',
    usage: true,
  },
  'tenant-moving': {
    meaning: 'Keys that may be the tenant’s move between shards, so each of both shards has a part of its documents.',
    hint: 'Wait until the move has ended (`millrace shards moves`); if its process has died, run its command again, or `millrace shards moves --cancel`. Then run the command again: an erasure that has begun resumes.',
    retryable: true,
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
