import { type ErrorCatalogue, errorsOf, usage } from '../base/error-catalogue.ts';

export const NAME_MONITORED_ACCOUNT =
  'Set `COSMOS` and `COSMOS_DATABASE` to the account and database of that container. If that container was deleted, delete its leases too.';

export const LIST_TENANTS =
  'Run `millrace tenants list` to see the tenants, or `millrace archive list` to see those of the archive.';

export const WAIT_FOR_MOVE =
  'Wait for it. If its process has died, run its command again with `--take-over`, or 30 s after its last step without: it resumes. `millrace shards moves MAP` shows its id, and `millrace shards moves MAP --cancel ID` ends it, with `--take-over` at once.';

export const OPERATIONS_ERRORS = {
  'account-unprepared': usage(
    'A container that this command needs does not exist.',
    'Run `millrace model apply`; with `--dry-run` it shows what it would create.',
  ),
  'archive-none': usage(
    'The pipeline declares no archive.',
    "Declare one: `archive('orders-cold', { from: m.Orders.order, date: 'completedAt', after: '90d' })`.",
  ),
  'change-impossible': usage(
    'The model changes something that Cosmos DB fixes when a container is created.',
    'Give the container another name in the model and fill it again, or undo the change of the model.',
  ),
  'checkpoint-renumbered': usage(
    'Since the checkpoint was saved, its container may have lost changes and used their positions again, in a failover or before a recovery. A position of it may leave out changes.',
    'Give a time or the beginning instead: `--to TIME`, `--from TIME`. Delete the checkpoint.',
  ),
  'container-reserved': usage(
    'The model has a container with the name that Millrace uses for its own documents.',
    'Give Millrace another container with the setting `LEASES_CONTAINER` or `STATE_CONTAINER`.',
  ),
  'lease-host-running': {
    meaning: 'A host wrote a lease while the command needed all hosts stopped.',
    hint: 'Disable the function, or stop every instance of the service, then run the command again. A service scaled to zero is not stopped: it can start again. To rewind a running `millrace dev`, press Rewind on the page Feeds of its dashboard.',
  },
  'lease-unexplained': usage(
    'A document is not a lease of a format that Millrace knows.',
    'Find out which program wrote it. Millrace changed nothing.',
  ),
  'lease-unresolved': usage(
    'The lease names a partition that its container never had.',
    'The lease is from a container that was deleted and created again. Delete the lease.',
  ),
  'leases-half-moved': usage(
    'A host started while leases were moved, and some leases keep their new position.',
    'Stop the host, look at `millrace leases list`, and run the command again.',
  ),
  'leases-incomplete': usage(
    'The other processor has no lease for a part of the container, and would not create one.',
    'Delete its leases and its `.info`. Then copy the pipeline’s leases with `millrace leases export` and `millrace leases import --prefix`.',
  ),
  'reset-failed': {
    meaning: 'The `reset` of a custom projection threw an error or took too long, so its history was not applied.',
    hint: 'Correct `reset`, and run `millrace projections rebuild NAME` again.',
  },
  'not-caught-up': usage(
    'The new version is not filled yet, so it can’t be promoted.',
    'Wait until the rebuild ends, or resume it with `millrace projections rebuild NAME@VERSION`.',
  ),
  'not-staged': usage(
    'No new version of the projection is being built.',
    'Run `millrace projections show NAME`, or build a version with `millrace projections rebuild NAME`.',
  ),
  'operation-twice': {
    meaning: 'Two commands have the same name.',
    hint: 'Rename one of them. This is a fault of the program, not of your input.',
  },
  'no-way-back': usage(
    'Hosts do not keep the version before, so it lacks changes and can’t become current again at once.',
    'Build it again: declare it under a new version, then `millrace projections rebuild NAME`. `millrace projections show NAME` says which version is kept, and until when.',
  ),
  'parked-in-new': usage(
    'The new version has dead letters that the current version does not have.',
    'Fix the cause and run `millrace dead-letters redrive --only NAME@VERSION`. Or promote the version without these changes: `--even-parked`.',
  ),
  'rebuild-under-way': usage(
    'Another version of the projection is being built.',
    'Finish it with `millrace projections promote NAME`, or drop it with `millrace projections drop NAME@VERSION`.',
  ),
  'recover-undecided': usage(
    'Two histories explain what is stored, and a person must say which one happened.',
    'Run `millrace recover --dry-run` to see what is unknown, and give the option that it names.',
  ),
  'sink-shared': usage(
    'The new version writes the same type in the same container as another version.',
    'Give the new version its own container in the data model. An aggregate can have its own type instead.',
  ),
  'still-readable': usage(
    'Readers may still read this version, or hosts still keep it, so that it can become current again.',
    'Wait until the time that the message names. Where hosts keep the version, `millrace projections promote NAME --keep 0` ends that earlier; readers have ten minutes in any case.',
  ),
  'version-current': usage(
    'The version is current, so it can’t be rebuilt or dropped.',
    'Declare a higher version, rebuild it and promote it.',
  ),
  'writers-silent': usage(
    'Processes that write through the gate did not report that they stopped writing.',
    'Wait 90 s and run the command again: Millrace forgets processes that died. End processes that hang.',
  ),
  'input-invalid': usage(
    'A flag, an argument or a field of a request has a value that the command does not accept.',
    'Run the command with `--help`.',
  ),
  'too-slow': {
    meaning: 'Writers write faster than the command can follow, so it could not switch in time. Nothing was switched.',
    hint: 'Run the command again when less is written, or give the target more throughput: it resumes.',
    retryable: true,
  },
  'target-incomplete': {
    meaning: 'The target lacks documents of the source. Nothing was switched.',
    hint: 'Check that no process writes without the gate or the router. Then run the command again: it resumes.',
  },
  'leases-none': usage(
    'There are no leases for the command to work on, or none with this prefix.',
    'Start the pipeline with `millrace run` first, or name another processor’s leases by their whole prefix: `millrace leases list` shows them.',
  ),
  'version-read': usage(
    'A projection reads documents of a version that would be replaced or removed, or was, and that no other version writes.',
    'Give the reader another source, or remove it too. Then run the command again.',
  ),
  'leases-deferred': usage(
    'The leases have passed changes that are deferred. Another processor would never get these changes.',
    'Let the hosts run until `millrace status` shows nothing that is deferred. Then stop them and run the command again.',
  ),
  'backfill-key': usage(
    'The tenant field is part of the container’s partition key, which a write can’t change.',
    'Move the documents to a container with the new key: `millrace migrate NAME --into TARGET`.',
  ),
  'erase-denied': usage(
    'This identity may not delete everything that an erasure has to delete.',
    'Give it "Cosmos DB Built-in Data Contributor" on the account and, for a storage account with versions, "Storage Blob Data Owner". Then run the command again.',
  ),
  'erase-unfinished': {
    meaning: 'After several rounds a search still found documents of the tenant.',
    hint: 'Stop the part of the application that writes for this tenant. Then run the command again: it resumes.',
    retryable: true,
  },
  'erasure-open': usage(
    'The erasure of the tenant has begun to remove, and has not ended.',
    'Run `millrace tenants erase T --yes` to its end first.',
  ),
  'tenant-erased': usage(
    'The tenant is being erased, or was erased, so an export would have a part of its documents, or none.',
    'If the tenant comes back, run `millrace tenants admit T` first.',
  ),
  'tenant-moving': {
    meaning: 'Keys that may be the tenant’s move between shards, so each of both shards has a part of its documents.',
    hint: 'Wait until the move has ended (`millrace shards moves`); if its process has died, run its command again, or `millrace shards moves --cancel`. Then run the command again: an erasure that has begun resumes.',
    retryable: true,
  },
  'tenant-undeclared': usage(
    'The command got a tenant, but the pipeline declares none.',
    'Declare `tenant` in the pipeline, with the field that names it. Or leave `--tenant` out.',
  ),
  'move-archived': usage(
    'Some documents of the keys are archived, and no storage account is set.',
    'Set STORAGE and STORAGE_CONTAINER as the hosts have them, and run the command again.',
  ),
  'move-cancelled': {
    meaning: 'The range that moved was cancelled. No batch of it begins any more.',
    hint: 'Run the command again to move the rest of the range.',
  },
  'move-elsewhere': usage(
    'The keys of the move are on another shard than the one to which it brought them.',
    'Compare the versions by hand in both databases, and delete the document on the source of the move.',
  ),
  'move-switched': usage(
    'The map gives the keys to the target of the move already, so the move can’t be cancelled any more.',
    'Move the keys back with `millrace shards move`, once the move has ended. If its process has died, run its command again: it finishes.',
  ),
  'move-hosts-behind': {
    meaning: 'The hosts that read a shard did not acknowledge in time what the move waits for.',
    hint: 'Start the hosts, or delete the leases of processors that don’t run any more. Then run the command again: it resumes.',
    retryable: true,
  },
  'move-routers-silent': {
    meaning:
      'Routers did not report that they hold back writes of the keys, each time that the move asked them. Writes go on where they were.',
    hint: 'End the routers that the message names, or wait until they are forgotten. Then run the command again: it resumes.',
    retryable: true,
  },
  'move-leaving': usage(
    'A document of the keys is archived, and still stands in its container until it expires there.',
    'Wait until it has expired (a day after it was archived), or restore it: `millrace archive restore`. Then run the command again.',
  ),
  'move-target-full': usage(
    'The target already has documents of these keys, which no move has copied.',
    'Check which of both shards has the right documents, and delete the others.',
  ),
  'move-version-staged': usage(
    'A version of a projection is filled, or being filled, and not promoted, so nobody reads the copies with its leases.',
    'Run `millrace projections promote`, or `millrace projections drop`. Then run the command again.',
  ),
  'not-confirmed': usage(
    'The command can’t be undone and needs `--yes`.',
    'Look with `--dry-run` first, then add `--yes`.',
  ),
} as const satisfies ErrorCatalogue;

export const operationsError = errorsOf(OPERATIONS_ERRORS);
