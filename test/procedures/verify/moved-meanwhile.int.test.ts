// What verbs say that read shards at once, or each by itself, while a key really moves. MOVE-V54, MOVE-V55.
import { type TestContext, expect, it, vi } from 'vitest';
import type { AtPlace } from '../../../src/verbs/at-places.ts';
import type { Operation } from '../../../src/verbs/operation.ts';
import type { MovedKeys } from '../../../src/procedures/verify/moved-meanwhile.ts';
import { projectionsReplay } from '../../../src/verbs/projections/replay.operation.ts';
import { projectionsVerify } from '../../../src/verbs/projections/verify.operation.ts';
import { movesOf } from '../../../src/procedures/move/record.ts';
import { moveMapping } from '../../../src/procedures/move/move.ts';
import { openWorkspace } from '../../../src/runtime/open-workspace.ts';
import { type Services, changedWorkspace } from '../../../src/runtime/workspace.ts';
import { given } from '../../runtime/spread-world.ts';
import { SPREAD } from '../../support/spread-stage.ts';

const { signal } = new AbortController();
const screen = { live: false, line: () => undefined, draw: () => undefined, progress: () => undefined };

/** Two shards with a store each, and live hosts. */
async function world(context: Pick<TestContext, 'onTestFinished'>) {
  const { stage, application, host } = await given(context, ['north', 'west']);
  for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
  context.onTestFinished(() => void vi.unstubAllEnvs());
  const shards = {
    north: await stage.map.shard({ database: 'north' }),
    west: await stage.map.shard({ database: 'west' }),
  };
  await stage.map.createMapping({ key: 's0', shard: shards.north });
  await stage.map.createMapping({ key: 's1', shard: shards.west });
  await application.order('s0', 'north', 'o1', 100);
  await application.order('s1', 'west', 'o1', 20);
  const app = await host();
  await app.drained(signal);
  const { client } = stage.services.place.database;
  const maps = stage.at('maps', 'shardmaps');
  const move = async (key: string, to: 'north' | 'west'): Promise<void> => {
    const { leases } = stage.services.global;
    const connect = ({ database }: { readonly database: string }) => client.database(database);
    const times = { readLagMs: 0, graceMs: 0, holdMs: 60_000, patienceMs: 60_000 };
    const { map, emulator } = stage;
    const of = { map, maps, connect, endpointOf: () => emulator.endpoint, stateContainer: 'millrace', leases, signal };
    await moveMapping({ ...of, ...times }, await map.mapping(key), shards[to]);
    await app.drained(signal);
  };
  /** Runs a verb, with `between` at a call that opens a place. */
  const run = async (
    verb: Operation,
    input: object,
    between: (place: string) => Promise<void> = () => Promise.resolve(),
    more: { readonly askedAt?: number } = {},
  ) => {
    const opened = openWorkspace({ directory: process.cwd(), pipeline: SPREAD });
    context.onTestFinished(() => opened.close());
    const hooked = (of: Services): Services => ({
      ...of,
      inBulk: async () => hooked(await of.inBulk()),
      at: async (location) => {
        await between(location.database);
        return of.at(location);
      },
    });
    const workspace = changedWorkspace(opened, { services: async () => hooked(await opened.services()) });
    return verb.run(input, { workspace, actor: 'test', signal, screen, ...more });
  };
  const moves = async (): Promise<string[]> =>
    (await movesOf(maps, stage.map.name, signal)).filter(({ step }) => step === 'done').map(({ id }) => id);
  return { stage, move, run, moves };
}

/** Which moves each place names. */
const namedBy = (value: unknown): Record<string, string[]> =>
  Object.fromEntries(
    (value as { readonly places: readonly AtPlace[] }).places.map(({ place, value: of }) => [
      place,
      ((of as { readonly moved?: readonly MovedKeys[] }).moved ?? []).map(({ move }) => move),
    ]),
  );

/** Calls `work` when the place is opened by itself. In turn, the global place has opened all of them before. */
function atTurnOf(place: string, work: () => Promise<void>, turn = 2): (opened: string) => Promise<void> {
  let calls = 0;
  return async (opened) => {
    if (opened === place && (calls += 1) === turn) await work();
  };
}

