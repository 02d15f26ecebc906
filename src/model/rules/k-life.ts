// K20 to K24: growth, time to live, deletion, change of the design.
import { SOURCES } from './rule.ts';
import { questions } from './question.ts';

export const LIFE_QUESTIONS = questions('life', [
  {
    id: 'K20',
    title: 'What is added for ever has an end',
    ask: [
      'For each type that only grows (events, messages, logs, audit, history, receipts, notifications, sessions, results, versions, chat turns): a TTL, an archive or a stated period? At the stated rate, how much is it in a few years?',
      'For each list inside a document (members, items, messages, evidence, tags, embeddings, ids of what is linked): is there a bound, and what happens there? 2 MB is the limit of a document, and each addition rewrites it all.',
      'A retention that is stated in words and that nothing carries out.',
    ],
    not: 'Master data, a list with a small natural bound, records that the text keeps on purpose with a figure, retention that it names as an open question.',
    known:
      'Without a TTL or a deletion everything stays (ASM-E140). A document has at most 2 MB, a logical partition 20 GB (ASM-E121); a replace is charged by the size of the whole document.',
    hint: 'Set a TTL, or archive by age; move lists without a bound to documents of their own under the same key.',
  },
  {
    id: 'K21',
    title: 'Time to live removes what is over, and nothing else',
    ask: [
      'Can a document expire before its work, review, dispute, report, billing period or legal time is over? A job that is late, an approval that nobody gave, an open case, evidence that something else points to.',
      'Do things that belong together expire at different times: parent and children, a session and its messages, an index entry, a blob?',
      'Does each write start the time anew where it counts from creation, or not where it should? Is a `ttl` in documents used without a default of the container, is it in seconds, is it -1 where something must stay?',
      'Is something expected at the expiry (an event, an audit entry, an archive)? Do figures of two places differ?',
    ],
    not: 'A life far longer than anything that needs the document.',
    known:
      'A TTL counts from the last write (ASM-A4, ASM-E18), works in documents only if the container has a default, and leaves no entry in the latest-version feed (ASM-A2).',
    hint: 'Set the TTL when the work is over, not when it begins; keep children at least as long as what points to them.',
    source: SOURCES.microsoft('Time to Live (TTL) in Azure Cosmos DB'),
  },
  {
    id: 'K22',
    title: 'A deletion reaches everything, and is seen by every reader',
    ask: [
      'For each type that is deleted: what points to it or belongs to it (children, references in lists, copies, counters, blobs, index entries, sessions, tokens), and what removes it? In which order, and what if it stops?',
      'A soft delete: does each query leave the deleted ones out, is the name or the unique value free again, does something purge them, can a restore bring all back?',
      'Erasure of a person: copies, audit, logs, ids with personal data, exports, backups, archived documents, the other container? Is the person found by the value that is stored?',
      'A tombstone that lists return, or that is kept for ever.',
    ],
    not: 'A type that nothing deletes, a dangling reference that readers plainly tolerate.',
    known: 'Cosmos DB has no foreign key and no cascade (ASM-E158).',
    hint: 'Delete children first by a job that can be repeated, or derive the cascade from a mark; filter in one place.',
  },
  {
    id: 'K23',
    title: 'The way to the new design loses nothing and can be gone back',
    ask: [
      'Migration, import, backfill, re-key, change of an id’s rule or a schema: what about writes during the copy, documents of the old form that readers still meet, a run that stops, and the check that both sides agree?',
      'Does a step destroy what the rollback needs? Does something rest on changing a partition key, a unique key or a hierarchical key in place?',
      'Old and new form side by side: a field that moved, a default for old documents, a version that nobody reads.',
      'Backup: what can’t be recomputed, is it covered, and can it be restored alone?',
    ],
    not: 'A first version without data.',
    known:
      'Partition keys and unique keys are fixed at creation (ASM-E131), so a change is a new container and a copy while the application runs.',
    hint: 'Copy and follow the change feed, compare, switch, and delete the old only after the time in which you may go back.',
  },
  {
    id: 'K24',
    title: 'Order and time are taken from what really orders',
    ask: [
      'What is sorted or paged by a time: in which resolution, whose clock, as text with one format and one zone, unique enough? Messages of one turn with the same second, two hosts, late arrivals.',
      'A sequence number: who gives it, in which scope, and after a restart, on several instances, in two regions?',
      'A day, a month, a streak, a deadline: in whose time zone, and over the change of a day? `_ts` in seconds against milliseconds or text.',
    ],
    not: 'A list where the order within a second doesn’t matter to anybody.',
    known:
      '`_ts` has whole seconds and changes with each write (ASM-A26). There is no sequence (ASM-E172). Texts are compared letter by letter, so dates sort only in one fixed form.',
    hint: 'Store UTC in ISO 8601 of fixed length with a tie-breaker, or a number from a counter in the same batch.',
  },
]);
