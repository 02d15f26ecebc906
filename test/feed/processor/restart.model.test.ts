// PROC-L14: Random histories of two processors that are started and stopped again and again, several times at the same moment, while
// documents are written, partitions are split and answers get lost. Nothing is lost, versions of one document come in
// order, and one processor never reads a range twice at the same time.
import type { Container, CosmosClient } from '@azure/cosmos';
import pMap from 'p-map';
import { type Change, ChangeFeedProcessor } from 'millrace/feed';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Emulator, startEmulator } from '../../../src/emulator/index.ts';
import { HASH_KEY, clientOf, insist } from '../../emulator/emulate.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';

const SEED = suiteSeed();
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 8);
const TIMINGS = { acquireMs: 20, expirationMs: 2_000, renewMs: 300, pollMs: 5, stopMs: 20_000 };
const STEPS = 40;
const DOCUMENTS = 10;

let emulator: Emulator;
let client: CosmosClient;

beforeAll(async () => {
  emulator = await startEmulator({ seed: SEED });
  client = clientOf(emulator);
  await client.databases.create({ id: 'd' });
});

afterAll(async () => {
  client.dispose();
  await emulator.close();
});

it(`nothing is lost over starts and stops (seed ${SEED})`, async () => {
  emulator.faults({ failAfterEffect: 0.02, throttle: 0.02 });
  const seeds = Array.from({ length: HISTORIES }, (_, n) => SEED + n);
  const failures = await pMap(seeds, (seed) => history(seed), { concurrency: 4 });
  const said = failures.flatMap((of, n) =>
    of.map((text) => `${text} (MILLRACE_SEED=${SEED + n} MILLRACE_HISTORIES=1)`),
  );
  expect(said).toEqual([]);
});

interface Item {
  readonly id: string;
  readonly pk: string;
  readonly v: number;
}

async function history(seed: number): Promise<string[]> {
  const random = new Random(seed);
  const database = client.database('d');
  const id = `c${seed}`;
  const { container } = await insist(() => database.containers.createIfNotExists({ id, partitionKey: HASH_KEY }));
  const lease = { id: `leases${seed}`, partitionKey: '/id', defaultTtl: -1 };
  const { container: leases } = await insist(() => database.containers.createIfNotExists(lease));
  const hosts = ['a', 'b'].map((instance) => new Host(instance, container, leases, new Random(seed)));
  const written = new Map<string, number>();
  const calls: Promise<void>[] = [];
  try {
    for (let step = 0; step < STEPS; step++) {
      const host = random.pick(hosts);
      const choice = random.int(10);
      if (choice < 3) calls.push(host.processor.start());
      else if (choice < 5) calls.push(host.processor.stop());
      // A pair without a pause between.
      else if (choice < 6) calls.push(host.processor.stop(), host.processor.start());
      else if (choice < 7 && step % 10 === 9) emulator.split(`d/${id}`);
      else await write(container, random, written);
      if (random.int(3) === 0) await Promise.allSettled(calls);
    }
    const refused = (await Promise.allSettled(calls)).filter(({ status }) => status === 'rejected');
    if (refused.length > 0) return refused.map((one) => `a call was refused: ${JSON.stringify(one)}`);
    for (const { processor } of hosts) await processor.start();
    await hosts[0]?.processor.drained({ signal: AbortSignal.timeout(60_000) });
    return judge(hosts, written);
  } finally {
    await Promise.all(hosts.map(({ processor }) => processor.stop()));
  }
}

async function write(container: Container, random: Random, written: Map<string, number>): Promise<void> {
  const id = `d${random.int(DOCUMENTS)}`;
  const v = (written.get(id) ?? 0) + 1;
  await insist(() => container.items.upsert<Item>({ id, pk: id, v }));
  written.set(id, v);
}

/** A processor, and what its handler saw. */
class Host {
  readonly processor: ChangeFeedProcessor<Item>;
  readonly faults: string[] = [];
  /** By document, the newest version that was handled. */
  readonly seen = new Map<string, number>();
  /** By lease token, the signal of the call that runs. */
  readonly #handling = new Map<string, AbortSignal>();
  readonly #order = new Map<string, { at: AbortSignal; lsn: number }>();

  constructor(instance: string, source: Container, leases: Container, random: Random) {
    this.processor = new ChangeFeedProcessor<Item>({
      source,
      leases,
      name: 'P',
      instance,
      start: 'beginning',
      maxItems: 3,
      timings: TIMINGS,
      handler: async (changes, { leaseToken, signal }) => {
        // A call that its signal has told to stop doesn't count: this handler doesn't listen.
        if (this.#handling.get(leaseToken)?.aborted === false)
          this.faults.push(`${instance} reads lease ${leaseToken} twice`);
        this.#handling.set(leaseToken, signal);
        for (const change of changes) this.#note(change, signal);
        // Some effects take longer than the requests of a stop and a start.
        for (let request = random.pick([0, 3, 60]); request > 0; request--) await insist(() => source.read());
        if (this.#handling.get(leaseToken) === signal) this.#handling.delete(leaseToken);
      },
    });
  }

  /** Within one tenure, which has one signal, no version comes after a newer one. */
  #note({ id, doc, version: { lsn } }: Change<Item>, at: AbortSignal): void {
    const before = this.#order.get(id);
    if (before && before.at === at && before.lsn > lsn) this.faults.push(`${id}: lsn ${lsn} came after ${before.lsn}`);
    this.#order.set(id, { at, lsn });
    this.seen.set(id, Math.max(this.seen.get(id) ?? 0, doc.v));
  }
}

function judge(hosts: readonly Host[], written: ReadonlyMap<string, number>): string[] {
  const lost = [...written].flatMap(([id, v]) => {
    const seen = Math.max(...hosts.map((host) => host.seen.get(id) ?? 0));
    return seen < v ? [`${id} was seen up to version ${seen} of ${v}`] : [];
  });
  return [...lost, ...hosts.flatMap(({ faults }) => faults)];
}
