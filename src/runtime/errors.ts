import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';

export const RUNTIME_ERRORS = {
  'lease-prefix-renamed': {
    meaning: 'The lease prefix of the pipeline changed, so a start would read every feed from the beginning.',
    hint: 'Give the pipeline its former name back. If it is another pipeline, or must read everything again, set `LEASES_START_ANEW` to the new prefix.',
    usage: true,
  },
  'pipeline-missing': {
    meaning: 'The folder has no `pipeline.ts`, or lacks the data-model document.',
    hint: 'Name the folder with `--pipeline`, or with `"millrace": { "pipeline": "FOLDER" }` in package.json.',
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
  'pipeline-wrong': {
    meaning: 'The pipeline has errors.',
    hint: 'Correct what the message names; `millrace model check` lists all errors.',
    usage: true,
  },
  unloadable: {
    meaning: 'A file of code can’t be imported, or exports something that Millrace can’t use.',
    hint: 'Run `npx tsc --noEmit` to see what doesn’t compile. No code in the file may throw during the import.',
    usage: true,
  },
} as const satisfies ErrorCatalogue;

export const runtimeError = errorsOf(RUNTIME_ERRORS);
