import { type ErrorCatalogue, errorsOf, usage } from '../base/error-catalogue.ts';
import { sharedError } from '../base/shared-errors.ts';

/** Of an error about a map or a shard that there is not. */
export const LIST_MAPS = { hint: 'Run `millrace shards list` to see the maps and their shards.' };

export const SHARDS_ERRORS = {
  'gate-closed': {
    meaning: 'The application closed the write gate, and then tried to write through it.',
    hint: 'Close the gate after the last write, or open a new one.',
  },
  'container-unsharded': usage(
    'The schema of the shard map has no such sharded container, so no key says where its documents are.',
    'Correct the name, or read the container of one shard: every shard has reference containers in full.',
  ),
  'fence-closed': {
    meaning: 'The fence of a key doesn’t have its mapping, so no fenced write of the key takes effect.',
    hint: 'Try again: an operation on the map may be under way. If it stays so, the fence was deleted or restored: mark the mapping offline and online again.',
    retryable: true,
  },
  'fenced-write-refused': {
    meaning: 'Cosmos DB refused a fenced write because of one of its operations. Nothing of it took effect.',
    hint: 'Read the status in the message: 409 means that the document exists, 404 that it doesn’t, 412 that its condition does not hold.',
  },
  'keys-held': {
    meaning: 'Writes of a key were held back for longer than the router waits.',
    hint: 'Try again. The message says what holds them back.',
    retryable: true,
  },
  'keys-mapped': {
    meaning: 'Another mapping of the shard map has one of the keys already.',
    hint: 'Choose keys that no mapping has, or update, split or delete the mapping that the message names.',
  },
  'local-map-missing': {
    meaning: 'The shard has no local map.',
    hint: 'Check the location. If it is right, make the local map again: `millrace shards recover MAP --from map`. If the shard is elsewhere, detach it and attach it there.',
  },
  'map-operation-undone': {
    meaning: 'An operation on the shard map was begun and then undone, because a shard could not be changed.',
    hint: 'Remove the cause that the message names, then call again, with another operation id.',
    retryable: true,
  },
  'mapping-locked': {
    meaning: 'The mapping has a lock, and the call didn’t bring exactly the token of its owner.',
    hint: 'Bring the owner’s token (`owner`, on the command line `--owner`), wait until the owner unlocks the mapping, or unlock it by force: `millrace shards keys unlock --force`. Leave a lock of `millrace shards moves` alone: the move unlocks the mapping when it ends or is cancelled.',
  },
  'mapping-missing': {
    meaning: 'No mapping of the shard map has the key.',
    hint: 'Create a mapping for the key.',
  },
  'mapping-offline': {
    meaning: 'The mapping of a key is offline, so a router neither reads nor writes its documents.',
    hint: 'Try again when it is online. An administrator calls `markOnline`; `millrace shards moves` says whether a mover that died has left it so.',
    retryable: true,
  },
  'routers-not-stopped': {
    meaning: 'Routers of a shard did not acknowledge in time that they write no more what the shard has lost.',
    hint: 'End the processes that the message names, or wait until they answer, then call again. A process that is dead is forgotten after 82 seconds.',
    retryable: true,
  },
  'scheduled-shard-missing': {
    meaning: 'A period of a schedule has no shard. It is a warning before the period begins, and an error afterwards.',
    hint: 'Create the database and its containers that the message names, then run the schedule again.',
    retryable: true,
  },
  'shard-detached': {
    meaning: 'The shard is detached, so it takes no mapping and no request, and can’t be deleted.',
    hint: 'Attach the shard first.',
  },
  'shard-key-invalid': usage(
    'A value is not a key of the shard map’s key type.',
    'Give a value of the key type; the message names it.',
  ),
  'shard-query-failed': {
    meaning: 'A shard did not answer a multi-shard query, or refused it.',
    hint: 'Remove the cause that the message names. For the rows of the other shards, set `onFailure` to `partial`.',
  },
  'shard-query-moved': {
    meaning: 'Keys began to move to a shard after a multi-shard query had given rows.',
    hint: 'Run the query again from its beginning.',
    retryable: true,
  },
  'shard-silent': {
    meaning: 'The shard that has a key doesn’t answer, and the shard map names no other place for the key.',
    hint: 'Check that the account of the shard is reachable. If the database is lost, detach the shard.',
    retryable: true,
  },
  'shard-unfit': usage(
    'The database of a shard lacks a container, or one of its containers has another key than the map’s schema says.',
    'Create the container with the key that the message names: for a pipeline over shards with `millrace shards init --shard`. Then try again.',
  ),
  'strays-unknown': {
    meaning: 'A shard had more strays than its local map lists, so a query can’t leave their documents out.',
    hint: 'Delete the documents of keys that the map gives to other shards, then call `clearStrays(shard)`.',
  },
  stale: {
    meaning:
      'The shard, mapping or differences in hand are not the current ones: another call changed or deleted them.',
    hint: 'Read them again, and decide again.',
  },
  'shard-map-changing': {
    meaning: 'An operation on the shard map is under way, or its process died: the map and a shard differ.',
    hint: 'Try again. If it stays so, call `settle` of the shard map, then `check`.',
    retryable: true,
  },
  'shard-map-damaged': {
    meaning: 'Documents of a shard map, a local map or a gate are not as Millrace writes them.',
    hint: 'Check which identities may write to it. Make a local map again by `millrace shards recover MAP --from map`; restore the database of another document to a time before that.',
  },
  'shard-query-limit': {
    meaning: 'A multi-shard query took longer than it may.',
    hint: 'Narrow the query, or raise its limit: `withinMs` or `shardWithinMs`.',
  },
} as const satisfies ErrorCatalogue;

export const shardsError = errorsOf(SHARDS_ERRORS);

/** Keys that the kind of the map doesn't take, or that are in the wrong order. */
export const keysInvalid = (
  message: string,
  hint = 'Give `key` on a list map, and `low` below `high` on a range map.',
) => sharedError('option-invalid', message, { hint });
