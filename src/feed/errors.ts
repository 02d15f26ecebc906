import { type ErrorCatalogue, errorsOf, usage } from '../base/error-catalogue.ts';

export const FEED_ERRORS = {
  'versions-not-kept': {
    meaning: 'A container is read by its all-versions feed, and the account or the container does not have that feed.',
    hint: 'Switch the all-versions feed of the account on again, or give the container a change feed policy. Changes since the last position may be lost: compare what was derived with the documents.',
    retryable: true,
  },
  'retention-passed': {
    meaning: 'The position in the all-versions feed is older than its retention. The changes after it are lost.',
    hint: 'Delete the leases of this feed, so that the next start begins now. Then correct what was derived, by comparing it with the documents.',
  },
  'container-replaced': {
    meaning: 'The source container was deleted and created again.',
    hint: 'Restart the hosts: they read the new container from its start, and count versions in a new epoch.',
  },
  'epoch-held': {
    meaning:
      'Keys of the container move to another shard, or have just done so. Until the move has ended, no lease of its readers goes back.',
    hint: 'Wait until the move has ended. If its process has died, run the move again or cancel it. If the shard map doesn’t know the move any more, recover the map.',
    retryable: true,
  },
  'feed-behind': {
    meaning: 'The change feed ends before the stored position: a failover or a restore lost the changes between them.',
    hint: 'Rewind the leases to a time before the failover or the restore, then restart the hosts. They count versions in a new epoch.',
  },
  'handler-halted': {
    meaning: 'The handler asked the processor to stop, or failed and its failure policy stops the processor.',
    hint: 'Correct the handler, or let it park such changes. Then start the host again.',
  },
  'handler-timeout': {
    meaning: 'The handler took longer than `handlerTimeoutMs`.',
    hint: 'Raise `handlerTimeoutMs`, or lower `maxItems` so that a page takes less time.',
    retryable: true,
  },
  'impossible-transition': {
    meaning: 'A lease got an event that its state does not allow: a defect of Millrace.',
    hint: 'Restart the host, and report the message.',
  },
  'instance-twice': {
    meaning: 'Two processes read with the same instance name.',
    hint: 'Give each process an instance name of its own. Of two with the same name, the older process gets no leases.',
  },
  'lease-container-denied': usage(
    'The lease container refused the identity or the key.',
    'Give the identity the role "Cosmos DB Built-in Data Contributor" on the lease container.',
  ),
  'lease-container-key': usage(
    'The lease container has a partition key that leases can’t use.',
    'Use a container with the partition key `/id` or `/partitionKey`.',
  ),
  'lease-container-missing': usage(
    'The lease container does not exist.',
    'Create the lease container, or correct its name.',
  ),
  'lease-in-doubt': {
    meaning:
      'The host could not renew its lease in time, or another process has changed the lease. The host does not write until it knows which one has it.',
    hint: 'If another process took the lease, wait: the reading goes on by itself. If the handler computes for a long time, `await` in it now and then, or run it in a worker thread.',
    retryable: true,
  },
  'lease-lost': {
    meaning: 'This host no longer has the lease: another host took it, it was deleted, or this host gave it up.',
    hint: 'Stop the work on these changes. The next host that has the lease gets them again.',
    retryable: true,
  },
  'lease-mode-mismatch': usage(
    'The lease holds a position of the other feed mode (latest-version or all-versions).',
    'Give the processor another name, so that it gets its own leases, or read the feed of these leases.',
  ),
  'lease-not-expressible': usage(
    'The chosen lease dialect has no way to store this lease.',
    'Choose another dialect; the message says why this one can’t be used.',
  ),
  'lease-store-hangs': {
    meaning: 'A call to the lease container did not end in time.',
    hint: 'Check that the lease container is reachable and has enough throughput. The host tries again.',
  },
  'lease-unlisted': {
    meaning: 'The lease does not come from this lease store.',
    hint: 'Pass a lease that a method of the same store returned.',
  },
  'lease-unreadable': {
    meaning: 'A document in the lease container has the id of a lease, but is not a valid lease.',
    hint: 'Correct the document, or delete it. A host then creates the lease at the position that it saw last, or at the start of the range.',
  },
  'malformed-change': {
    meaning: 'The change feed delivered an entry that is not a document, or that lacks a system field.',
    hint: 'Report the message, with the API and the version of the account.',
  },
  'page-too-old': {
    meaning: 'The host read the page too long ago to write its changes now.',
    hint: 'Wait: the host reads the page again. If it happens often, use smaller pages or give the sinks more throughput.',
    retryable: true,
  },
  'position-empty': {
    meaning: 'A read or a checkpoint has an empty position. Storing it would read the whole range again.',
    hint: 'Report the message: the change feed always returns a position.',
  },
  'processor-stopped': usage(
    'The processor was stopped before the call ended.',
    'Start it again: it resumes the leases of its name.',
  ),
  'range-gone': {
    meaning: 'Cosmos DB split or merged the physical partition, so the feed range has become other ranges.',
    hint: 'Wait: the hosts create leases for the new ranges and continue from the same position.',
    retryable: true,
  },
} as const satisfies ErrorCatalogue;

export const feedError = errorsOf(FEED_ERRORS);
