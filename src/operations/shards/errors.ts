import { type ErrorCatalogue, errorsOf } from '../../base/error-catalogue.ts';

export const SHARD_VERBS_ERRORS = {
  'shard-ambiguous': {
    meaning: 'The shard map has several shards whose database has this name, in different accounts.',
    hint: 'Add `--endpoint`: the address of the account, as `millrace shards list` shows it.',
    usage: true,
  },
} as const satisfies ErrorCatalogue;

export const shardVerbsError = errorsOf(SHARD_VERBS_ERRORS);
