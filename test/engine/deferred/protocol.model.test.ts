// Random histories of hosts that defer changes and drain them, while leases are stolen, split and moved back, hosts
// die between any two requests or sleep and wake up, answers are lost, and documents change or vanish. The queues are the
// real one; the judge (sim.ts) knows the source, the sink and the log of effects, and nothing of queues. TEN-F1 to TEN-F7
// hold, and each variant that leaves one of them out is found.
import { expect, it } from 'vitest';
import { suiteSeed } from '../../support/seed.ts';
import { World } from './sim.ts';
import { Tenure, VARIANTS, type Variant } from './tenure.ts';

const SEED = suiteSeed();
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 60);
/** So many histories find a variant at the latest: the rarest is wrong in one of about a thousand. */
const VARIANT_HISTORIES = Number(process.env['MILLRACE_VARIANT_HISTORIES'] ?? 10_000);
const LONGEST = 10_000;

it(`what is deferred is applied, in the order of its key (seed ${SEED})`, async () => {
  const failures: string[] = [];
  let drained = 0;
  for (let seed = SEED; seed < SEED + HISTORIES && failures.length < 10; seed++) {
    const history = await run(seed, undefined);
    drained += history.drained;
    failures.push(...history.said.map((text) => `${text} (MILLRACE_SEED=${seed} MILLRACE_HISTORIES=1)`));
  }
  expect(failures).toEqual([]);
  expect(drained, 'otherwise nothing was deferred').toBeGreaterThan(HISTORIES);
});

// From one seed at every commit: which variants are found is no matter of luck.
it.each(VARIANTS)('a host that %s is found', async (variant) => {
  const [wrong, tried] = await count(variant, process.env['MILLRACE_VARIANT_HISTORIES'] === undefined);
  expect(wrong, `in ${tried} histories`).toBeGreaterThan(0);
});

/** How many histories of a variant are wrong, and how many were tried. `first`: it ends with the first that is wrong. */
async function count(variant: Variant, first: boolean): Promise<[wrong: number, tried: number]> {
  let wrong = 0;
  for (let at = 0; at < VARIANT_HISTORIES; at++) {
    if ((await run(1 + at, variant)).said.length === 0) continue;
    wrong += 1;
    if (first) return [wrong, at + 1];
  }
  console.log(`a host that ${variant}: ${wrong} of ${VARIANT_HISTORIES} histories are wrong`);
  return [wrong, VARIANT_HISTORIES];
}

async function run(seed: number, variant: Variant): Promise<{ said: string[]; drained: number }> {
  const world = new World(seed);
  const { random } = world;
  const tenures: Tenure[] = [];
  let made = 0;
  // Some histories are long, some have calm leases, some hardly any.
  const steps = 100 + random.int(600);
  const unrest = random.pick([1, 4, 8]);
  const begin = (lease: World['leases'][number]): Tenure => {
    const tenure = new Tenure(world, lease, `t${(made += 1)}`, variant);
    tenures.push(tenure);
    void tenure.run();
    return tenure;
  };
  const idle = (): World['leases'] =>
    world.leases.filter(({ owner }) => !tenures.some(({ token, dead, over }) => token === owner && !dead && !over));

  for (let at = 0; at < steps; at++) {
    const dice = random.int(1_000);
    if (dice < 200) world.write();
    else if (dice < 260) idle().forEach(begin);
    else if (dice < 260 + 5 * unrest) {
      // Stolen: the old owner doesn't know yet, and may sleep.
      const lease = random.pick(world.leases);
      const old = tenures.find(({ token }) => token === lease.owner);
      if (old && random.chance(0.6)) old.sleepsUntil = world.now + random.int(150);
      begin(lease);
    } else if (dice < 260 + 9 * unrest && tenures.length > 0) random.pick(tenures).dead = true;
    else if (dice < 260 + 12 * unrest) world.split();
    else if (dice < 260 + 14 * unrest) world.rewind();
    await world.step();
  }
  for (const tenure of tenures) tenure.dead = true;
  for (let at = 0; at < LONGEST && !(at > 0 && world.settled); at++) {
    idle().forEach((lease) => begin(lease).calm());
    await world.step();
  }
  if (!world.settled) world.said.push('no progress');
  return { said: world.judge(), drained: tenures.reduce((sum, tenure) => sum + tenure.drained, 0) };
}
