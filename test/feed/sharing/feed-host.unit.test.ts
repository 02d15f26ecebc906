// A balance of more leases than fit into the time that one request may take.
import { expect, it } from 'vitest';
import { FeedHost } from '../../../src/feed/sharing/feed-host.ts';
import type { ChangeSource } from '../../../src/feed/reading/source.ts';
import { Random } from '../../support/random.ts';
import type { Container } from '../sim/feed.ts';
import { Leases } from '../sim/leases.ts';
import { NO_FAULTS, Process, World } from '../sim/world.ts';

const COUNT = 400;
const never = () => new Promise<never>(() => undefined);
const SILENT: ChangeSource = { prepare: () => Promise.resolve(), read: never, resolve: never };

/** Without the requests that take seconds. */
class Quick extends Random {
  override chance(): boolean {
    return false;
  }
}

/** A host of `COUNT` leases, whose requests take 2 to 40 ms; no request may take a second. */
function stage(hangs = false) {
  const world = new World(new Quick(1));
  const border = (n: number): string => n.toString(16).toUpperCase().padStart(4, '0');
  const ranges = Array.from({ length: COUNT }, (_, n) => ({
    min: n === 0 ? '' : border(n),
    max: n === COUNT - 1 ? 'FF' : border(n + 1),
  }));
  const nothing = (): void => undefined;
  let taken = 0;
  const acquired = (): void => void taken++;
  const watcher = { stored: nothing, acquired, removed: nothing, tookOver: nothing, answered: nothing, told: nothing };
  const process = new Process(world, 0, 0);
  const store = new Leases(world, { ranges } as unknown as Container, watcher).store(process, 'me', NO_FAULTS);
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
