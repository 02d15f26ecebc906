// Random histories of writers that sleep between reading the map and writing, beside two administrators who move keys back
// and forth: the real map over stores in memory, and fences beside them. Answers are lost, shards can't be reached, processes
// die. The oracle knows the map as it is, and judges each write at the moment at which it lands. ROUTE-F1 to ROUTE-F3.
import { describe, expect, it } from 'vitest';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';
import { FENCE_MISTAKES, type FenceMistake, FenceWorld } from './fence-world.ts';
import { type Actor, type Administrator, MapWorld } from './map-world.ts';

const SEED = suiteSeed();
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 30);
/** So many histories are tried with each mistake until one shows it. */
const TRIED = 300;
const KEYS = 2;

const totals = { landed: 0, refused: 0, changed: 0 };

async function history(seed: number, mistake?: FenceMistake): Promise<string | undefined> {
  const random = new Random(seed);
  const world = new MapWorld(random, 'list');
  const fences = new FenceWorld(world, random, mistake);
  const administrators = [fences.administrator(), fences.administrator()];
  let failed: string | undefined;
  const run = async (work: Promise<unknown>, step?: () => void): Promise<void> => {
    work.catch((error: unknown) => (failed ??= String(error)));
    await world.run(step);
  };
  await run(begin(administrators[0]!));
  world.faults = true;
  const writers: Actor[] = [{ dead: false }, { dead: false }, { dead: false }];
  const work = [
    ...administrators.map((one) => administer(one, fences, random)),
    ...writers.map((one) => write(one, fences, random)),
  ];
  await run(Promise.all(work), () => {
    if (random.chance(0.01)) {
      const database = random.pick(['A', 'B']);
      if (!world.down.delete(database)) world.down.add(database);
    }
    const [first] = administrators;
    if (random.chance(0.002) && !first!.dead) world.kill(first!);
    // Only this mistake needs a fence that is missing.
    if (mistake === 'a router creates a missing fence' && random.chance(0.01)) fences.lose(random.int(KEYS));
  });
  world.faults = false;
  world.down.clear();
  // The next administrator finishes, and then each online key can be written.
  await run(administrators[1]!.map.settle());
  const before = fences.totals.refused;
  for (let key = 0; key < KEYS; key++) await run(fences.write({ dead: false }, key));
  if (fences.totals.refused > before) failed ??= 'a key is online, and its fence is closed';
  totals.landed += fences.totals.landed;
  totals.refused += fences.totals.refused;
  return fences.wrong ?? failed;
}

async function begin({ map }: Administrator): Promise<void> {
  const west = await map.createShard({ database: 'A' });
  await map.createShard({ database: 'B' });
  for (let key = 0; key < KEYS; key++) await map.createMapping({ shard: west, key });
}

async function administer({ map }: Administrator, fences: FenceWorld, random: Random): Promise<void> {
  for (let calls = 0; calls < 40; calls++) {
    const [mappings, shards] = [await map.mappings(), await map.shards()];
    const mapping = mappings[random.int(Math.max(1, mappings.length))];
    if (!mapping) {
      await map.createMapping({ shard: random.pick(shards), key: random.int(KEYS) }).catch(() => undefined);
      continue;
    }
    const shard = random.pick(shards);
    const offline = async (): Promise<void> => {
      await map.markOffline(mapping);
      fences.isOffline(mapping);
    };
    const call = mapping.status === 'online' ? offline : () => map.updateMapping(mapping, { status: 'online', shard });
    await (random.chance(0.05) && mapping.status === 'offline' ? map.deleteMapping(mapping) : call()).then(
      () => (totals.changed += 1),
      () => undefined,
    );
  }
}

async function write(by: Actor, fences: FenceWorld, random: Random): Promise<void> {
  for (let times = 0; times < 20; times++) await fences.write(by, random.int(KEYS));
}

async function failureOf(seed: number, mistake?: FenceMistake): Promise<string[]> {
  const said = await history(seed, mistake);
  return said === undefined ? [] : [`${said} (MILLRACE_SEED=${seed} MILLRACE_HISTORIES=1)`];
}

describe(`fenced writes beside two administrators (seed ${SEED})`, () => {
  it('fenced writes beside two administrators land only on the shard that has their key, and never after it went offline', async () => {
    const failures: string[] = [];
    for (let seed = SEED; seed < SEED + HISTORIES; seed++) failures.push(...(await failureOf(seed)));
    expect(failures.slice(0, 3)).toEqual([]);
    const rare = HISTORIES >= 20 ? Object.entries(totals).filter(([, total]) => total === 0) : [];
    expect(rare).toEqual([]);
  });

  it.each(FENCE_MISTAKES)(
    'fenced writes beside two administrators are seen to land elsewhere with the mistake: %s',
    async (mistake) => {
      let failures: string[] = [];
      for (let seed = 1; seed <= TRIED && failures.length === 0; seed++)
        failures = (await failureOf(seed, mistake)).filter((said) => said.includes('landed'));
      expect(failures).not.toEqual([]);
    },
  );
});
