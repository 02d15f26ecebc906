// A18: each false belief is found where a sentence asserts it, and where it is denied, quoted, past or supposed it isn't.
import { expect, test } from 'vitest';
import { parseDesign } from '../../../src/model/reader/design.ts';
import { BELIEFS } from '../../../src/model/rules/a-beliefs.ts';
import { checkDocuments } from '../../../src/model/rules/index.ts';
import { document } from './short.ts';

const found = (sentence: string) =>
  checkDocuments({
    requirements: undefined,
    design: parseDesign(document([['orders', '/storeId', '"storeId": "s1"']], sentence), 'model.md'),
  }).findings.filter(({ rule }) => rule === 'A18');

/** In the order of the table. */
const ASSERTED = [
  'A physical partition supports up to 20 GB of storage.',
  'A logical partition can hold at most 50 GB.',
  'Each value is a logical partition, which is spread over multiple physical partitions.',
  'The key gives unlimited storage for each tenant.',
  'JOINs work within the same partition.',
  'The model enables queries that join orders across containers.',
  'Atomic updates across multiple containers are used at checkout.',
  'Cosmos DB has no multi-document transactions.',
  'A stored procedure updates orders across partitions.',
  'The change feed gives exactly-once delivery.',
  'The change feed has a global order.',
  'The change feed shows deleted documents.',
  'The change feed is free.',
  'The TTL applies only to new documents.',
  'Removal by TTL is free.',
  'Documents with a TTL are physically removed.',
  'Autoscale scales down to zero at night.',
  'The partition key can be changed later.',
  'A document has a maximum of 16 MB.',
  'Session consistency is for strong data consistency.',
  'Reads need no additional RUs in the replicas.',
  'The serverless account is multi-region.',
  'The serverless account guarantees latency below 10 ms.',
  'The price is $0.008 per RU per hour.',
  'Each query costs 1 RU.',
  'Use point reads by partition key.',
  'A composite index keeps names unique.',
];

test.each(ASSERTED.map((sentence, index) => [sentence, index] as const))('%s', (sentence, index) => {
  expect(found(sentence)).toMatchObject([{ severity: 'warning', message: BELIEFS[index]?.truth }]);
  for (const silent of [
    `Somebody wrote: "${sentence}"`,
    `It is a myth: ${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}`,
    `If that held, we would save much: ${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}`,
    `${sentence} That is wrong.`,
    `Until 2019 the old wiki had it so: ${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}`,
  ])
    expect(found(silent)).toEqual([]);
});

test('every belief of the table has a sentence', () => {
  expect(ASSERTED).toHaveLength(BELIEFS.length);
});

test('a sentence of several lines is found at its line', () => {
  expect(found('The feed is read by one host.\nAutoscale scales down to zero\nat night.')[0]?.at.line).toBe(
    document([['orders', '/storeId', '"storeId": "s1"']], 'x')
      .split('\n')
      .indexOf('x') + 2,
  );
});
