// Random histories of processes that share a budget: they come and go, stand still, die, are cut off from the state
// container; replicas lag, and answers of writes are lost. In virtual time, with the real server. At no moment do the
// processes have more than the whole budget (BUD-B1, BUD-B2), and one that is left has all of it soon (BUD-B3).
import { CosmosClient } from '@azure/cosmos';
import { expect, it } from 'vitest';
import { MillraceError } from '../../../src/base/errors.ts';
import type { Lane } from '../../../src/cosmos/budget/limit.ts';
import { type BudgetMember, BEAT_MS, SHARE_MS, Shares, readMembers } from '../../../src/cosmos/budget/split.ts';
import { startEmulator } from '../../../src/emulator/index.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import { VirtualProcess, VirtualTime, answerOf } from '../../support/virtual-time.ts';

const SEED = suiteSeed();
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 10);
const LONGEST_MS = 400_000;
const RU = 1_000;
/** How soon a process that is left alone has everything. */
const ALONE_MS = SHARE_MS + 3 * BEAT_MS;

it(`no process spends what another one may (seed ${SEED})`, async () => {
  const said: string[] = [];
  let most = 0;
  for (let seed = SEED; seed < SEED + HISTORIES; seed++) {
    const found = await history(seed);
    most = Math.max(most, found.most);
    said.push(...found.said.map((text) => `${text} (MILLRACE_SEED=${seed} MILLRACE_HISTORIES=1)`));
  }
  expect(said).toEqual([]);
  expect(most, 'otherwise nothing was shared').toBeGreaterThan(0.9);
});

async function history(seed: number): Promise<{ said: string[]; most: number }> {
  const random = new Random(seed);
  const emulator = await startEmulator({ seed });
  const time = new VirtualTime(emulator);
  const clients: CosmosClient[] = [];
  const said: string[] = [];
  let most = 0;
  let chaos = true;

  /** A process with its own client. Dead: nothing of it reaches anybody. Cut off: no request of it gets an answer. */
  const begin = (name: string) => {
    const clock = new VirtualProcess(time);
    const process = { clock, dead: false, cutOffUntil: 0 };
    const httpClient = time.transport(async (request, send) => {
      await clock.awake();
      // Late on its way.
      if (random.chance(0.1)) await time.sleep(random.int(4_000));
      if (process.dead) return new Promise(() => undefined);
      if (time.monotonic() < process.cutOffUntil) return answerOf(request, 429);
      const answer = await send();
      await clock.awake();
      if (process.dead) return new Promise(() => undefined);
      // Lost on its way back.
      return chaos && random.chance(0.05) ? answerOf(request, 408) : answer;
    });
    const client = new CosmosClient({
      ...emulator.clientOptions,
      httpClient,
      connectionPolicy: {
        retryOptions: { maxRetryAttemptCount: 0, fixedRetryIntervalInMilliseconds: 0, maxWaitTimeInSeconds: 0 },
      },
    });
    clients.push(client);
    const state = client.database('d').container('millrace');
    return { ...process, process, shares: new Shares({ state, database: 'd', name, ruPerSecond: RU, clock }) };
  };
  const plain = new CosmosClient({ ...emulator.clientOptions, httpClient: time.transport((_, send) => send()) });
  clients.push(plain);
  await time.run(
    (async () => {
      const { database } = await plain.databases.create({ id: 'd' });
      await database.containers.create({ id: 'millrace', partitionKey: '/pk', defaultTtl: -1 });
    })(),
  );
  emulator.faults({ replicaLagMs: random.int(3_000) });

  const running = new Set<ReturnType<typeof begin>>();
  const over = (): boolean => time.monotonic() > LONGEST_MS;
  const watch = async (): Promise<void> => {
    while (!over()) {
      await time.sleep(100 + random.int(400));
      const shares = [...running].map(({ shares: of }) => of.now());
      const sum = shares.reduce((all, one) => all + one, 0);
      most = Math.max(most, sum);
      if (sum > 1 + 1e-9) said.push(`at ${time.monotonic()} ms the shares are ${shares.join(' + ')}`);
    }
  };
  const live = async (name: string): Promise<void> => {
    await time.sleep(random.int(60_000));
    while (!over()) {
      const one = begin(name);
      running.add(one);
      const ends = time.monotonic() + random.int(150_000);
      while (!over() && time.monotonic() < ends) {
        await one.clock.awake();
        const lane = random.chance(0.5) ? 'bulk' : 'live';
        want(one.shares, lane, random.chance(0.3));
        if (one.shares.now() > 0) one.shares.spent(lane, `p${random.int(2)}`, random.int(RU));
        if (random.chance(0.02)) one.clock.standStill(random.int(90_000));
        if (random.chance(0.02)) one.process.cutOffUntil = time.monotonic() + random.int(90_000);
        await one.clock.sleep(200 + random.int(3_000));
      }
      if (random.chance(0.5)) await one.shares.close();
      else one.process.dead = true;
      // What a dead process had, it still has until it would lapse: it may only stand still.
      await time.sleep(SHARE_MS + random.int(40_000));
      running.delete(one);
    }
  };
  await time.run(Promise.all([watch(), ...['a', 'b', 'c', 'd'].map(live)]));

  // All are gone but one, with the server at its best.
  emulator.faults({});
  chaos = false;
  for (const one of running) one.process.dead = true;
  const last = begin('last');
  const alone = async (): Promise<void> => {
    for (const until = time.monotonic() + ALONE_MS; time.monotonic() < until;) {
      want(last.shares, 'bulk', false);
      await time.sleep(500);
    }
  };
  await time.run(alone());
  if (last.shares.now() < 0.99) said.push(`alone it has ${last.shares.now()}`);
  await time.run(last.shares.close());
  const left: readonly BudgetMember[] = await time.run(readMembers(plain.database('d').container('millrace'), 'd'));
  if (left.some(({ name }) => name === 'last')) said.push('it has left, and is still a member');
  for (const client of clients) client.dispose();
  await emulator.close();
  return { said, most };
}

/** A request; one that fails for want of a share comes again. */
function want(shares: Shares, lane: Lane, waits: boolean): void {
  try {
    shares.want(lane, waits);
  } catch (error) {
    if (!(error instanceof MillraceError && error.code === 'budget-unshared')) throw error;
  }
}
