import { type ErrorCatalogue, errorsOf } from '../../base/error-catalogue.ts';

export const SHARD_VERBS_ERRORS = {
  'shard-ambiguous': {
    meaning: 'The shard map has several shards whose database has this name, in different accounts.',
    hint: 'Add `--endpoint`: the address of the account, as `millrace shards list` shows it.',
    usage: true,
  },
  'shards-unsupported': {
    meaning: 'The operation can’t work on a pipeline over shards, or not in all places at once.',
    hint: 'See which operations can: docs/shards.md, "A pipeline over shards".',
    usage: true,
  },
} as const satisfies ErrorCatalogue;

export const shardVerbsError = errorsOf(SHARD_VERBS_ERRORS);
