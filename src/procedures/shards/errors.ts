import { type ErrorCatalogue, errorsOf } from '../../base/error-catalogue.ts';

export const SHARD_VERBS_ERRORS = {
  'shard-ambiguous': {
    meaning: 'The shard map has several shards whose database has this name, in different accounts.',
    hint: 'Add `--endpoint`: the address of the account, as `millrace shards list` shows it.',
    usage: true,
  },
  'move-all-versions': {
    meaning: 'A processor reads a sharded container by its all-versions feed. A move would be an event for it.',
    hint: 'Keep the keys where they are, or stop that processor and delete its leases.',
    usage: true,
  },
  'move-archived': {
    meaning: 'Some documents of the keys are archived, and no storage account is set.',
    hint: 'Set STORAGE and STORAGE_CONTAINER as the hosts have them, and run the command again.',
    usage: true,
  },
  'move-cancelled': {
    meaning: 'The range that moved was cancelled. No batch of it begins any more.',
    hint: 'Run the command again to move the rest of the range.',
  },
  'move-elsewhere': {
    meaning: 'The keys of the move are on another shard than the one to which it brought them.',
    hint: 'Compare the versions by hand in both databases, and delete the document on the source of the move.',
    usage: true,
  },
  'move-flipped': {
    meaning: 'The map gives the keys to the target of the move already, so the move can’t be cancelled any more.',
    hint: 'Move the keys back with `millrace shards move`, once the move has ended. If its process has died, run its command again: it finishes.',
    usage: true,
  },
  'move-hosts-behind': {
    meaning: 'The hosts that read a shard did not acknowledge in time what the move waits for.',
    hint: 'Start the hosts, or delete the leases of processors that don’t run any more. Then run the command again: it resumes.',
    retryable: true,
  },
  'move-incomplete': {
    meaning: 'The target lacks documents of the source, though writes were held. The keys stay where they were.',
    hint: 'Run the command again: it resumes. If it happens again, a process writes without a router.',
    retryable: true,
  },
  'move-in-grace': {
    meaning: 'Keys have just left the shard that is the target now, and late writes of them may still arrive there.',
    hint: 'Wait until that move has ended: run its command again if its process has died.',
    retryable: true,
  },
  'move-keys-differ': {
    meaning: 'A sharded container has another partition key in the target than in the source.',
    hint: 'Create the container in the target with the same partition key.',
    usage: true,
  },
  'move-erasure': {
    meaning: 'A tenant is being erased, and a move would copy what the erasure removes.',
    hint: 'Wait until `millrace tenants erase` has ended (`millrace status` names it). Then run the command again.',
    retryable: true,
  },
  'move-recovery': {
    meaning:
      'A shard is being recovered after a restore or a failover, and a move would change what is compared there.',
    hint: 'Wait until `millrace recover` has ended. One that has died counts for 210 s. Then run the command again.',
    retryable: true,
  },
  'move-leaving': {
    meaning: 'A document of the keys is archived, and still stands in its container until it expires there.',
    hint: 'Wait until it has expired (a day after it was archived), or restore it: `millrace archive restore`. Then run the command again.',
    usage: true,
  },
  'move-offline': {
    meaning: 'The mapping is offline, and no move has taken it offline.',
    hint: 'Bring it online first: `millrace shards keys online`.',
    usage: true,
  },
  'move-opposite': {
    meaning: 'Another move copies in the opposite direction between two shards.',
    hint: 'Wait until that move has ended, or cancel it.',
    retryable: true,
  },
  'move-routers-silent': {
    meaning:
      'Routers did not report that they hold back writes of the keys, each time that the move asked them. Writes go on where they were.',
    hint: 'End the routers that the message names, or wait until they are forgotten. Then run the command again: it resumes.',
    retryable: true,
  },
  'move-state-missing': {
    meaning: 'The target has no state container, and the source has one. Epochs of the target can’t be stored.',
    hint: 'Create the state container in the database of the target: `millrace shards init --shard` for a pipeline over shards, else `millrace model apply` with `COSMOS_DATABASE` set to it.',
    usage: true,
  },
  'move-taken': {
    meaning: 'Another process has taken the move over. This one has stopped.',
    hint: 'Let the other process finish.',
  },
  'move-target-full': {
    meaning: 'The target already has documents of these keys, which no move has copied.',
    hint: 'Check which of both shards has the right documents, and delete the others.',
    usage: true,
  },
  'move-there': {
    meaning: 'The target has the keys already.',
    hint: 'Run `millrace shards show` to see which shard has which keys.',
    usage: true,
  },
  'move-too-slow': {
    meaning: 'The change-over did not end while writes may wait. The keys stay where they were.',
    hint: 'Run the command again: it resumes. Run it nearer to the account, or when less is written.',
    retryable: true,
  },
  'move-under-way': {
    meaning: 'A move of these keys is under way.',
    hint: 'Wait for it. If its process has died, run its command again with `--take-over`, or 30 s after its last step without: it resumes. `millrace shards moves MAP` shows its id, and `millrace shards moves MAP --cancel ID` ends it, with `--take-over` at once.',
    retryable: true,
  },
  'move-unknown': {
    meaning: 'There is no move with this id.',
    hint: 'Run `millrace shards moves` to see the moves.',
    usage: true,
  },
  'move-version-staged': {
    meaning:
      'A version of a projection is filled, or being filled, and not promoted, so no host reads the copies with its leases.',
    hint: 'Run `millrace projections promote`, or `millrace projections drop`. Then run the command again.',
    usage: true,
  },
  'shards-unsupported': {
    meaning: 'The operation can’t work on a pipeline over shards, or not in all places at once.',
    hint: 'See which operations can: docs/shards.md, "A pipeline over shards".',
    usage: true,
  },
} as const satisfies ErrorCatalogue;

export const shardVerbsError = errorsOf(SHARD_VERBS_ERRORS);