it('a verification of each shard names keys that were perhaps compared in none, and no others', async (context) => {
  const { move, run, moves } = await world(context);
  expect(await run(projectionsVerify, {})).toMatchObject({ ok: true });

  // A repair is in turn: north is compared, the key moves there, and then west is compared, which doesn't have it any more.
  const repair = true;
  const missed = await run(
    projectionsVerify,
    { repair },
    atTurnOf('west', () => move('s1', 'north')),
  );
  const [first = ''] = await moves();
  expect(missed.ok).toBe(false);
  expect(namedBy(missed.value)).toEqual({ shop: [], north: [], west: [first] });
  expect(missed.text).toContain(
    `"s1" moved to north meanwhile (move ${first}): perhaps no shard had its documents when it was read. Run \`millrace projections verify --shard north\`.`,
  );
  expect(await run(projectionsVerify, { shard: 'north' })).toMatchObject({ ok: true });

  // The other way round west is compared after the key has come, so it was compared there.
  const seen = await run(
    projectionsVerify,
    { repair },
    atTurnOf('west', () => move('s1', 'west')),
  );
  expect([seen.ok, namedBy(seen.value)]).toEqual([true, { shop: [], north: [], west: [] }]);
});

it('a verification of one tenant names its own moves alone', async (context) => {
  const { move, run, moves } = await world(context);
  const repair = true;
  const other = await run(
    projectionsVerify,
    { repair, tenant: 's0' },
    atTurnOf('west', () => move('s1', 'north')),
  );
  expect([other.ok, namedBy(other.value)]).toEqual([true, { shop: [], north: [], west: [] }]);
  await move('s1', 'west');
  const own = await run(
    projectionsVerify,
    { repair, tenant: 's1' },
    atTurnOf('west', () => move('s1', 'north')),
  );
  expect([own.ok, namedBy(own.value)['west']]).toEqual([false, [(await moves()).at(-1)]]);
});

it('a verification of all shards side by side names keys that had left a shard before it was read', async (context) => {
  const { move, run, moves } = await world(context);
  // North is compared while the key moves there, and west after it has left.
  const beside = await run(
    projectionsVerify,
    {},
    atTurnOf('west', () => move('s1', 'north'), 1),
  );
  expect([beside.ok, namedBy(beside.value)['west']]).toEqual([false, [(await moves()).at(-1)]]);
});

it('a job of one shard names keys that have left it since it was asked for', async (context) => {
  const { move, run, moves } = await world(context);
  const askedAt = Date.now();
  await move('s1', 'north');
  const [id] = await moves();
  const late = await run(projectionsVerify, { shard: 'west' }, undefined, { askedAt });
  expect([late.ok, late.value]).toMatchObject([false, { moved: [{ move: id, keys: '"s1"', to: 'north' }] }]);
  expect(await run(projectionsVerify, { shard: 'north' }, undefined, { askedAt })).toMatchObject({ ok: true });
  // It was compared in north, by a job that was asked for long after the move.
  const { ok } = await run(projectionsVerify, { shard: 'west' }, undefined, { askedAt: askedAt + 3_600_000 });
  expect(ok).toBe(true);
});

it('a replay of all tenants names the keys that moved while it ran', async (context) => {
  const { move, run, moves } = await world(context);
  expect(await run(projectionsReplay, { name: 'summaries' })).toMatchObject({ ok: true });
  let moved: Promise<void> | undefined;
  const replayed = await run(projectionsReplay, { name: 'summaries' }, () => (moved ??= move('s1', 'north')));
  const [id = ''] = await moves();
  expect([replayed.ok, replayed.value]).toMatchObject([false, { moved: [{ move: id, keys: '"s1"', to: 'north' }] }]);
  expect(replayed.text).toContain(`"s1" moved to north meanwhile (move ${id})`);
  expect(await run(projectionsReplay, { name: 'summaries' })).toMatchObject({ ok: true });
});
