// Random histories of a router beside two administrators who change its map: the real routes and the real map over stores in
// memory. Reads are stale, requests take effect in any order, shards can't be reached for a while, administrators die. A
// plain list of the states that the stores had judges each mapping at the moment at which it is used. ROUTE-C1 to ROUTE-C4.
import { describe, expect, it } from 'vitest';
import { encodeKey } from '../../src/shards/keys/key-type.ts';
import { covers } from '../../src/shards/keys/spans.ts';
import { isMapping } from '../../src/shards/map/documents.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';
import { type Administrator, MapWorld } from './map-world.ts';
import { ROUTING_MISTAKES, RouterWorld, type RoutingMistake, VALID_FOR } from './router-world.ts';

const SEED = suiteSeed();
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 20);
/** So many histories are tried with each mistake until one shows it. */
const TRIED = 300;
const KEYS = 8;

const totals = { found: 0, refused: 0, changed: 0 };

async function history(seed: number, mistake?: RoutingMistake): Promise<string | undefined> {
  const random = new Random(seed);
  const world = new MapWorld(random, 'range');
  const router = new RouterWorld(world, random, mistake);
  const administrators = [world.administrator(), world.administrator()];
  let failed: string | undefined;
  /** Runs the world until no process has a request. A process that died doesn't end. */
  const run = async (work: Promise<unknown>, step: () => void = () => undefined): Promise<void> => {
    work.catch((error: unknown) => (failed ??= String(error)));
    await world.run(() => {
      router.steps += 1;
      step();
    });
  };
  await run(begin(administrators[0]!));
  world.faults = true;
  const all = Promise.all([
    ...administrators.map((one) => administer(one, random)),
    ...[1, 2, 3].map(() => ask(router, random)),
  ]);
  const disturb = (): void => {
    if (random.chance(0.01)) {
      const database = random.pick(['A', 'B']);
      if (!world.down.delete(database)) world.down.add(database);
    }
    const [first] = administrators;
    if (random.chance(0.002) && !first!.dead) world.kill(first!);
  };
  await run(all, disturb);
  world.faults = false;
  world.down.clear();
  await run(administrators[1]!.map.settle());
  // The back-off after a shard that didn't answer, and what was read before.
  router.steps += 30_000 + VALID_FOR;
  for (let key = 0; key < KEYS; key++) {
    let where = '';
    await run(router.where(key).then((said) => (where = said)));
    if (where !== expected(world, key)) failed ??= `${key} is at ${expected(world, key)}, the router says ${where}`;
  }
  return router.wrong ?? failed;
}

async function begin({ map }: Administrator): Promise<void> {
  const west = await map.createShard({ database: 'A' });
  const east = await map.createShard({ database: 'B' });
  await map.createMapping({ shard: west, low: 0, high: 4 });
  await map.createMapping({ shard: east, low: 4, high: 6 });
}

/** Changes what it finds; what is refused is of no interest here. */
async function administer({ map }: Administrator, random: Random): Promise<void> {
  for (let calls = 0; calls < 8; calls++) {
    const [mappings, shards] = [await map.mappings(), await map.shards()];
    const mapping = mappings[random.int(Math.max(1, mappings.length))];
    const shard = random.pick(shards);
    const status = random.pick(['online', 'offline', 'online'] as const);
    const low = random.int(KEYS);
    const create = (): Promise<unknown> =>
      map.createMapping({ shard, low, high: low + 1 + random.int(KEYS - low), status });
    const call = !mapping
      ? create
      : random.pick<() => Promise<unknown>>([
          create,
          () => map.deleteMapping(mapping),
          () => map.updateMapping(mapping, { status, ...(mapping.status === 'offline' && { shard }) }),
          () => map.updateMapping(mapping, { status: 'offline', shard }),
          () => map.splitMapping(mapping, random.int(KEYS)),
          () => map.mergeMappings(mapping, mappings.find((one) => one.low === mapping.high) ?? mapping),
        ]);
    await call().then(
      () => (totals.changed += 1),
      () => undefined,
    );
  }
}

async function ask(router: RouterWorld, random: Random): Promise<void> {
  for (let times = 0; times < 40; times++) {
    if (random.chance(0.03)) await router.routes.fill();
    const where = await router.where(random.int(KEYS));
    totals[/^(mapping|shard|local)-/.test(where) ? 'refused' : 'found'] += 1;
  }
}

/** What a plain reading of the map says. */
function expected(world: MapWorld, key: number): string {
  const code = encodeKey('int32', key);
  const mapping = [...world.map.entries.values()].filter(isMapping).find((entry) => covers(entry, code));
  if (!mapping) return 'mapping-missing';
  return mapping.status === 'online' ? mapping.shard : 'mapping-offline';
}

async function failureOf(seed: number, mistake?: RoutingMistake): Promise<string[]> {
  const said = await history(seed, mistake);
  return said === undefined ? [] : [`${said} (MILLRACE_SEED=${seed} MILLRACE_HISTORIES=1)`];
}

describe(`a router beside two administrators (seed ${SEED})`, () => {
  it('a router beside two administrators uses only what the map and a local map had, for a while, and finds what they have in the end', async () => {
    const failures: string[] = [];
    for (let seed = SEED; seed < SEED + HISTORIES; seed++) failures.push(...(await failureOf(seed)));
    expect(failures.slice(0, 3)).toEqual([]);
    const rare = HISTORIES >= 20 ? Object.entries(totals).filter(([, total]) => total === 0) : [];
    expect(rare).toEqual([]);
  });

  it.each(Object.entries(ROUTING_MISTAKES))(
    'a router beside two administrators is seen to fail with the mistake: %s',
    async (mistake, first) => {
      const failures: string[] = [];
      for (let seed = first; seed < first + TRIED && failures.length === 0; seed++)
        failures.push(...(await failureOf(seed, mistake as RoutingMistake)));
      expect(failures).not.toEqual([]);
    },
  );
});
