// A balance of more leases than fit into the time that one request may take.
import { expect, it } from 'vitest';
import { FeedHost } from '../../../src/feed/sharing/feed-host.ts';
import type { ChangeSource } from '../../../src/feed/reading/source.ts';
import { Quick, rangesOf, unwatched } from '../sim/fleet.ts';
import { NO_FAULTS, Process, World } from '../sim/world.ts';

const COUNT = 400;
const never = () => new Promise<never>(() => undefined);
const SILENT: ChangeSource = { prepare: () => Promise.resolve(), read: never, resolve: never };

/** A host of `COUNT` leases, whose requests take 2 to 40 ms; no request may take a second. */
function stage(hangs = false) {
  const world = new World(new Quick(1));
  let taken = 0;
  const process = new Process(world, 0, 0);
  const store = unwatched(world, rangesOf(COUNT), () => void taken++).store(process, 'me', NO_FAULTS);
  const host = new FeedHost({
    container: 'c',
    host: 'me',
    source: SILENT,
    leases: hangs ? { ...store, acquire: never } : store,
    start: 'beginning',
    handle: () => Promise.resolve(),
    timings: { stallMs: 1_000 },
    clock: process.clock,
  });
  return { world, host, taken: () => taken };
}

it('a host takes all leases in its first balance, however many there are', async () => {
  const { world, host, taken } = stage();
  const started = host.start();
  await world.pass(60_000);
  await started;
  expect(taken()).toBe(COUNT);
});

it('a host does not wait for a request that hangs', async () => {
  const { world, host } = stage(true);
  const started = host.start();
  started.catch(() => undefined);
  await world.pass(10_000);
  await expect(started).rejects.toMatchObject({ code: 'lease-store-hangs' });
});
