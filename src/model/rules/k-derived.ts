// K15 to K19: derived data.
import { SOURCES } from './rule.ts';
import { questions } from './question.ts';

export const DERIVED_QUESTIONS = questions('derived', [
  {
    id: 'K15',
    title: 'Counts, totals, ratings and last-times stay true',
    ask: [
      'List every field that follows from other documents or from events: counts, sums, averages, streaks, balances, progress, lastX, ranks, flags such as "has children".',
      'For each: which program writes it, at which moment, and in which step with its source? Does a retry count twice, do two at once lose one, is a deletion, a correction, a cancellation, a change of mind or a late arrival taken back?',
      'An average or a maximum that can’t be corrected from what is stored. A number of votes, views or uses with no record of who did.',
      'A field that nothing in the text ever sets or lowers.',
    ],
    not: 'A figure for orientation that a stated job works out anew, a metric that the document takes over from another system.',
    known:
      'Cosmos DB keeps no derived value by itself. An increment in a retried request or from a redelivered change counts again (ASM-A2), and the latest-version feed has neither deletions nor the versions in between.',
    hint: 'Derive it from the change feed with a mark of what was counted, or work it out when it is read.',
  },
  {
    id: 'K16',
    title: 'Copies follow their source, or are meant to stay as they were',
    ask: [
      'List fields that are copied from another document (names, prices, e-mails, status, owner, paths, keys of ancestors) and facts that are stored on both sides (a list of ids and a back reference, members and memberships).',
      'For each: what changes the copy after the source has changed, over how many documents, and what if that stops? Which side is right if they differ?',
      'Is it a snapshot by intention (a price at the time of the order)? Then is everything that must be kept in it, and does a stated reader take it for current?',
      'Do the samples already disagree?',
    ],
    not: 'A snapshot, an audit entry, a value that never changes, a short staleness that the text accepts.',
    known:
      'A rename touches one document; its copies lie in other partitions and need a process of their own, which is repeatable and finds them all.',
    hint: 'Name the source, let the change feed update the copies by a query on the reference, or store only the reference.',
  },
  {
    id: 'K17',
    title: 'Views, indexes and caches lose what their source lost',
    ask: [
      'Materialised views, lists by another key, search and vector indexes, caches, rollups, graph edges: what removes an entry when the source is deleted, expires, moves to another group or no longer matches?',
      'What if the projection was changed or has a fault: can it be built again, and beside the running one?',
      'A cache: does its key hold everything that the answer depends on (tenant, page, version, model), what makes it invalid, and who may see it?',
      'A rollup that is made once: late or corrected data, a run that is missed, a run that is done twice.',
    ],
    not: 'A cache with a short time to live where stale answers are accepted.',
    known:
      'The latest-version change feed shows no deletions and no expiry, and of a document only its newest version (ASM-A2), so a document that moved has left no trace of where it was.',
    hint: 'Mark as deleted before deleting, keep in the entry where it came from, and rebuild by a replay.',
    source: SOURCES.microsoft('Change feed modes in Azure Cosmos DB'),
  },
  {
    id: 'K18',
    title: 'The change feed is read for what it gives',
    ask: [
      'A reader that needs deletions, expiry, each single change, the old value, the kind of operation, an order over documents, or an archive by age: does the mode that is used give it?',
      'A function that throws, catches and logs, or checks the size of the batch: is the batch lost? Is there a retry policy, a dead letter, a lease container, one lease prefix for each reader?',
      'A reader that writes to the container that it reads. A feed that is promised as one business event ("submitted", "created") while drafts, later updates and other types flow through it, with no mark to tell them apart. A start from the beginning or from now that leaves a gap or repeats all.',
      'Delays: the poll interval (5 s by default), a cold start, one reader for each physical partition at most.',
    ],
    not: 'A feed that is only named as a later option.',
    known:
      'The latest-version feed has the newest version of a document, at least once, in order within one key value only, without deletions (ASM-A2); it is always on and has no setting. The trigger goes on to the next batch after an exception if no retry policy is set (ASM-E157).',
    hint: 'Make the handler idempotent, keep the batch until it is done, and delete by a mark first.',
    source: SOURCES.microsoft('Change feed modes in Azure Cosmos DB'),
  },
  {
    id: 'K19',
    title: 'A computed answer counts what it should, and has what it needs',
    ask: [
      'Work each figure on a screen, report or metric out from the stored fields: is each input stored, at the time for which it is asked (the team then, the price then, the rate then)?',
      'Does a sum count something twice (an allocation and its whole, both sides of a transfer, drafts, cancelled, deleted, tests), mix kinds or units, or leave something out?',
      'Does it read all raw documents each time, over all partitions, on a page that is opened often?',
    ],
    not: 'A report that is made rarely over little data.',
    known:
      'An aggregate query reads every document that it covers and is charged for each (ASM-E120); a value that isn’t stored at the time can’t be worked out later.',
    hint: 'Store the facts at the time they happen, and keep the figure as a derived document by the key of its reader.',
  },
]);
