// Two processes with one RU_BUDGET, one of which dies: judged by what the server charged, in virtual time.
import { CosmosClient } from '@azure/cosmos';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { MillraceError } from '../../../src/base/errors.ts';
import { Budget } from '../../../src/cosmos/budget/limit.ts';
import { BEAT_MS, SHARE_MS, Shares, readMembers } from '../../../src/cosmos/budget/split.ts';
import { Meter } from '../../../src/cosmos/budget/charge-meter.ts';
import { limitSpending, spendingOf } from '../../../src/cosmos/budget/meter.ts';
import { type Faults, startEmulator } from '../../../src/emulator/index.ts';
import { untilStopped } from '../../../src/feed/tenure/fences.ts';
import { CosmosAccess } from '../../../src/access/cosmos-access.ts';
import { emulate } from '../../emulator/emulate.ts';
import { ManualClock } from '../../support/clock.ts';
import { VirtualProcess, VirtualTime } from '../../support/virtual-time.ts';

const RU = 100;
const SECOND = 1_000;

it('processes that share a budget keep to it together, and the one that is left gets all of it', async () => {
  const emulator = await startEmulator({ seed: 1 });
  onTestFinished(() => emulator.close());
  const time = new VirtualTime(emulator);
  const plain = new CosmosClient({ ...emulator.clientOptions, httpClient: time.transport((_, send) => send()) });
  await time.run(
    (async () => {
      const { database } = await plain.databases.create({ id: 'd' });
      await database.containers.create({ id: 'millrace', partitionKey: '/pk', defaultTtl: -1 });
      await database.containers.create({ id: 'sink', partitionKey: '/pk' });
    })(),
  );
  const charged: { at: number; ru: number; who: string }[] = [];
  const begin = (who: string, lane: 'live' | 'bulk') => {
    const clock = new VirtualProcess(time);
    const ending = new AbortController();
    const client = new CosmosClient({
      ...emulator.clientOptions,
      httpClient: time.transport(async (request, send) => {
        if (ending.signal.aborted) return new Promise(() => undefined);
        const answer = await send();
        const ru = Number(answer.headers.get('x-ms-request-charge') ?? 0);
        if (request.url.includes('/colls/sink/docs')) charged.push({ at: time.monotonic(), ru, who });
        return answer;
      }),
    });
    const database = client.database('d');
    const state = database.container('millrace');
    const shares = new Shares({ state, database: 'd', name: who, ruPerSecond: RU, clock });
    limitSpending(client, RU, clock, () => shares);
    const access = new CosmosAccess(database, untilStopped(ending.signal), new Meter(), spendingOf(database, lane));
    const work = async (): Promise<void> => {
      for (let n = 0; !ending.signal.aborted; n++)
        await access.commit('sink', ['k'], [{ op: 'create', id: `${who}-${n}`, body: { id: `${who}-${n}`, pk: 'k' } }]);
    };
    return { ending, client, working: work().catch(() => undefined) };
  };
  const spent = (from: number, to: number, who?: string): number =>
    charged
      .filter((one) => one.at >= from && one.at < to && (who ?? one.who) === one.who)
      .reduce((sum, { ru }) => sum + ru, 0);
  const at = time.monotonic();
  const rebuild = begin('rebuild', 'bulk');
  await time.run(time.sleep(30 * SECOND));
  const host = begin('host', 'live');
  await time.run(time.sleep(60 * SECOND));
  expect(
    (await time.run(readMembers(plain.database('d').container('millrace'), 'd'))).map(({ name }) => name).toSorted(),
  ).toEqual(['host', 'rebuild']);
  // Alone, then both: what was saved up in one second by each may come on top.
  for (const [from, to] of [
    [at, at + 30 * SECOND],
    [at + 30 * SECOND, at + 90 * SECOND],
  ] as const) {
    const seconds = (to - from) / SECOND;
    expect(spent(from, to)).toBeLessThan(RU * (seconds + 2) + 20);
    expect(spent(from, to)).toBeGreaterThan(0.7 * RU * seconds);
  }
  // Live work takes what it needs: here everything but the least share of the other.
  const late = [at + 60 * SECOND, at + 90 * SECOND] as const;
  expect(spent(...late, 'host')).toBeGreaterThan(5 * spent(...late, 'rebuild'));
  host.ending.abort();
  const died = time.monotonic();
  const over = SHARE_MS + 2 * BEAT_MS;
  await time.run(time.sleep(over + 30 * SECOND));
  expect(spent(died, died + over)).toBeLessThan(RU * (over / SECOND + 2) + 20);
  expect(spent(died + over, died + over + 30 * SECOND)).toBeGreaterThan(0.7 * RU * 30);
  rebuild.ending.abort();
  for (const client of [plain, host.client, rebuild.client]) client.dispose();
});

describe('a share that can’t be had', () => {
  const budgetOn = async (faults: Faults, container = 'millrace') => {
    const { emulator, database } = await emulate();
    await database.containers.create({ id: 'millrace', partitionKey: '/pk' });
    emulator.faults(faults);
    const clock = new ManualClock();
    const state = database.container(container);
    const shares = new Shares({ state, database: 'd', name: 'x', ruPerSecond: RU, clock });
    onTestFinished(async () => {
      const ending = { closed: false };
      void shares.close().then(() => (ending.closed = true));
      for (; !ending.closed; await turn()) clock.advance(50);
    });
    const request: { ended?: string } = {};
    void new Budget(RU, clock, shares).take('p', 'live').then(
      () => (request.ended = 'sent'),
      (error: MillraceError) => (request.ended = error.code),
    );
    const began = clock.monotonic();
    while (request.ended === undefined && clock.monotonic() - began < 200 * SECOND) {
      clock.advance(50);
      await turn();
    }
    return { ...request, seconds: (clock.monotonic() - began) / SECOND };
  };

  it('a process that may not write the state container gets no share, and is refused', async () => {
    const { ended } = await budgetOn({ rules: [{ container: 'millrace', status: 403, substatus: 5301 }] });
    expect(ended).toBe('budget-denied');
  });

  it('a share can’t be had without the state container: it fails after a minute', async () => {
    const { ended, seconds } = await budgetOn({ rules: [{ container: 'millrace', status: 429, retryAfterMs: 100 }] });
    expect(ended).toBe('budget-unshared');
    expect(seconds).toBeGreaterThan(60);
  });

  it('a budget needs no state container where there is none', async () => {
    expect((await budgetOn({}, 'none')).ended).toBe('sent');
  });
});
