import type { Container } from '@azure/cosmos';
import pMap from 'p-map';
import { type Benchmark, type Figure, atMost, median, plain, seconds, sized } from './support/measure.ts';
import { pull } from './support/pull.ts';
import { RawLine } from './support/raw-line.ts';
import { type Stage, fill, openStage } from './support/stage.ts';

const DOCUMENTS = sized(100_000, 1_000);
const POINT_READS = sized(20_000, 200);
const ROUNDS = sized(5, 1);
const AT_A_TIME = 32;

const least = (name: string, value: number, bound: number, unit: string): Figure => ({
  name,
  value,
  unit,
  target: `≥ ${bound.toLocaleString('en-US')}`,
  met: value >= bound,
});

/**
 * The embedded server itself: in memory, in a process of its own, and the client on the other core. Pulls and point reads
 * come over bare HTTP, so that the server is what is measured, and once more by the SDK, which costs more than it.
 */
export const b15: Benchmark = {
  id: 'B15',
  title: 'the embedded Cosmos DB server',
  run: async () => {
    await using stage = await openStage();
    const container = await stage.container('Source', '/key');
    const text = 'x'.repeat(780);
    const documents = Array.from({ length: DOCUMENTS }, (_, index) => ({
      id: `${index}`,
      key: keyOf(index),
      type: `t${index % (DOCUMENTS / 20)}`,
      rank: index,
      text,
    }));
    const filling = await seconds(() => fill(container, documents, ({ key }) => String(key)));
    // Again, as upserts of what is there: the code is warm by now.
    const batches = await rounds(stage, DOCUMENTS, () => fill(container, documents, ({ key }) => String(key)));
    const lines = await Promise.all(Array.from({ length: AT_A_TIME }, () => RawLine.open(stage)));
    const pulls = await rounds(stage, DOCUMENTS, () => rawPull(lines[0]!));
    const pullsBySdk = await rounds(stage, DOCUMENTS, () => pull(container, DOCUMENTS));
    const reads = await rounds(stage, POINT_READS, () => rawReads(lines));
    const readsBySdk = await rounds(stage, POINT_READS, () => readsOf(container));
    for (const line of lines) line[Symbol.dispose]();
    return [
      plain('first fill by batches of 100', DOCUMENTS / filling, 'documents/s'),
      least('items.batch of 100 upserts', batches.rate, 60_000, 'documents/s'),
      least('raw pull of 1 KB documents', pulls.rate, 150_000, 'documents/s'),
      plain('the same by the SDK', pullsBySdk.rate, 'documents/s'),
      least('point reads, 32 at a time', reads.rate, 8000, 'requests/s'),
      plain('the same by the SDK', readsBySdk.rate, 'requests/s'),
      plain('the server’s processor time for an upserted document', batches.cpu, 'µs'),
      plain('the server’s processor time for a pulled document', pulls.cpu, 'µs'),
      plain('the server’s processor time for a point read', reads.cpu, 'µs'),
      atMost('equality of 20 in 100,000', await query(container, `c.type = 't7'`, 20), 5, 'ms'),
      atMost('range of 50 in 100,000', await query(container, 'c.rank >= 500 AND c.rank < 550', 50), 5, 'ms'),
    ];
  },
};

const keyOf = (index: number): string => `k${index % 500}`;

/** The median of the rates per second, and the server's microseconds of processor time for each. */
async function rounds(
  stage: Stage,
  count: number,
  work: () => Promise<void>,
): Promise<{ readonly rate: number; readonly cpu: number }> {
  const rates: number[] = [];
  const before = await stage.usage();
  for (let round = 0; round < ROUNDS; round++) rates.push(count / (await seconds(work)));
  return { rate: median(rates), cpu: ((await stage.usage()).cpu - before.cpu) / (count * ROUNDS) };
}

/** The whole feed, page by page to its 304. What came is counted by the server's word; every byte of it was received. */
async function rawPull(line: RawLine): Promise<void> {
  let position: string[] = [];
  for (let read = 0; ;) {
    const answer = await line.get('dbs/bench/colls/Source/docs', 'dbs/bench/colls/Source', [
      'a-im: Incremental Feed',
      'x-ms-documentdb-partitionkeyrangeid: 0',
      'x-ms-max-item-count: 1000',
      ...position,
    ]);
    if (answer.status === 304 && read === DOCUMENTS) return;
    if (answer.status !== 200) throw new Error(`Pulled ${read} documents, and then ${answer.status}`);
    position = [`if-none-match: ${answer.header('etag')}`];
    read += Number(answer.header('x-ms-item-count'));
  }
}

const anyOf = (count: number): number => (count * 7919) % DOCUMENTS;

async function rawReads(lines: readonly RawLine[]): Promise<void> {
  let next = 0;
  const readOn = async (line: RawLine): Promise<void> => {
    while (next < POINT_READS) {
      const id = anyOf(next++);
      const link = `dbs/bench/colls/Source/docs/${id}`;
      const { status } = await line.get(link, link, [`x-ms-documentdb-partitionkey: ["${keyOf(id)}"]`]);
      if (status !== 200) throw new Error(`Reading ${id} was answered ${status}`);
    }
  };
  await Promise.all(lines.map(readOn));
}

async function readsOf(container: Container): Promise<void> {
  await pMap(
    Array.from({ length: POINT_READS }, (_, index) => anyOf(index)),
    async (id) => {
      const { statusCode } = await container.item(`${id}`, keyOf(id)).read();
      if (statusCode !== 200) throw new Error(`Reading ${id} was answered ${statusCode}`);
    },
    { concurrency: AT_A_TIME },
  );
}

/** Milliseconds a query takes, the client's share included; the median of many, after the first made the index. */
async function query(container: Container, where: string, expected: number): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < 50; round++) {
    const began = performance.now();
    const { resources } = await container.items.query(`SELECT c.id, c.rank FROM c WHERE ${where}`).fetchAll();
    if (resources.length !== expected) throw new Error(`${where} found ${resources.length} instead of ${expected}`);
    if (round > 0) times.push(performance.now() - began);
  }
  return median(times);
}
