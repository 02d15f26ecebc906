import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';

export const OPERATIONS_ERRORS = {
  'account-unprepared': {
    meaning: 'A container that this command needs does not exist.',
    hint: 'Run `millrace model apply`; with `--dry-run` it shows what it would create.',
    usage: true,
  },
  'already-paused': {
    meaning: 'The projection is already paused.',
    hint: 'Run `millrace projections resume NAME` to continue it.',
    usage: true,
  },
  'archive-none': {
    meaning: 'The pipeline declares no archive.',
    hint: "Declare one: `archive('orders-cold', { from: m.Orders.order, date: 'completedAt', after: '90d' })`.",
    usage: true,
  },
  'archive-unknown': {
    meaning: 'The pipeline declares no archive of this name.',
    hint: 'Name one of the archives that the pipeline declares.',
    usage: true,
  },
  'change-impossible': {
    meaning: 'The model changes something that Cosmos DB fixes when a container is created.',
    hint: 'Give the container another name in the model and fill it again, or undo the change of the model.',
    usage: true,
  },
  'checkpoint-exists': {
    meaning: 'A checkpoint of this name already exists.',
    hint: 'Choose another name, or delete it with `millrace checkpoints delete`.',
    usage: true,
  },
  'checkpoint-incomplete': {
    meaning: 'The checkpoint has no position for the whole range of a lease.',
    hint: 'Rewind to a time or to the beginning. The checkpoint was saved before that range had a position.',
    usage: true,
  },
  'checkpoint-other-container': {
    meaning: 'The checkpoint has no positions of this container.',
    hint: 'Run `millrace checkpoints list` to see its containers. Choose one of the pipeline’s containers with `--container`.',
    usage: true,
  },
  'checkpoint-renumbered': {
    meaning:
      'Since the checkpoint was saved, its container may have lost changes and used their positions again, in a failover or before a recovery. A position of it may leave out changes.',
    hint: 'Give a time or the beginning instead: `--to TIME`, `--from TIME`. Delete the checkpoint.',
    usage: true,
  },
  'checkpoint-unknown': {
    meaning: 'There is no checkpoint of this name.',
    hint: 'Run `millrace checkpoints list`, or save one with `millrace checkpoints save NAME`.',
    usage: true,
  },
  'container-key-differs': {
    meaning: 'The container of `--into` has another partition key than the container it stands in for.',
    hint: 'Name a container with the same partition key.',
    usage: true,
  },
  'container-reserved': {
    meaning: 'The model has a container with the name that Millrace uses for its own documents.',
    hint: 'Give Millrace another container with the setting `LEASES_CONTAINER` or `STATE_CONTAINER`.',
    usage: true,
  },
  'database-empty': {
    meaning: 'The database has no containers.',
    hint: 'Name another database with the setting `COSMOS_DATABASE`.',
    usage: true,
  },
  'dead-letter-unknown': {
    meaning: 'No dead letter has this id.',
    hint: 'Run `millrace dead-letters list` to see the ids.',
    usage: true,
  },
  'document-unknown': {
    meaning: 'The archive never had a document with this key and id.',
    hint: 'Give the key and the id that the document has in its container. `millrace archive list` shows the archive by month.',
    usage: true,
  },
  'file-unreadable': {
    meaning: 'A file that the command should read can’t be read, or has the wrong form.',
    hint: 'Check the path. For leases, name a file that `millrace leases export --file` wrote.',
    usage: true,
  },
  'file-unwritable': {
    meaning: 'A file that the command should write can’t be written.',
    hint: 'Check the path and the rights on the folder.',
    usage: true,
  },
  'folder-missing': {
    meaning: 'The folder does not exist.',
    hint: 'Create it, or name another one.',
    usage: true,
  },
  'gate-contended': {
    meaning: 'Another process changed the write gate of the container during the migration.',
    hint: 'Run the command again.',
    retryable: true,
  },
  'infra-unwritable': {
    meaning: 'A file of the infrastructure folder can’t be written.',
    hint: 'Check the rights on the folder, or name another one with `--out`.',
    usage: true,
  },
  'input-invalid': {
    meaning: 'A flag or an argument has a value that the command does not accept.',
    hint: 'Run the command with `--help`.',
    usage: true,
  },
  'lease-all-versions': {
    meaning: 'The lease or the container uses the all-versions feed, and the command can’t do this with that feed.',
    hint: 'Use a checkpoint or a position of that feed, or start at the present.',
    usage: true,
  },
  'lease-host-running': {
    meaning: 'A host wrote a lease while the command needed all hosts stopped.',
    hint: 'Disable the function, or stop every instance of the service, then run the command again. A service scaled to zero is not stopped: it can start again.',
  },
  'lease-twice': {
    meaning: 'The file of leases has two leases with the same id.',
    hint: 'Remove one of them from the file.',
    usage: true,
  },
  'lease-unexplained': {
    meaning: 'A document is not a lease of a format that Millrace knows.',
    hint: 'Find out which program wrote it. Millrace changed nothing.',
    usage: true,
  },
  'lease-unknown': {
    meaning: 'The group has no lease with this token.',
    hint: 'Name one of the leases that the message lists.',
    usage: true,
  },
  'lease-unresolved': {
    meaning: 'The lease names a partition that its container never had.',
    hint: 'The lease is from a container that was deleted and created again. Delete the lease.',
    usage: true,
  },
  'leases-half-moved': {
    meaning: 'A host started while leases were moved, and some leases keep their new position.',
    hint: 'Stop the host, look at `millrace leases list`, and run the command again.',
    usage: true,
  },
  'leases-incomplete': {
    meaning: 'The other processor has no lease for a part of the container, and would not create one.',
    hint: 'Delete its leases and its `.info`. Then copy the pipeline’s leases with `millrace leases export` and `millrace leases import --prefix`.',
    usage: true,
  },
  'leases-none': {
    meaning: 'There are no leases for the command to work on.',
    hint: 'Start the pipeline with `millrace run` first, or name another processor’s leases by their prefix.',
    usage: true,
  },
  'metrics-unreadable': {
    meaning: 'The file of metrics can’t be read, or is not JSON.',
    hint: 'See `millrace model import --help` for its form.',
    usage: true,
  },
  'metrics-wrong': {
    meaning: 'The file of metrics has the wrong form, or names a container that the account does not have.',
    hint: 'See `millrace model import --help` for its form.',
    usage: true,
  },
  'migrate-all-versions': {
    meaning: 'The pipeline reads a container of the migration by its all-versions feed, which has no history.',
    hint: "Remove `feed: 'all-versions'` from `source()` and mark deleted documents. Or migrate without the pipeline, then rebuild its projections.",
    usage: true,
  },
  'migrate-erasing': {
    meaning: 'A tenant is being erased. A migration would copy its documents into another container meanwhile.',
    hint: 'Wait until `millrace tenants erase` has ended. Then run the migration again: it resumes.',
    retryable: true,
  },
  'migrate-no-nearer': {
    meaning: 'Writers write faster than the migration copies, for longer than `--patience`.',
    hint: 'Raise the throughput of the target, or write less. Then run the command again: it resumes.',
    retryable: true,
  },
  'migrate-too-slow': {
    meaning: 'The migration could not switch the writers in time. They still write to the source.',
    hint: 'Run it again when writers write less, or give the target more throughput. Check that no process writes without the gate.',
    retryable: true,
  },
  'migration-done': {
    meaning: 'The migration has finished: writers already write to the target.',
    hint: 'Run `millrace migrate` with `--rollback` to go back. Drop the old container when no process reads it any more.',
    usage: true,
  },
  'migration-finished': {
    meaning: 'The migration has finished, so it can’t be abandoned.',
    hint: 'Run `millrace migrate` with `--rollback` to go back.',
    usage: true,
  },
  'migration-other': {
    meaning: 'Another migration of this container is in progress.',
    hint: 'Finish it first, or abandon it with `millrace migrate NAME --into TARGET --give-up`.',
    usage: true,
  },
  'migration-unknown': {
    meaning: 'There is no migration of this container.',
    hint: 'Name a container with a migration in progress.',
    usage: true,
  },
  'model-exists': {
    meaning: 'A modelling document already exists in the folder.',
    hint: 'Name another folder, or add `--overwrite`. `millrace model check --env NAME` compares the document with the account.',
    usage: true,
  },
  'model-missing': {
    meaning: 'There is no data-model document.',
    hint: 'Write `cosmosdb_data_model.md`, or let `millrace model import` draft it.',
    usage: true,
  },
  'model-unwritable': {
    meaning: 'A modelling document can’t be written.',
    hint: 'Check the rights on the file and its folder.',
    usage: true,
  },
  'monitored-unknown': {
    meaning: 'The leases belong to a container that is not in this database.',
    hint: 'Set `COSMOS` and `COSMOS_DATABASE` to the account and database of that container. If that container was deleted, delete its leases too.',
    usage: true,
  },
  'no-rollback': {
    meaning: 'There is no migration that could be rolled back.',
    hint: 'Name the container and the target (`--into`) of the last finished migration.',
    usage: true,
  },
  'custom-not-resettable': {
    meaning: 'A custom projection declares no `reset`, so Millrace can’t remove what it derived.',
    hint: 'Declare `reset` in `custom`, and run `millrace projections rebuild NAME`.',
    usage: true,
  },
  'not-a-reaction': {
    meaning: 'The verb runs reactions, and the projection is of another kind.',
    hint: 'Run `millrace projections replay NAME --dry-run`.',
    usage: true,
  },
  'replay-lists-documents': {
    meaning: 'A reaction can’t be replayed from a point: it runs again only for documents that you list.',
    hint: 'Run `millrace projections rerun NAME --key KEY --ids IDS --dry-run`.',
    usage: true,
  },
  'reset-failed': {
    meaning: 'The `reset` of a custom projection threw an error or took too long, so its history was not applied.',
    hint: 'Correct `reset`, and run `millrace projections rebuild NAME` again.',
  },
  'sink-not-rebuildable': {
    meaning: 'The outside sink declares no `rebuild`, so there is no second content to fill.',
    hint: 'Declare `rebuild` in the sink, or run `millrace projections replay NAME`.',
    usage: true,
  },
  'not-caught-up': {
    meaning: 'The new version is not filled yet, so it can’t be promoted.',
    hint: 'Wait until the rebuild ends, or resume it with `millrace projections rebuild NAME@VERSION`.',
    usage: true,
  },
  'not-staged': {
    meaning: 'No new version of the projection is being built.',
    hint: 'Run `millrace projections show NAME`, or build a version with `millrace projections rebuild NAME`.',
    usage: true,
  },
  'not-verifiable': {
    meaning: 'Millrace can’t recompute and compare this projection.',
    hint: 'Verify copies, aggregates, references, embeds, or sinks that declare `rows`.',
    usage: true,
  },
  'operation-twice': {
    meaning: 'Two commands have the same name.',
    hint: 'Rename one of them. This is a fault of the program, not of your input.',
  },
  'no-way-back': {
    meaning: 'Hosts do not keep the version before, so it lacks changes and can’t become current again at once.',
    hint: 'Build it again: declare it under a new version, then `millrace projections rebuild NAME`. `millrace projections show NAME` says which version is kept, and until when.',
    usage: true,
  },
  'promotes-already': {
    meaning: 'Another process promotes a version of this projection, or goes back to one.',
    hint: 'Wait for that process, or stop it. Then look at `millrace projections show NAME`, and run the command again.',
  },
  'parked-in-new': {
    meaning: 'The new version has dead letters that the current version does not have.',
    hint: 'Fix the cause and run `millrace dead-letters redrive --only NAME@VERSION`. Or promote the version without these changes: `--even-parked`.',
    usage: true,
  },
  'position-foreign': {
    meaning: 'The positions belong to another container than the one that the projection reads.',
    hint: 'Choose a checkpoint of this container (`millrace checkpoints list`), or a time with `--from`.',
    usage: true,
  },
  'position-missing': {
    meaning: 'A range has no stored position.',
    hint: 'Let the pipeline run until it has stored one.',
    usage: true,
  },
  'prefix-own': {
    meaning: 'The prefix names the pipeline’s own leases.',
    hint: 'Name the leases of the other function or service. `millrace leases list` shows them.',
    usage: true,
  },
  'prefix-unknown': {
    meaning: 'There are no leases with this prefix.',
    hint: 'Run `millrace leases list`, and give the whole prefix, up to the two dots.',
    usage: true,
  },
  'projection-in-place': {
    meaning: 'This kind of projection writes in place, so it has no versions side by side.',
    hint: 'Run `millrace projections list` to see which projections have versions.',
    usage: true,
  },
  'projection-unknown': {
    meaning: 'The pipeline declares no projection of this name or version.',
    hint: 'Run `millrace projections list` to see the names.',
    usage: true,
  },
  'promote-too-slow': {
    meaning: 'The new version did not reach the end of its feeds in time. The previous version is still current.',
    hint: 'Promote it again when writers write less, or give the sink more throughput.',
    retryable: true,
  },
  'rebuild-under-way': {
    meaning: 'Another version of the projection is being built.',
    hint: 'Finish it with `millrace projections promote NAME`, or drop it with `millrace projections drop NAME@VERSION`.',
    usage: true,
  },
  'recover-runs': {
    meaning: 'Another recovery of the pipeline runs, or died less than four minutes ago.',
    hint: 'Wait until it has ended. If it died, run `millrace recover` again after four minutes.',
  },
  'recover-undecided': {
    meaning: 'Two histories explain what is stored, and a person must say which one happened.',
    hint: 'Run `millrace recover --dry-run` to see what is unknown, and give the option that it names.',
    usage: true,
  },
  'rights-missing': {
    meaning: 'The identity has no right to do this in the account.',
    hint: 'Give it the role "Cosmos DB Built-in Data Contributor" on the account or the database. `millrace doctor` shows where it may write.',
    usage: true,
  },
  'rule-unknown': {
    meaning: 'There is no rule with this number.',
    hint: 'See the rules in docs/rules/README.md.',
    usage: true,
  },
  'same-container': {
    meaning: 'The source and the target of the migration are the same container.',
    hint: 'Name another container with `--into`.',
    usage: true,
  },
  'selection-missing': {
    meaning: 'The command does not say which dead letters to discard.',
    hint: 'Name a document by its id, or name a projection with `--only`, a reason with `--code` or a partition key with `--key`.',
    usage: true,
  },
  'settings-unreadable': {
    meaning: 'The file of rule settings can’t be read, or has the wrong form.',
    hint: 'Write one JSON object such as `{"frequent": 25, "outage": "7 d"}`.',
    usage: true,
  },
  'since-needed': {
    meaning: 'The pipeline has publishes or effects, which would run again for every change that is read again.',
    hint: 'Give `--since` with a time just before the disaster, or `--since beginning`.',
    usage: true,
  },
  'sink-shared': {
    meaning: 'The new version writes the same type in the same container as another version.',
    hint: 'Give the new version its own container in the data-model document. An aggregate can have its own type instead.',
    usage: true,
  },
  'start-needed': {
    meaning: 'The other processor has no position for a part of the container, so its start is not known.',
    hint: 'Add `--start beginning`, or `--start` with a time before the other processor first started.',
    usage: true,
  },
  'still-readable': {
    meaning: 'Readers may still read this version, or hosts still keep it, so that it can become current again.',
    hint: 'Wait until the time that the message names. `millrace projections promote NAME --keep 0` ends the keeping earlier.',
    usage: true,
  },
  'target-collision': {
    meaning: 'Two documents of the source would have the same key and id in the target.',
    hint: 'Choose another partition key, or make the ids unique under the new one.',
  },
  'target-incomplete': {
    meaning: 'The target lacks documents of the source. Writers still write to the source.',
    hint: 'Check that no process writes without the gate. Then run the command again: it resumes.',
  },
  'target-key-missing': {
    meaning: 'A document has no value at a path of the target’s partition key.',
    hint: 'Give every document a value there first, or choose another partition key.',
  },
  'number-rounded': {
    meaning: 'A document has a whole number that JavaScript can’t hold exactly, so a copy would have another one.',
    hint: 'Store the number as a text.',
  },
  'target-refused': {
    meaning: 'The target refused a document of the source.',
    hint: 'Check the size and the id of the document, and the unique keys of the target.',
  },
  'types-unwritable': {
    meaning: 'The file of types can’t be written.',
    hint: 'Check the rights on the file and its folder.',
    usage: true,
  },
  'version-current': {
    meaning: 'The version is current, so it can’t be rebuilt or dropped.',
    hint: 'Declare a higher version, rebuild it and promote it.',
    usage: true,
  },
  'version-exists': {
    meaning: 'The sink already has documents of the version that should be built.',
    hint: 'Remove them with `millrace projections drop NAME@VERSION`, or raise the version.',
    usage: true,
  },
  'version-unknown': {
    meaning: 'There is no version of this name that could be dropped.',
    hint: 'Name the version: `millrace projections drop NAME@VERSION`. `millrace projections list` shows the versions.',
    usage: true,
  },
  'writers-silent': {
    meaning: 'Processes that write through the gate did not report that they stopped writing.',
    hint: 'Wait 90 s and run the command again: Millrace forgets processes that died. End processes that hang.',
    usage: true,
  },
} as const satisfies ErrorCatalogue;

export const operationsError = errorsOf(OPERATIONS_ERRORS);

export type OperationsErrorCode = keyof typeof OPERATIONS_ERRORS;
