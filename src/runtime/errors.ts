import { type ErrorCatalogue, errorsOf, usage } from '../base/error-catalogue.ts';

export const RUNTIME_ERRORS = {
  'lease-prefix-renamed': usage(
    'The lease prefix of the pipeline changed, so a start would read every feed from the beginning.',
    'Give the pipeline its former name back. If it is another pipeline, or must read everything again, set `LEASES_START_ANEW` to the new prefix.',
  ),
  'leases-lost': usage(
    'The lease container was made again, so a start would repeat effects, or miss changes.',
    'Import exported positions, or set `LEASES_START_ANEW` to the prefix of the pipeline to begin again.',
  ),
  'pipeline-missing': usage(
    'The folder has no `pipeline.ts`, or lacks the data-model document.',
    'Name the folder with `--pipeline`, or with `"millrace": { "pipeline": "FOLDER" }` in package.json.',
  ),
  'delivered-key-rewritten': {
    meaning:
      'The trigger delivered a deletion whose id or partition key holds a date. The Functions host may have rewritten the date, so the document is unknown.',
    hint: 'Read this pipeline with `millrace run`, which gets ids and keys as they are stored.',
    retryable: true,
  },
  'position-lost': {
    meaning:
      'A version that is being built has no position in an all-versions feed any more, so it may have missed deletions.',
    hint: 'Run `millrace projections rebuild NAME` again: it begins from nothing.',
  },
  'shard-map-differs': usage(
    'The data-model document states other containers of the shards than the stored shard map has.',
    'Run `millrace shards show MAP`, and correct the document. A map keeps what it was created with: for other containers create another map.',
  ),
  'projections-held': {
    meaning: 'All projections that read the container wait, because their deployment lacks something.',
    hint: 'Correct the deployment: `millrace model apply --dry-run` shows what is missing.',
    retryable: true,
  },
  'pipeline-wrong': usage(
    'The pipeline has errors.',
    'Correct what the message names; `millrace model check` lists all errors.',
  ),
  unloadable: usage(
    'A file of code can’t be imported, or exports something that Millrace can’t use.',
    'Run `npx tsc --noEmit` to see what doesn’t compile. No code in the file may throw during the import.',
  ),
} as const satisfies ErrorCatalogue;

export const runtimeError = errorsOf(RUNTIME_ERRORS);
