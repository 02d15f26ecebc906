import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';

export const RUNTIME_ERRORS = {
  'checkpoints-unavailable': {
    meaning: 'The blob container for the checkpoints of ingests can’t be used.',
    hint: 'Check `STORAGE`, and give the identity the role "Storage Blob Data Contributor".',
    usage: true,
  },
  'event-hubs-unreachable': {
    meaning: 'The Event Hubs namespace can’t be reached.',
    hint: 'Check `EVENTHUBS` or `EVENTHUBS__fullyQualifiedNamespace`, and that port 5671 is open to the namespace.',
    usage: true,
  },
  'lease-prefix-renamed': {
    meaning: 'The lease prefix of the pipeline changed, so a start would read every feed from the beginning.',
    hint: 'Give the pipeline its former name back. If it is another pipeline, or must read everything again, set `LEASES_START_ANEW` to the new prefix.',
    usage: true,
  },
  overtaken: {
    meaning: 'Another process took over this work: it has had all leases for 30 s.',
    hint: 'Let the other process finish, or end it. `millrace jobs list` and `millrace leases list` show it.',
    retryable: true,
  },
  'package-unreadable': {
    meaning: 'A package.json is not valid JSON, or its `"millrace".pipeline` is not a string.',
    hint: 'Correct the file, or name the folder with `--pipeline`.',
    usage: true,
  },
  'pipeline-missing': {
    meaning: 'The folder has no `pipeline.ts`, or lacks the data-model document.',
    hint: 'Name the folder with `--pipeline`, or with `"millrace": { "pipeline": "FOLDER" }` in package.json.',
    usage: true,
  },
  'pipeline-unloadable': {
    meaning: 'The pipeline file can’t be imported, or its default export is not a pipeline.',
    hint: 'Run `npx tsc --noEmit` to see what doesn’t compile. No code in the file may throw during the import.',
    usage: true,
  },
  'delivered-key-rewritten': {
    meaning:
      'The trigger delivered a deletion whose id or partition key holds a date. The Functions host may have rewritten the date, so the document is unknown.',
    hint: 'Read this pipeline with `millrace run`, which gets ids and keys as they are stored.',
    retryable: true,
  },
  'position-lost': {
    meaning:
      'A version that is being built has no position in an all-versions feed any more, so it may have missed deletions.',
    hint: 'Drop the version with `millrace projections drop NAME@VERSION`, and rebuild it.',
  },
  'shard-map-differs': {
    meaning: 'The data-model document states other containers of the shards than the stored shard map has.',
    hint: 'Run `millrace shards check --document`, and correct the document. A map keeps what it was created with: for other containers create another map.',
    usage: true,
  },
  'projections-held': {
    meaning: 'All projections that read the container wait, because their deployment lacks something.',
    hint: 'Correct the deployment: `millrace model apply --dry-run` shows what is missing.',
    retryable: true,
  },
  'model-wrong': {
    meaning: 'The data-model document has errors.',
    hint: 'Correct the lines that the message names; `millrace model check` lists them all.',
    usage: true,
  },
  'pipeline-wrong': {
    meaning: 'The pipeline has errors.',
    hint: 'Correct what the message names; `millrace model check` lists all errors.',
    usage: true,
  },
} as const satisfies ErrorCatalogue;

export const runtimeError = errorsOf(RUNTIME_ERRORS);

export type RuntimeErrorCode = keyof typeof RUNTIME_ERRORS;
