import { type ErrorCatalogue, errorsOf, usage } from '../base/error-catalogue.ts';

export const ARCHIVE_ERRORS = {
  'archive-no-ttl': usage(
    'A container that is read by its all-versions feed has no default time to live. A document leaves it for the archive by expiry, and without a default no document expires.',
    'State `TTL: -1` for the container in the data model, then run `millrace model apply`.',
  ),
  'archive-damaged': {
    meaning: 'A blob or a manifest of the archive is missing or was changed.',
    hint: 'Restore the blob or the manifest from a backup or from soft delete. `millrace archive verify` lists all damage; `millrace archive restore --skip-damaged` restores the rest.',
  },
  'blob-unverified': {
    meaning: 'Millrace wrote a blob and could not read it back unchanged.',
    hint: 'Check the storage account, then run `millrace archive sweep` again. No document of the blob has left its container.',
    retryable: true,
  },
  'restore-unseen': {
    meaning:
      'A document of a container that is read by its all-versions feed comes back only when a host has read that feed up to the restore, and none has.',
    hint: 'Start the hosts (`millrace run`, or the function app), wait until `millrace status` shows no lag, then run `millrace archive restore` again.',
    retryable: true,
  },
  'storage-container-missing': usage(
    'The blob container of the archive does not exist.',
    'Create it with `millrace model apply`, or name another in `STORAGE_CONTAINER`.',
  ),
  'blob-offline': usage(
    'A blob of the archive is in the Archive tier, where it can’t be read.',
    'Millrace moves no blob there. Set the tier of the blob to Hot in the storage account (`az storage blob set-tier --tier Hot`), which takes up to 15 hours, then try again. Remove the lifecycle rule that moved it.',
  ),
  'immutability-off': usage(
    'The storage account can’t set a legal hold or a retention on a blob, or can’t remove it.',
    'Enable versioning and version-level immutability for the blob container (`legalHolds` in infra/main.bicep). Azurite has no holds and no retention.',
  ),
} as const satisfies ErrorCatalogue;

export const archiveError = errorsOf(ARCHIVE_ERRORS);
