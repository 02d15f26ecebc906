// K9 to K14: writes that meet, that stop halfway, or that come twice.
import { SOURCES } from './rule.ts';
import { questions } from './question.ts';

export const WRITE_QUESTIONS = questions('writes', [
  {
    id: 'K9',
    title: 'Changes of several documents are one transaction, or something completes them',
    ask: [
      'List the uses that change several documents: sign-up, checkout, transfer, rename, move, merge, accept, delete with children, publish, both sides of a relation, an order with lines of several keys, an audit entry beside the change.',
      'For each: are all in one container and one key value, at most 100 operations? If it is called atomic, a batch or a transaction, is it one?',
      'If not: what happens after a stop in the middle, who notices, who completes it, and may each step be done again? In which order are they written, so that what is left over does no harm?',
    ],
    not: 'Two writes where a stop between them leaves nothing wrong, or which the text repeats or repairs (change feed, outbox, saga, idempotent job): a general sentence on all such uses counts.',
    known:
      'A transaction has the documents of one partition key value in one container (ASM-E121), a batch at most 100 operations, 2 MB and 5 seconds (ASM-A5).',
    hint: 'Put them under one key, or write first what the others can be derived from, and let the change feed do the rest.',
    source: SOURCES.microsoft('Transactional batch operations in Azure Cosmos DB'),
  },
  {
    id: 'K10',
    title: 'Two writers of one document don’t lose each other’s change',
    ask: [
      'List who writes each document: users on two devices, several roles, jobs, workers, a heartbeat, an import. Where is it read, changed and written back as a whole (replace, upsert), in words or in one function of the sample code?',
      'Is there a condition (ETag with If-Match and a retry), a patch of single fields or an increment, or only one writer by design?',
      'An upsert of a whole document by an import, a re-analysis or a sync that overwrites fields which somebody else maintains: reviews, flags, settings, createdAt.',
      'An ETag that is mentioned in one place and not used in the code or the steps; a field `version` that nothing compares.',
    ],
    not: 'One user’s own document that is changed once in a while, a document with one writer, an append-only type.',
    known:
      'A replace without If-Match writes over what came between (ASM-E137). A patch changes fields without sending the rest (ASM-E155). An upsert that inserts ignores If-Match (ASM-E14), and a condition holds in one write region only (ASM-A6).',
    hint: 'Replace with If-Match and try again, or patch the fields that changed, or split the document by writer.',
    source: SOURCES.microsoft('Database transactions and optimistic concurrency control in Azure Cosmos DB'),
  },
  {
    id: 'K11',
    title: 'A check that a write relies on still holds when it is written',
    ask: [
      'List the rules over several documents: a limit or quota, no overlap of bookings, capacity, a balance that mustn’t fall below zero, the parent exists, no children are left, one at most is active, the last owner can’t leave.',
      'For each: is it read first and written afterwards? What if two requests do so at once, or the counter that is compared is stale?',
      'Are the check and the write in one partition, with a condition on one document that both must change?',
    ],
    not: 'A limit where one too many does no harm and the text says so.',
    known:
      'There is no lock and no constraint over documents (ASM-E158); a condition is on one document, a transaction on one key value (ASM-E121).',
    hint: 'Let both requests change one document under a condition: a slot, a counter, a balance under the same key.',
  },
  {
    id: 'K12',
    title: 'What is delivered or sent twice has effect once, and nothing is lost in between',
    ask: [
      'List what can be repeated: a request after a timeout, a queue message, an event, a webhook, a job that runs again, the change feed. Does a second time create a second document, count twice, pay or notify twice?',
      'Is an idempotency key stored and enforced (as id), also in the sample code, for as long as a repeat may come? Is it made by the client?',
      'Is a mark "seen" or "done" written before the work is finished, so that a stop in between loses it? Or after it, so that it is done again?',
      'Does a re-run leave behind what the new result no longer has?',
    ],
    not: 'A repeated write of the same values under the same id.',
    known:
      'Queues, Event Hubs and the change feed deliver at least once (ASM-A2). After a timeout a client doesn’t know whether its write took effect; the JavaScript client repeats no write then (ASM-E26).',
    hint: 'Derive the id from the request or the event, and write the effect and the mark in one batch.',
  },
  {
    id: 'K13',
    title: 'Work that is claimed is finished, by one worker, also after a crash',
    ask: [
      'Jobs, queues in a container, leases, locks, schedules, states such as "processing" or "running": how does one worker claim an item, so that a second doesn’t?',
      'What if it dies: a time limit, a sweep, a number of attempts, and a fence against the one that comes back late?',
      'Who moves what is stuck: expired holds, unanswered approvals, steps that time out? Does something read "due" items with a query that can find them?',
    ],
    not: 'A platform that does it (a queue with visibility timeout, Durable Functions) where the document says that it is used for this.',
    known: 'A container has no visibility timeout and no lock. A claim is a replace under If-Match (ASM-E137).',
    hint: 'Claim by a conditional replace with owner and time limit; a sweep frees what is over it.',
  },
  {
    id: 'K14',
    title: 'A write here and an effect elsewhere can’t come apart',
    ask: [
      'A document and a message, an e-mail, a blob, a payment, a search index, a graph, another database: in which order, and what if the process stops between the two?',
      'Is the event sent by the request after the write (lost after a crash) though others rely on it? Is there an outbox or the change feed?',
      'Routing and filters between stores: does each event reach the sink it should, and no other? Is there a dead letter, a retry, a comparison of both sides?',
    ],
    not: 'A notification for comfort, a cache with a short life, an upload that a later one replaces.',
    known:
      'No transaction covers two stores. The change feed is a complete list of what was written, but not of what was deleted (ASM-A2).',
    hint: 'Write the document first, and derive the effect from the change feed or an outbox in the same batch.',
  },
]);
