// Outside sinks are rebuilt under live load by processes that die at random requests: REB-V20 and REB-V21.
import { expect, it } from 'vitest';
import { compose } from '../../../src/runtime/hosts/processor-host.ts';
import { MillraceError } from '../../../src/base/errors.ts';
import { Views } from '../../../src/engine/views/views.ts';
import { rebuildSink, swapSink, dropTarget } from '../../../src/procedures/rebuild/rebuild-sink.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import { openStage } from '../../support/stage.ts';
import { dies, type Work } from '../../verbs/projections/dies.ts';
import { Shelves, asText, declaring, rowsOf, search } from '../../verbs/projections/shelves.ts';
import { VERSIONS, fast, keepWriting, writeAny } from '../../verbs/projections/versions.ts';

// MILLRACE_SEED repeats a run, MILLRACE_HISTORIES says how many rebuilds there are.
const SEED = suiteSeed();
const REBUILDS = Math.max(1, Math.ceil(Number(process.env['MILLRACE_HISTORIES'] ?? 20) / 10));
/** How late the live host sees a freeze: late enough that it writes meanwhile. */
const SEES_MS = 400;
const { signal } = new AbortController();

it(`no row is lost and none goes back when a sink is swapped under load, though processes die (seed ${SEED})`, async () => {
  await using stage = await openStage({ seed: SEED }, VERSIONS);
  const random = new Random(SEED);
  const shelves = new Shelves(random, 60);
  const loaded = declaring(stage, { effects: [search(shelves.sink())] });
  for (let n = 0; n < 60; n++) await writeAny(stage, random);
  const app = await compose({ ...stage, ...fast, viewsRefreshMs: SEES_MS, loaded, host: 'live' });
  await app.start();
  const writing = keepWriting(stage, random, 5);
  const options: (...of: Parameters<Work>) => Parameters<typeof swapSink>[0] = (of, until, alive) => {
    const sink = shelves.sink(alive);
    const spec = { ...search(sink), to: sink };
    const { settings, services } = of;
    return {
      settings,
      services,
      loaded: declaring(stage, { effects: [spec] }),
      spec,
      readLagMs: 0,
      viewsRefreshMs: SEES_MS,
      timings: { pollMs: 40, acquireMs: 100, stopMs: 300 },
      signal: until,
    };
  };
  /** A sink that was away for a moment ends an operation; its user runs it again. */
  const patient =
    (work: Work): Work =>
    async (...of) => {
      for (let tries = 0; ; tries++) {
        try {
          return await work(...of);
        } catch (error) {
          const away = error instanceof Error && /was away|answer was lost/.test(error.message);
          if (!away || error instanceof MillraceError || tries > 50) throw error;
        }
      }
    };
  const rebuild = patient((...of) => rebuildSink(options(...of)));
  const swap = patient((...of) => swapSink(options(...of)));
  const drop = patient((...of) => dropTarget(options(...of)));
  const underWay = async (): Promise<boolean> =>
    (await new Views(stage.services.place.state, 'versions').read())?.['search']?.staged != null;
  for (let n = 0; n < REBUILDS; n++) {
    for (let deaths = random.int(4); deaths > 0; deaths--) await dies(stage, rebuild, 15 + random.int(150));
    if (random.chance(0.3) && (await underWay())) {
      await dies(stage, drop, 5 + random.int(60));
      if (await underWay()) await drop(stage, signal, () => true);
    }
    await rebuild(stage, signal, () => true);
    for (let deaths = random.int(4); deaths > 0; deaths--)
      if (await underWay()) await dies(stage, swap, 15 + random.int(80));
    if (await underWay()) await swap(stage, signal, () => true);
    expect(shelves.faults).toEqual([]);
  }
  await writing.stop();
  await app.drained(signal);
  await app.stop();
  expect(shelves.swaps).toBe(REBUILDS);
  const expected = await rowsOf(stage, search(shelves.sink()));
  expect(expected.size).toBeGreaterThan(10);
  expect(asText(shelves.rows())).toEqual(expected);
});
