// Thousands of random histories of the real processor in virtual time: see sim/history.ts. Every history is judged by
// PROC-L1 to PROC-L12 (sim/oracle.ts). MILLRACE_SEED and MILLRACE_HISTORIES repeat a failure.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Events } from '../../src/base/telemetry/diagnostics.ts';
import { suiteSeed } from '../support/seed.ts';
import { History } from './sim/history.ts';

const SEED = suiteSeed();
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 50);
const EVENTS = [
  'lease:acquired',
  'lease:released',
  'lease:state',
  'balancer:decided',
  'feed:page',
  'feed:failed',
] as const satisfies (keyof Events)[];

let running: { readonly seed: number; readonly history: History } | undefined;
const listeners = EVENTS.map((name) => ({
  channel: `millrace:${name}`,
  listen: (event: unknown) => {
    // A killed host of an earlier history may still wake up.
    const { container } = event as { container: string };
    if (running && container.startsWith(`c/sim${running.seed}/`))
      running.history.event(name, event as Events[typeof name]);
  },
}));

beforeAll(() => {
  for (const { channel, listen } of listeners) subscribe(channel, listen);
});
afterAll(() => {
  for (const { channel, listen } of listeners) unsubscribe(channel, listen);
});

/** Runs histories. Returns what went wrong, how many changes were deferred and applied, and how often pages were joined. */
async function run(floods: boolean, histories: number) {
  const failures: string[] = [];
  let [drained, joined] = [0, 0];
  for (let seed = SEED; seed < SEED + histories && failures.length < 10; seed++) {
    const history = new History(seed, floods);
    running = { seed, history };
    for (const said of await history.run()) failures.push(`${said} (MILLRACE_SEED=${seed} MILLRACE_HISTORIES=1)`);
    drained += history.drained;
    joined += history.joined;
  }
  return { failures, drained, joined };
}

it(`PROC-L1 to PROC-L12 hold in ${HISTORIES} histories (seed ${SEED})`, async () => {
  const { failures, joined } = await run(false, HISTORIES);
  expect(failures).toEqual([]);
  // About one in ten histories; fifty in a row may have none.
  expect(joined, 'otherwise no pages were joined').toBeGreaterThanOrEqual((HISTORIES - 100) / 20);
});

it(`they hold where changes of tenants are deferred (seed ${SEED})`, async () => {
  const { failures, drained } = await run(true, HISTORIES);
  expect(failures).toEqual([]);
  expect(drained, 'otherwise nothing was deferred').toBeGreaterThan(HISTORIES);
});
