import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';
import { GIVE_DATA_ROLE } from '../cosmos/failure.ts';

export const SHARDS_ERRORS = {
  'gate-closed': {
    meaning: 'The application closed the write gate, and then tried to write through it.',
    hint: 'Close the gate after the last write, or open a new one.',
  },
  'container-unsharded': {
    meaning: 'The schema of the shard map has no such sharded container, so no key says where its documents are.',
    hint: 'Correct the name, or read the container of one shard: every shard has reference containers in full.',
    usage: true,
  },
  'container-unfenced': {
    meaning: 'The schema of the shard map doesn’t name the container in `fenced`, so its keys have no fences.',
    hint: 'Write with a pass: `router.enter`. Fences are chosen when the shard map is created.',
    usage: true,
  },
  'differences-invalid': {
    meaning: '`repair` got no differences, too many, or differences of several shards.',
    hint: 'Repair one shard at a time, and at most 40 differences in one call.',
    usage: true,
  },
  'differences-void': {
    meaning: 'The differences in hand are not the current ones: the shard map was changed since `check`.',
    hint: 'Call `check` again, and decide again.',
  },
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
  'keys-invalid': {
    meaning: 'The keys of a mapping don’t fit the kind of the map, or its low key is not below its high key.',
    hint: 'Give `key` on a list map, and `low` below `high` on a range map.',
    usage: true,
  },
  'gate-damaged': {
    meaning: 'The gate of a shard is not as this version of Millrace, or any other, writes it.',
    hint: 'Delete the document that the message names: the next process creates it again. Check which identities may write to the container `routers`.',
  },
  'keys-mapped': {
    meaning: 'Another mapping of the shard map has one of the keys already.',
    hint: 'Choose keys that no mapping has, or update, split or delete the mapping that the message names.',
  },
  'local-map-missing': {
    meaning: 'The shard has no local map.',
    hint: 'Check the location. If the shard is elsewhere, detach it and attach it there.',
  },
  'local-map-unfit': {
    meaning: 'A local map is of another map or shard, or has documents that its shard map can’t have.',
    hint: 'Check the location, and which identities may write to the container `shardmap`. Restore the database of the shard if its documents were changed.',
  },
  'map-operation-undone': {
    meaning: 'An operation on the shard map was begun and then undone, because a shard could not be changed.',
    hint: 'Remove the cause that the message names, then call again, with another operation id.',
    retryable: true,
  },
  'mapping-changing': {
    meaning:
      'The shard map and a shard have different mappings of a key: an operation is under way, or its process died.',
    hint: 'Try again. If it stays so, call `settle` of the shard map, then `check`.',
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
  'mapping-online': {
    meaning: 'The mapping is online, so it can’t be deleted or moved to another shard.',
    hint: 'Mark the mapping offline first.',
  },
  'mapping-void': {
    meaning: 'The mapping in hand is not the current one: it was changed or deleted since it was read.',
    hint: 'Read the mapping again, and decide again.',
  },
  'mappings-not-neighbours': {
    meaning: 'Two mappings can’t be merged: the first doesn’t end where the second begins, or shard or status differ.',
    hint: 'Give two neighbours, the lower one first, on one shard and in one status.',
  },
  'operation-id-used': {
    meaning: 'An operation id was used again for another call.',
    hint: 'Use an operation id for one call and its repetitions only.',
    usage: true,
  },
  'routers-not-stopped': {
    meaning: 'Routers of a shard did not acknowledge in time that they write no more what the shard has lost.',
    hint: 'End the processes that the message names, or wait until they answer, then call again. A process that is dead is forgotten after 82 seconds.',
    retryable: true,
  },
  'shard-schedule-invalid': {
    meaning: 'A schedule of shards is not valid, or the shard map has no times as keys.',
    hint: 'Correct the value that the message names. A schedule needs a range map of dateTime or dateTimeOffset.',
    usage: true,
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
  'shard-exists': {
    meaning: 'The shard map has a shard at this location already.',
    hint: 'Use that shard, or give another location.',
  },
  'shard-key-invalid': {
    meaning: 'A value is not a key of the shard map’s key type.',
    hint: 'Give a value of the key type; the message names it.',
    usage: true,
  },
  'shard-map-container': {
    meaning: 'The container `shardmaps` has the wrong partition key, or no default time to live.',
    hint: 'Create the container with the partition key `/pk` and a default time to live of -1.',
    usage: true,
  },
  'shard-map-changing': {
    meaning:
      'During every attempt of a query to read which shard has which keys, an operation on the shard map was under way.',
    hint: 'Try again. If it keeps happening, call `settle` on the map.',
    retryable: true,
  },
  'shard-map-contended': {
    meaning: 'Other processes changed the shard map during every attempt.',
    hint: 'Try again with the same operation id. If it keeps happening, let fewer processes change one map.',
    retryable: true,
  },
  'shard-map-damaged': {
    meaning: 'Documents of a shard map, or of a local map, were written or deleted without a commit.',
    hint: 'Restore the database of the message to a time before that, and check which identities may write to it.',
  },
  'shard-map-denied': {
    meaning: 'The identity may not read or write the shard map, or the local map of a shard.',
    hint: GIVE_DATA_ROLE,
  },
  'shard-map-facts': {
    meaning:
      'A shard map can’t be rebuilt, because its local maps have no kind, key type and schema, or different ones.',
    hint: 'Give the locations of one map only. If an earlier version wrote them, create the map with the facts that it had, then call again.',
  },
  'shard-map-exists': {
    meaning: 'There is a shard map of this name already; names that differ in case only are one name.',
    hint: 'Choose another name, or get that map.',
  },
  'shard-map-invalid': {
    meaning: 'The name, the key type or the schema of a shard map is not valid.',
    hint: 'Correct the value; the message names it.',
    usage: true,
  },
  'shard-map-missing': {
    meaning: 'There is no shard map of this name.',
    hint: 'Correct the name, or create the map.',
  },
  'shard-map-store-exists': {
    meaning: 'The database has a store of shard maps already.',
    hint: 'Use `ShardMapManager.get`.',
  },
  'shard-map-store-missing': {
    meaning: 'The database has no store of shard maps.',
    hint: 'Check the name of the database, or use `ShardMapManager.create`.',
  },
  'shard-map-used': {
    meaning: 'The shard map has shards, so it can’t be deleted.',
    hint: 'Delete its mappings and shards first.',
  },
  'shard-mapped': {
    meaning: 'The shard has mappings, so it can’t be deleted.',
    hint: 'Delete its mappings, or move them to another shard.',
  },
  'shard-not-detached': {
    meaning: 'The shard is not detached, so it can’t be attached at another location.',
    hint: 'Detach the shard first.',
  },
  'shard-missing': {
    meaning: 'The shard map has no such shard.',
    hint: 'List the shards of the map.',
  },
  'shard-query-failed': {
    meaning: 'A shard did not answer a multi-shard query, or refused it.',
    hint: 'Remove the cause that the message names. For the rows of the other shards, set `onFailure` to `partial`.',
  },
  'shard-query-aggregate': {
    meaning:
      'A query over several shards has an aggregate or GROUP BY. Millrace merges the rows of shards, not their groups.',
    hint: 'Declare an aggregate projection and read its sink, or ask each shard by itself and add up.',
    usage: true,
  },
  'shard-query-distinct': {
    meaning: 'A multi-shard query has more different results than it may keep in memory.',
    hint: 'Narrow the query, or raise `mostDistinct`.',
  },
  'shard-query-late': {
    meaning: 'A multi-shard query, or one answer of a shard, took longer than it may.',
    hint: 'Raise `withinMs` or `shardWithinMs`, or narrow the query.',
    retryable: true,
  },
  'shard-query-moved': {
    meaning: 'Keys began to move to a shard after a multi-shard query had given rows.',
    hint: 'Run the query again from its beginning.',
    retryable: true,
  },
  'shard-query-order': {
    meaning: 'A multi-shard query sorts by an array or an object, for which Cosmos DB documents no order.',
    hint: 'Sort by a path that has texts, numbers, booleans or null, or exclude the other documents in WHERE.',
  },
  'shard-query-unreadable': {
    meaning: 'A multi-shard query has a form that can’t be merged from the answers of several shards.',
    hint: 'Write one SELECT over the whole document.',
    usage: true,
  },
  'shard-silent': {
    meaning: 'The shard that has a key doesn’t answer, and the shard map names no other place for the key.',
    hint: 'Check that the account of the shard is reachable. If the database is lost, detach the shard.',
    retryable: true,
  },
  'shard-unfit': {
    meaning:
      'The database of a shard lacks a container, or one of its containers has another key than the map’s schema says.',
    hint: 'Create the container with the key that the message names: for a pipeline over shards with `millrace shards init --shard`. Then try again.',
    usage: true,
  },
  'shard-unreachable': {
    meaning: 'An earlier operation is still to be undone in the shard, and the shard can’t be reached.',
    hint: 'Try again when the shard answers. If its database is lost, detach the shard.',
    retryable: true,
  },
  'shard-void': {
    meaning: 'The shard in hand is not the current one: it was changed or deleted since it was read.',
    hint: 'Read the shard again, and decide again.',
  },
  'split-outside': {
    meaning: 'A mapping can’t be split at a key that is outside of it or is its first key.',
    hint: 'Give a key above the low key and below the high key of the mapping.',
  },
  'strays-unknown': {
    meaning: 'A shard had more strays than its local map lists, so a query can’t leave their documents out.',
    hint: 'Delete the documents of keys that the map gives to other shards, then call `clearStrays(shard)`.',
  },
} as const satisfies ErrorCatalogue;

export const shardsError = errorsOf(SHARDS_ERRORS);
