// Random histories of tenants that are erased, two at once, while the application writes for them, hosts apply pages that
// they read long ago, redrives, sweeps and restores run, and the erasures die. ERASE-S1 to ERASE-S8 hold together: after a
// certificate nothing of the tenant is derived, parked or archived, and no other tenant loses anything. Each variant that
// leaves something out is found.
import { expect, it } from 'vitest';
import { suiteSeed } from '../../support/seed.ts';
import { VARIANTS, type Variant, World } from './sim.ts';

const SEED = suiteSeed();
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 40);
/** So many histories find a variant at the latest. */
const VARIANT_HISTORIES = Number(process.env['MILLRACE_VARIANT_HISTORIES'] ?? 1_000);
const MINUTE = 60_000;
const [GONE, ALSO, STAYS] = ['gone', 'also', 'stays'];

it(`after the certificate nothing of the tenant is left, and others lose nothing (seed ${SEED})`, async () => {
  const failures: string[] = [];
  let certified = 0;
  for (let seed = SEED; seed < SEED + HISTORIES; seed++) {
    const world = await run(seed, undefined);
    certified += world.certified.size;
    failures.push(...world.said.map((text) => `${text} (MILLRACE_SEED=${seed} MILLRACE_HISTORIES=1)`));
  }
  expect(failures).toEqual([]);
  expect(certified, 'otherwise no erasure has ended').toBeGreaterThan(HISTORIES / 2);
});

// From one seed at every commit: which variants are found is no matter of luck.
it.each(VARIANTS)('an erasure that %s is found', async (variant) => {
  let tried = 0;
  let wrong: readonly string[] = [];
  while (wrong.length === 0 && tried < VARIANT_HISTORIES) wrong = (await run(++tried, variant)).said;
  if (process.env['MILLRACE_VARIANT_HISTORIES'] !== undefined) console.log(`${variant}: ${tried}, ${wrong.join()}`);
  expect(wrong, `in ${tried} histories`).not.toEqual([]);
});

async function run(seed: number, variant: Variant): Promise<World> {
  const world = new World(seed, variant);
  const { random } = world;
  const erasesAt = 5 * MINUTE;
  const writesUntil = erasesAt + world.delay(20 * MINUTE);
  const end = 60 * MINUTE;
  const every = async (most: number, until: number, work: () => unknown, from = 0): Promise<void> => {
    for (let first = from; ; first = 0) {
      await world.sleep(first + random.int(most));
      if (world.monotonic() > until) return;
      work();
    }
  };
  const write = (tenant: string) => (): void => world.write(`${tenant} ${random.int(3)}`, tenant);
  for (const tenant of [GONE, ALSO]) {
    void every(2 * MINUTE, writesUntil, write(tenant));
    // A part of the application that was forgotten.
    if (random.chance(0.5)) void every(5 * MINUTE, end, write(tenant), 45 * MINUTE);
  }
  void every(4 * MINUTE, end, write(STAYS));
  for (let host = 0; host < 3; host++) {
    const watch = world.watch();
    void every(20_000, end, () => void world.page(watch));
    void every(MINUTE, end, () => void world.fanOut());
    void every(2 * MINUTE, end, () => void world.sweep(watch));
  }
  void every(5 * MINUTE, end, () => void world.operation('redrive', () => world.redrive()));
  void every(10 * MINUTE, end, () => void world.operation('restore', () => world.restore()));
  void every(10 * MINUTE, end, () => void world.operation('replay', () => world.fanOut(false)));
  await world.until(erasesAt);
  void world.erase(GONE, random.int(4));
  if (random.chance(0.5)) void world.erase(ALSO, random.int(3));
  await world.until(end);
  // Until everything has landed.
  await world.until(2 * end);
  await world.judgeOthers([STAYS]);
  return world;
}
