// K36 to K40: load, capacity and cost.
import { SOURCES } from './rule.ts';
import { questions } from './question.ts';

export const CAPACITY_QUESTIONS = questions('capacity', [
  {
    id: 'K36',
    title: 'The stated load fits the stated throughput and sizes',
    ask: [
      'Multiply: requests a second × RU each (a point read of 1 KB is 1 RU, a write of 1 KB some 5 to 10, more with size and indexes; a query some 3 and more) against the RU/s of the container and 10,000 RU/s for one key value.',
      'Documents × size × time against 20 GB for a key value, 2 MB a document, the storage that is planned and paid.',
      'A batch job, an import, a peak, a login hour, a fan-out of one event to many documents: how long does it take at that throughput, and who is throttled?',
      'Figures of one calculation that don’t add up, bounds taken for values, units that don’t match (RU and RU/s, GB and GiB, month and second).',
    ],
    not: 'A difference that no decision rests on.',
    known: 'A physical partition gives 10,000 RU/s and holds 50 GB; a logical one 20 GB (ASM-E121).',
    hint: 'Put the arithmetic into the document, with peak and size.',
    source: SOURCES.microsoft('Request Units in Azure Cosmos DB'),
  },
  {
    id: 'K37',
    title: 'Throughput, capacity mode and account are settings that exist and fit',
    ask: [
      'At least 400 RU/s by hand, an autoscale maximum of at least 1,000 that scales from a tenth of it; manual or autoscale, not both; the sum over containers against a limit of the account or the free 1,000 RU/s.',
      'Serverless with RU/s, several regions, the free tier or large load. Shared throughput with containers that must not disturb each other, or with many that each are keyed badly. Throughput for each of many idle containers.',
      'A service level, a backup, an isolation or a latency that the chosen mode doesn’t give.',
    ],
    not: 'A choice among settings that all work.',
    known:
      'Minimums: ASM-E98. Serverless has one region, no RU/s and no free tier (ASM-E110, ASM-E111, ASM-E132). Shared throughput: ASM-E144.',
    hint: 'Name the mode and the figure that the service takes, with its price.',
    source: SOURCES.microsoft('Azure Cosmos DB service quotas'),
  },
  {
    id: 'K38',
    title: 'Stated RU, prices and savings are true',
    ask: [
      '"1 RU" for a query, a large document, a list, a write or a patch; a cost that ignores size, number of results, indexes, regions or the number of partitions.',
      'A monthly price against RU/s × hours × price (about 0.008 dollars for 100 RU/s an hour, half as much again for autoscale; 0.25 dollars a GB), also at the minimum; a price for one environment or one region only.',
      'What the estimate leaves out: feeds, leases, index writes, views, search, embeddings, logs, the second region, retries. A saving whose reason isn’t one (a TTL doesn’t lower the RU of writes).',
    ],
    not: 'A rough figure that is right within a half, or that is called an assumption and is of no consequence.',
    known:
      'A query is charged for each document and each partition (ASM-E120); autoscale costs 1.5 times as much an RU/s (ASM-E145); throughput is billed in each region (ASM-E130).',
    hint: 'Measure one request, write its charge, and calculate from there.',
  },
  {
    id: 'K39',
    title: 'Frequent changes are made in small documents',
    ask: [
      'A heartbeat, a counter, a last-seen time, a token use or a progress that is written on each request into a document that is large, that others write, or that the change feed passes on.',
      'A document that holds whole results, bodies, images, base64, transcripts or vectors and is rewritten for a small change, or read for a list.',
      'Payloads over 2 MB, or near it, with no blob for them.',
    ],
    not: 'A document of a few KB that is changed some times a day.',
    known:
      'A replace is charged by the size of the document and its indexed fields; every write delivers the whole document to all readers of the change feed (ASM-A2).',
    hint: 'Keep what changes often in a document of its own, and bodies in blobs.',
  },
  {
    id: 'K40',
    title: 'Consistency, regions and recovery are what the uses need',
    ask: [
      'A read that decides something (a balance, a permission, a limit, "did I just write it") on another host than the writer: which consistency level, whose session token?',
      'Several write regions: who wins a conflict, what about counters, unique values, ETags, sequences? Strong consistency together with several write regions.',
      'A failover, an outage, a restore: what is lost, in which time, and does the stated target follow from the settings? A paired setting in one place and another one elsewhere.',
    ],
    not: 'One region, one process, and nothing that decides by a stale read.',
    known:
      'Session consistency gives a client its own writes only (ASM-E130). With several write regions a condition holds in its region, and the last writer wins (ASM-A6).',
    hint: 'Name the level for each such read, and one write region where values must be exact.',
    source: SOURCES.microsoft('Consistency levels in Azure Cosmos DB'),
  },
]);
