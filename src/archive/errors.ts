import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';

export const ARCHIVE_ERRORS = {
  'archive-no-ttl': {
    meaning:
      'A container that is read by its all-versions feed has no default time to live. A document leaves it for the archive by expiry, and without a default no document expires.',
    hint: 'State `TTL: -1` for the container in the data-model document, then run `millrace model apply`.',
    usage: true,
  },
  'archive-damaged': {
    meaning: 'A blob or a manifest of the archive is missing or was changed.',
    hint: 'Restore the blob or the manifest from a backup or from soft delete. `millrace archive verify` lists all damage; `millrace archive restore --skip-damaged` restores the rest.',
  },
  'archive-unavailable': {
    meaning: 'A host can’t read or write a blob of the archive.',
    hint: 'Check `STORAGE` and the storage account. Millrace reads the page again.',
    retryable: true,
  },
  'blob-unverified': {
    meaning: 'Millrace wrote a blob and could not read it back unchanged.',
    hint: 'Check the storage account, then run `millrace archive sweep` again. No document of the blob has left its container.',
    retryable: true,
  },
  'container-of-pipeline': {
    meaning:
      'The container of `--into` is one that the pipeline reads or writes. Copies of archived documents there would count as changes, or stand among derived documents.',
    hint: 'Name a container that nothing in the pipeline uses. Leave out `--into` to restore documents to their own container.',
    usage: true,
  },
  'document-address-wrong': {
    meaning: '`openHistory` was asked for a document or a month that can’t exist.',
    hint: 'Pass the name of the container, the levels of the partition key, and the `id`; months as `2026-01` or `2026`.',
  },
  'hold-refused': {
    meaning:
      'The storage account can’t set or remove a legal hold on a blob. It may have no version-level immutability.',
    hint: 'Enable versioning and version-level immutability for the blob container (`legalHolds` in infra/main.bicep). Azurite has no holds.',
    usage: true,
  },
  'hold-unknown': {
    meaning: 'The tenant is under no legal hold.',
    hint: 'List the holds with `millrace archive hold list`.',
    usage: true,
  },
  'removal-refused': {
    meaning: 'Cosmos DB refused to delete a document that the archive already holds.',
    hint: 'Check the rights of the identity on the container, then run `millrace archive sweep` again.',
  },
  'restore-refused': {
    meaning: 'Cosmos DB refused to store a document that comes from the archive.',
    hint: 'Check the size of the document, the unique keys of the container and the rights of the identity, then run `millrace archive restore` again.',
  },
  'restore-unseen': {
    meaning:
      'A document of a container that is read by its all-versions feed comes back only when a host has read that feed up to the restore, and none has.',
    hint: 'Start the hosts (`millrace run`, or the function app), wait until `millrace status` shows no lag, then run `millrace archive restore` again.',
    retryable: true,
  },
  'retention-refused': {
    meaning:
      'The storage account can’t keep a blob for the time of `retain`. It may have no version-level immutability, or keep the blob for longer already.',
    hint: 'Enable versioning and version-level immutability for the blob container (`legalHolds` in infra/main.bicep), or remove `retain` from the archive. Azurite has no retention. No document of the blob has left its container.',
    usage: true,
  },
  'storage-busy': {
    meaning: 'The storage account throttled or failed a request for a minute.',
    hint: 'Run the command again later. Millrace has left nothing half done. If it comes often, look at the ingress, egress and request limits of the account.',
    retryable: true,
  },
  'storage-missing': {
    meaning: 'The pipeline archives documents, and no setting names a storage account.',
    hint: 'Set `STORAGE` to the connection string of the storage account. The archive holds a part of the documents.',
    usage: true,
  },
  'storage-container-missing': {
    meaning: 'The blob container of the archive does not exist.',
    hint: 'Create it with `millrace model apply`, or name another in `STORAGE_CONTAINER`.',
    usage: true,
  },
  'storage-denied': {
    meaning: 'The storage account refused the key or the identity.',
    hint: 'Check `STORAGE`, or give the identity the role "Storage Blob Data Contributor" on the account.',
    usage: true,
  },
  'blob-offline': {
    meaning: 'A blob of the archive is in the Archive tier, where it can’t be read.',
    hint: 'Millrace moves no blob there. Set the tier of the blob to Hot in the storage account (`az storage blob set-tier --tier Hot`), which takes up to 15 hours, then try again. Remove the lifecycle rule that moved it.',
    usage: true,
  },
  'storage-unreachable': {
    meaning: 'Millrace can’t reach the storage account.',
    hint: 'Check the address in `STORAGE` and the network.',
    usage: true,
  },
} as const satisfies ErrorCatalogue;

export const archiveError = errorsOf(ARCHIVE_ERRORS);

export type ArchiveErrorCode = keyof typeof ARCHIVE_ERRORS;
