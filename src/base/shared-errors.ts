import { type ErrorCatalogue, errorsOf, usage } from './error-catalogue.ts';

/** The codes of this room, and codes of several rooms that can't import one another. */
export const SHARED_ERRORS = {
  aborted: {
    meaning: 'The caller aborted the call.',
    hint: 'Repeat the call if you still need its result.',
  },
  'all-versions-feed': usage(
    'A container is read by its all-versions feed, with which the call is not possible.',
    "Remove `feed: 'all-versions'` from `source()` and mark deleted documents.",
  ),
  'cannot-listen': usage(
    'Millrace can’t listen at the address; usually another process uses the port.',
    'End the other process, or give another port (0: any free port).',
  ),
  collision: {
    meaning: 'Two source documents would have copies with the same id and partition key.',
    hint: 'Return an id from `map` that contains the partition key and the id of the source document.',
  },
  'container-unfit': usage(
    'A container has another key or time to live than its use needs, or is Always Encrypted.',
    'Create it as the message says, or name another container.',
  ),
  contended: {
    meaning: 'Other writers changed the same documents on every attempt.',
    hint: 'Try again; if it keeps happening, let fewer writers write to one document.',
    retryable: true,
  },
  'continuation-invalid': usage(
    'A continuation token was changed, or belongs to another query, feed or container.',
    'Pass the token as it was returned.',
  ),
  denied: usage(
    'A service refused the key, the identity or the role, or it has no right to do this.',
    'Give the identity the role "Cosmos DB Built-in Data Contributor" on the account or the database.',
  ),
  'document-refused': {
    meaning: 'A service refused to store or delete a document, and would refuse it again.',
    hint: 'Check the size of the document, its id, its partition key, and the unique keys of the container.',
  },
  'emulator-command-refused': usage(
    'The embedded server did not accept the command.',
    'Correct the command; the message says what the server answered.',
  ),
  exists: usage(
    'There is one with this name, id or path already.',
    'Choose another name, or use the one that there is.',
  ),
  'format-too-new': {
    meaning: 'A stored document has the format of a later version of Millrace.',
    hint: 'Upgrade this host to the version that wrote the document: see docs/upgrading.md.',
    retryable: true,
  },
  'key-missing': {
    meaning: 'A document has no value for a part of a partition key.',
    hint: 'Return every field of the partition key from `map` or `groupBy`.',
  },
  missing: usage(
    'Something that the call needs does not exist, or is not installed.',
    'Create or install the thing that the message names.',
  ),
  'model-wrong': usage(
    'A modelling document has errors, or can’t be read as such a document.',
    'Correct the lines that the message names; `millrace model check` lists them all.',
  ),
  'not-found': usage(
    'There is nothing with the name or id that the call gives.',
    'Correct the name or the id that the message shows.',
  ),
  'option-invalid': usage(
    'An option or an argument of a function has a value that the function does not accept.',
    'Correct the value; the message names it.',
  ),
  overtaken: {
    meaning: 'Another process took over this work.',
    hint: 'Let the other process finish, or end it. `millrace jobs list` and `millrace leases list` show it.',
    retryable: true,
  },
  'position-unusable': usage(
    'A checkpoint or a stored position can’t be used for this container or event hub: it is missing, incomplete, or of another one.',
    'Choose another checkpoint of this container (`millrace checkpoints list`), a time, or the beginning.',
  ),
  'query-unsupported': usage(
    'A query has a form that Millrace can’t read, confine to a tenant, or merge from several shards.',
    'Write one `SELECT` whose `FROM` begins with the whole document, such as `FROM c`.',
  ),
  'setting-invalid': usage(
    'A setting has a value that Millrace can’t use.',
    'Correct the setting; the message names it and says what it takes.',
  ),
  'setting-missing': usage('A required setting is missing.', 'Set the setting that the message names.'),
  'sink-refused': {
    meaning: 'The sink refused a document, and would refuse it again.',
    hint: 'Correct the document or the projection, then run `millrace dead-letters redrive`.',
  },
  'too-large': {
    meaning: 'A document, an event or a batch is larger than the service accepts.',
    hint: 'Leave large fields out, or store them in documents of their own.',
  },
  unavailable: {
    meaning: 'A service could not be reached for the moment, or throttled every attempt.',
    hint: 'Check that the service is reachable and has enough throughput (429s in the metrics of Cosmos DB).',
    retryable: true,
  },
  'under-way': {
    meaning: 'Another process does the same work, or work that must end first.',
    hint: 'Wait until it has ended, then run the command again. If its process died, its lock is free after 210 s.',
    retryable: true,
  },
  unreachable: usage(
    'A service that the settings name can’t be reached.',
    'Check its address in the settings, the network, and that it runs.',
  ),
  unreadable: usage(
    'A file can’t be read, or has the wrong form.',
    'Check the path, and the rights on the file. Correct what the message names.',
  ),
  unsupported: usage(
    'The call isn’t possible with this kind of projection, pipeline, container or database.',
    'Use another verb or kind; the message says what the call needs.',
  ),
  unwritable: usage(
    'Millrace can’t write a file, or can’t use a folder for its data.',
    'Check the path, the rights on the folder, and the free space on the disk.',
  ),
  'value-invalid': {
    meaning: 'A function of the pipeline returned a value that Millrace can’t store, add up or group by.',
    hint: 'Return a value of the type that the message names, or leave the document out with `where`.',
  },
  'wrong-state': usage(
    'The projection, migration, move, tenant, shard or mapping is in a state in which the call is not possible.',
    'Bring it into the state that the message names, then run the command again.',
  ),
} as const satisfies ErrorCatalogue;

export const sharedError = errorsOf(SHARED_ERRORS);
