import { type ErrorCatalogue, errorsOf } from '../../base/error-catalogue.ts';

export const SHARD_VERBS_ERRORS = {
  'shard-account-unknown': {
    meaning: 'The shard is in another account than the shard maps, and the settings have no way to sign in there.',
    hint: 'Give the address of the account of the shard maps, or no `--endpoint`.',
    usage: true,
  },
  'shard-ambiguous': {
    meaning: 'The shard map has several shards whose database has this name, in different accounts.',
    hint: 'Add `--endpoint`: the address of the account, as `millrace shards list` shows it.',
    usage: true,
  },
} as const satisfies ErrorCatalogue;

export const shardVerbsError = errorsOf(SHARD_VERBS_ERRORS);
