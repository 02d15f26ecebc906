import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Container } from '@azure/cosmos';
import { type Benchmark, type Figure, atMost, median, none, plain, sized } from './support/measure.ts';
import { fill, openStage } from './support/stage.ts';

const TIMINGS = { acquireMs: 500, expirationMs: 2_000, renewMs: 500, pollMs: 20, stallMs: 60_000 };
const RANGES = 8;
const PAGE = 20;
const ROUNDS = sized(5, 1);

interface Told {
  readonly name: string;
  readonly page: number;
  readonly lease?: string;
  readonly ids: readonly string[];
}

/** Four processes share eight ranges while changes come in; one of them is killed without a word. */
export const b7: Benchmark = {
  id: 'B7',
  title: '1 → 4 hosts, one killed with SIGKILL: when its leases are others’, what is lost, what is done twice',
  run: async () => {
    await using stage = await openStage();
    const { endpoint, key } = stage;
    const source = await stage.container('Source', '/key', 6_000 * RANGES);
    const leases = await stage.container('leases', '/id');
    const rounds: { moved: number; lost: number; twice: number; spread: number }[] = [];
    for (let round = 0; round < ROUNDS; round++) rounds.push(await kill({ endpoint, key, source, leases }, round));
    const of = (pick: (one: (typeof rounds)[number]) => number): number[] => rounds.map(pick);
    const lost = of((one) => one.lost).reduce((sum, each) => sum + each, 0);
    const bound = (TIMINGS.expirationMs + TIMINGS.acquireMs) / 1000;
    const figures: Figure[] = [
      // An expiration is counted from when a host *saw* a lease unchanged, up to one acquire interval after its last write.
      atMost('kill → every lease is a living host’s', median(of((one) => one.moved)), bound, 's'),
      none('changes lost', lost, ''),
      atMost('most done twice, each time a lease moved', Math.max(...of((one) => one.twice)), PAGE, 'changes'),
    ];
    return [...figures, plain('one host → four that share evenly', median(of((one) => one.spread)), 's')];
  },
};

async function kill(
  { endpoint, key, source, leases }: { endpoint: string; key: string; source: Container; leases: Container },
  round: number,
): Promise<{ moved: number; lost: number; twice: number; spread: number }> {
  const prefix = randomUUID();
  const seen = new Map<string, number>();
  const twice = new Map<string, number>();
  /** Who handled each lease last, and how often that became another. */
  const handler = new Map<string, string>();
  const moves = new Map<string, number>();
  const children = new Map<string, ChildProcess>();
  const start = async (name: string): Promise<void> => {
    const child = fork(
      new URL('./b7-worker.ts', import.meta.url),
      [endpoint, key, name, prefix, JSON.stringify(TIMINGS)],
      {
        execArgv: ['--conditions=millrace-source'],
      },
    );
    children.set(name, child);
    child.on('message', ({ page, lease = '', ids }: Told) => {
      if (handler.get(lease) !== name) moves.set(lease, (moves.get(lease) ?? 0) + 1);
      handler.set(lease, name);
      for (const id of ids) {
        const times = (seen.get(id) ?? 0) + 1;
        seen.set(id, times);
        if (times > 1) twice.set(lease, (twice.get(lease) ?? 0) + 1);
      }
      if (child.connected) child.send(page, () => undefined);
    });
    await once(child, 'message');
  };
  const owners = async (): Promise<(string | null)[]> => {
    const query = {
      query: 'SELECT VALUE c.Owner FROM c WHERE STARTSWITH(c.id, @p)',
      parameters: [{ name: '@p', value: `${prefix}..` }],
    };
    return (await leases.items.query<string | null>(query).fetchAll()).resources;
  };
  const until = async (right: (owners: readonly (string | null)[]) => boolean): Promise<number> => {
    const since = performance.now();
    while (!right(await owners())) await delay(10);
    return (performance.now() - since) / 1000;
  };
  const written: string[] = [];
  const writing = new AbortController();
  const writer = (async () => {
    for (let n = 0; !writing.signal.aborted; n++) {
      const documents = Array.from({ length: 50 }, (_, index) => ({
        id: `${round}-${n}-${index}`,
        key: `k${index % 50}`,
      }));
      await fill(source, documents, (document) => String(document['key']));
      written.push(...documents.map(({ id }) => id));
      await delay(20);
    }
  })();
  await start('host-0');
  await until((found) => found.length === RANGES && found.every((owner) => owner === 'host-0'));
  await Promise.all(['host-1', 'host-2', 'host-3'].map(start));
  const even = (found: readonly (string | null)[]): boolean =>
    ['host-0', 'host-1', 'host-2', 'host-3'].every(
      (name) => found.filter((owner) => owner === name).length === RANGES / 4,
    );
  const spread = await until(even);
  // What moving leases to the others did twice isn't the killed host's.
  twice.clear();
  moves.clear();
  children.get('host-3')?.kill('SIGKILL');
  const moved = await until((found) => found.every((owner) => owner !== null && owner !== 'host-3'));
  writing.abort();
  await writer;
  // Longer than anything that hangs keeps its lease: what still comes was late, and isn't lost.
  const patienceMs = 2 * (TIMINGS.stallMs + TIMINGS.expirationMs);
  for (const since = performance.now(); written.some((id) => !seen.has(id)) && performance.now() - since < patienceMs;)
    await delay(20);
  const lost = written.filter((id) => !seen.has(id)).length;
  for (const child of children.values()) {
    if (child.exitCode === null && child.signalCode === null) {
      child.disconnect();
      await once(child, 'exit');
    }
  }
  return {
    moved,
    lost,
    twice: Math.max(0, ...[...twice].map(([lease, count]) => count / (moves.get(lease) ?? 1))),
    spread,
  };
}
