// Random histories of a whole pipeline with tenants, one of which floods now and then, on the embedded server: hosts with
// windows that no flood fits die at any request, others go on, and containers split. TEN-F3 to TEN-F9 and TEN-F17 of hosts
// as they run: in the end every projection is what the oracle says, and nothing is deferred.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Views } from '../../src/engine/views/views.ts';
import { registeredOf } from '../../src/engine/deferred/registered.ts';
import { promote } from '../../src/procedures/promote/promote.ts';
import { promoteBack } from '../../src/procedures/promote/promote-back.ts';
import { rebuild } from '../../src/procedures/rebuild/rebuild.ts';
import { compose } from '../../src/runtime/hosts/processor-host.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';
import { type Stage, openStage } from '../support/stage.ts';
import { type Work, dies } from '../verbs/projections/dies.ts';
import { VERSIONS, compare, options, writeAny } from '../verbs/projections/versions.ts';

const SEED = suiteSeed();
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 3);
const FAULTS = { replicaLagMs: 10, failAfterEffect: 0.01, failBefore: 0.01, throttle: 0.01 };
const READ_LAG_MS = 20;
/** So many hosts must die with a queue. Where few histories had none by chance, the last one has more deaths. */
const LEAST_DEFERRED = Math.floor(HISTORIES / 8) + 1;
const MOST_DEATHS = 40;
const { signal } = new AbortController();

let stage: Stage;
beforeEach(async () => {
  stage = await openStage({ seed: SEED }, VERSIONS);
});
afterEach(() => stage[Symbol.asyncDispose]());

const waiting = () =>
  registeredOf(stage.services.place.state, { pipeline: 'versions', source: 'Orders' }, signal).queues();

/** Runs a host until it has read everything, with a window of its own size. */
function hostOf(random: Random, host: string): Work {
  const size = { pageSize: 3 + random.int(12), mostUnacknowledged: 6 + random.int(12) };
  const timings = { pollMs: 10, acquireMs: 50, expirationMs: 400, renewMs: 100, stopMs: 300, checkpointMs: 20 };
  return async (of, until) => {
    const app = await compose({ ...of, ...size, timings, host, readLagMs: READ_LAG_MS, viewsRefreshMs: 10 });
    try {
      await app.start();
      await app.drained(until);
    } finally {
      await app.stop();
    }
  };
}

async function flood(random: Random): Promise<void> {
  const storeId = `s${random.int(2)}`;
  const write = (n: number): Promise<unknown> =>
    stage.container('Orders').items.upsert({
      id: `o${n}`,
      type: 'order',
      storeId,
      customerId: `c${random.int(6)}`,
      placedAt: `2026-01-0${1 + random.int(5)}T10:00:00.000Z`,
      cents: random.int(10_000),
      ...(random.chance(0.1) ? { cancelled: true } : {}),
    });
  const ids = Array.from({ length: 20 + random.int(60) }, () => random.int(60));
  for (let from = 0; from < ids.length; from += 10) await Promise.all(ids.slice(from, from + 10).map(write));
}

it(`in ${HISTORIES} histories every projection is right, whichever host dies in a flood (seed ${SEED})`, async () => {
  const random = new Random(SEED);
  let [deferred, splits] = [0, 0];
  for (let history = 1; history <= HISTORIES; history++) {
    const more = (died: number): boolean => history === HISTORIES && deferred < LEAST_DEFERRED && died < MOST_DEATHS;
    for (let died = 0, deaths = random.int(4); died < deaths || more(died); died++) {
      await flood(random);
      for (let n = random.int(12); n > 0; n--) await writeAny(stage, random);
      stage.emulator.faults(FAULTS);
      await dies(stage, hostOf(random, `h${random.int(2)}`), 30 + random.int(400));
      stage.emulator.faults({});
      deferred += (await waiting()).length;
    }
    if (splits < 3 && random.chance(0.2)) {
      stage.emulator.split('shop/Orders');
      splits += 1;
    }
    await flood(random);
    await writeAny(stage, random);
    if (history === Math.ceil(HISTORIES / 2)) {
      for (const id of ['summaries@2', 'days@2']) {
        await rebuild(options(stage, id, signal));
        await promote({ ...options(stage, id, signal), keepMs: 3_600_000 });
      }
    } else if (history > HISTORIES / 2 && random.chance(0.3)) {
      // With what dead hosts have deferred, and no host to drain it.
      const version = (await new Views(stage.services.place.state, 'versions').read())?.['days']?.current?.version ?? 1;
      await promoteBack({ ...options(stage, `days@${3 - version}`, signal), keepMs: 3_600_000 });
      await judge(`days@${3 - version}`, `after history ${history} and the way back`);
    }
    stage.emulator.faults(FAULTS);
    await hostOf(random, 'last')(stage, signal, () => true);
    stage.emulator.faults({});
    expect(await waiting(), `history ${history}`).toEqual([]);
    for (const name of ['summaries', 'days']) await judge(`${name}@1`, `history ${history}`);
    if (history >= HISTORIES / 2)
      for (const name of ['summaries', 'days']) await judge(`${name}@2`, `history ${history}`);
  }
  expect(deferred, 'otherwise no host died with a queue').toBeGreaterThanOrEqual(LEAST_DEFERRED);
});

async function judge(id: string, when: string): Promise<void> {
  const { expected, found } = await compare(stage, id);
  expect({ id, when, found }).toEqual({ id, when, found: expected });
}
