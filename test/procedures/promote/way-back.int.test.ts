// The way back after a promotion: REB-V25 to REB-V28.
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MillraceError } from '../../../src/base/errors.ts';
import type { Doc } from '../../../src/pipeline/specs.ts';
import { projectionId } from '../../../src/pipeline/specs.ts';
import { DeadLetters } from '../../../src/engine/dead-letters/dead-letters.ts';
import { KEPT_MARGIN_MS } from '../../../src/engine/views/kept.ts';
import { Views } from '../../../src/engine/views/views.ts';
import { openViews } from '../../../src/engine/views/view-reader.ts';
import type { App } from '../../../src/runtime/hosts/processor-host.ts';
import type { Timings } from '../../../src/feed/sharing/feed-host.ts';
import { drop } from '../../../src/procedures/drop/drop.ts';
import { promote } from '../../../src/procedures/promote/promote.ts';
import { promoteBack } from '../../../src/procedures/promote/promote-back.ts';
import { rebuild } from '../../../src/procedures/rebuild/rebuild.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { cli } from '../../cli/cli.ts';
import { SourceLog } from '../../verbs/projections/log.ts';
import { VERSIONS, compare, live, options, specOf, writeAny } from '../../verbs/projections/versions.ts';

let stage: Stage;
let apps: App[] = [];
const { signal } = new AbortController();
const SEED = suiteSeed();
const HOUR_MS = 3_600_000;

beforeEach(async () => {
  stage = await openStage({}, VERSIONS);
});
afterEach(async () => {
  await Promise.all(apps.map((app) => app.stop()));
  apps = [];
  await stage[Symbol.asyncDispose]();
});

const start = async (host: string, of: Stage = stage, timings: Partial<Timings> = {}): Promise<App> => {
  const app = await live(of, host, timings);
  apps.push(app);
  return app;
};
const views = () => new Views(stage.services.place.state, 'versions');
const view = async (name: string) => (await views().read())?.[name];
const opts = (id: string) => ({ ...options(stage, id, signal), keepMs: HOUR_MS });

async function readAll(id: string): Promise<Doc[]> {
  const { container, type } = specOf(stage, id).into;
  const query = { query: 'SELECT * FROM c WHERE c.type = @type', parameters: [{ name: '@type', value: type }] };
  return (await stage.container(container).items.query<Doc>(query).fetchAll()).resources;
}

async function promoted(...ids: string[]): Promise<void> {
  for (const id of ids) {
    await rebuild(opts(id));
    await promote(opts(id));
  }
}

const order = (id: string, cents: number) => ({
  id,
  type: 'order',
  storeId: 's1',
  customerId: 'c1',
  placedAt: '2026-01-01T10:00:00.000Z',
  cents,
});

describe(`a way back (seed ${SEED})`, () => {
  it('a way back under live load shows readers never an older state, there, back and there again', async () => {
    const log = new SourceLog(stage, new Random(SEED));
    for (let n = 0; n < 150; n++) await log.write();
    const app = await start('one');
    await start('two');
    await app.drained(signal);
    const writing = log.keepWriting(1);
    const reader = openViews(stage.services.place.state, { pipeline: 'versions', refreshMs: 5 });
    const stopping = new AbortController();
    const current: Record<string, number[]> = { summaries: [], days: [] };
    const faults: string[] = [];
    const reading = (async () => {
      while (!stopping.signal.aborted && faults.length === 0) {
        for (const name of ['summaries', 'days']) {
          const { version } = await reader.current(name);
          if (current[name]?.at(-1) !== version) current[name]?.push(version);
          faults.push(...log.faults(specOf(stage, `${name}@${version}`), await readAll(`${name}@${version}`)));
        }
      }
    })();
    const seen = async (): Promise<void> => {
      const later = log.reads + 6;
      while (log.reads < later && faults.length === 0) await delay(5);
    };
    await promoted('summaries@2', 'days@2');
    await seen();
    for (const version of [1, 2]) {
      for (const name of ['summaries', 'days']) {
        const id = `${name}@${version}`;
        expect(await promoteBack(opts(id))).toMatchObject({ projection: id, previous: `${name}@${3 - version}` });
      }
      await seen();
    }
    await writing.stop();
    await app.drained(signal);
    stopping.abort();
    await reading;
    expect(faults).toEqual([]);
    expect(current).toEqual({ summaries: [1, 2, 1, 2], days: [1, 2, 1, 2] });
    expect(await reader.current('days')).toMatchObject({ version: 2, key: ['/storeId'], ids: 'group' });
    for (const id of ['summaries@1', 'days@1', 'summaries@2', 'days@2']) {
      const { expected, found } = await compare(stage, id);
      expect(expected.size).toBeGreaterThan(5);
      expect({ id, found }).toEqual({ id, found: expected });
    }
  });

  it('a way back reads for the kept version what a host that died applied to the current one only', async () => {
    // It dies with a page in hand, which no stop waits for.
    const app = await start('one', stage, { stopMs: 300 });
    await stage.container('Orders').items.upsert(order('o1', 1));
    await app.drained(signal);
    await promoted('summaries@2');
    stage.emulator.faults({ rules: [{ container: 'Summaries', status: 503, operation: 'batch' }] });
    await stage.container('Orders').items.upsert(order('o1', 2));
    await vi.waitUntil(async () => (await readAll('summaries@2')).some(({ cents }) => cents === 2), 30_000);
    await app.stop();
    apps = [];
    // Slow, so that what comes after the switch is seen after it.
    const slow = { container: 'Summaries', operation: 'batch', status: 429, retryAfterMs: 400, times: 3 } as const;
    stage.emulator.faults({ rules: [slow] });
    expect((await readAll('summaries@1')).map(({ cents }) => cents)).toEqual([1]);
    const back = promoteBack(opts('summaries@1'));
    await vi.waitUntil(async () => (await view('summaries'))?.current?.version === 1, { timeout: 30_000, interval: 5 });
    expect((await readAll('summaries@1')).map(({ cents }) => cents)).toEqual([2]);
    await back;
  });

  it('a way back is refused once its time is over, and while hosts may still apply changes the version can’t be dropped', async () => {
    const app = await start('one');
    for (let n = 0; n < 20; n++) await writeAny(stage, new Random(SEED + n));
    await app.drained(signal);
    await promoted('summaries@2');
    await views().change('summaries', (of) => ({
      ...of,
      previous: of.previous && { ...of.previous, keptUntil: new Date(Date.now() - 1).toISOString() },
    }));
    await expect(promoteBack(opts('summaries@1'))).rejects.toMatchObject({
      code: 'no-way-back',
      message: expect.stringContaining('Hosts kept summaries@1 until'),
    });
    const target = { ...opts('summaries@1'), name: 'summaries', version: 1 };
    const now = Date.now() + 700_000;
    await expect(drop({ ...target, now: Date.now() + 60_000 })).rejects.toMatchObject({ code: 'still-readable' });
    expect((await drop({ ...target, now: now + KEPT_MARGIN_MS })).documents).toBeGreaterThan(0);
  });

  it('a way back is refused without a version that was replaced and kept, and after its grace was ended', async () => {
    const app = await start('one');
    await stage.container('Orders').items.upsert(order('o1', 1));
    await app.drained(signal);
    await expect(promoteBack(opts('summaries@2'))).rejects.toMatchObject({ code: 'no-way-back' });
    await promoted('summaries@2');
    expect(await promoteBack(opts('summaries@2')), 'it is current').toMatchObject({ heldMs: 0 });
    expect(await promote({ ...opts('summaries@2'), keepMs: 0 })).toMatchObject({ keptUntil: null });
    await expect(promoteBack(opts('summaries@1'))).rejects.toMatchObject({
      code: 'no-way-back',
      message: expect.stringContaining('its grace was ended'),
    });
  });

  it('a way back is refused after a host applied changes that doesn’t declare the version, which says so first', async () => {
    const app = await start('one');
    await stage.container('Orders').items.upsert(order('o1', 1));
    await app.drained(signal);
    await promoted('summaries@2');
    await app.stop();
    apps = [];
    const { loaded } = stage;
    const projections = loaded.pipeline.projections.filter((spec) => projectionId(spec) !== 'summaries@1');
    const without = { ...stage, loaded: { ...loaded, pipeline: { ...loaded.pipeline, projections } } };
    const later = await start('later', without);
    await later.drained(signal);
    expect(await view('summaries'), 'nothing was applied yet').not.toHaveProperty('previous.notKept');
    await stage.container('Orders').items.upsert(order('o1', 2));
    await later.drained(signal);
    expect((await readAll('summaries@2')).map(({ cents }) => cents)).toEqual([2]);
    await expect(promoteBack(opts('summaries@1'))).rejects.toMatchObject({
      code: 'no-way-back',
      message: expect.stringContaining('does not declare it'),
    });
  });

  it('a way back on the command line goes by name, stays there when it is repeated, and goes forth again', async () => {
    for (const [key, value] of Object.entries(stage.env)) vi.stubEnv(key, value);
    const app = await start('one');
    await stage.container('Orders').items.upsert(order('o1', 1));
    await app.drained(signal);
    await promoted('summaries@2');
    const go = async (...args: string[]) =>
      cli(['projections', 'promote', ...args, '--pipeline', VERSIONS, '--json']).then(({ code, stdout, stderr }) => ({
        code,
        said: code === 0 ? (JSON.parse(stdout) as unknown) : stderr,
      }));
    expect(await go('summaries', '--dry-run')).toEqual({ code: 0, said: { steps: [], ru: 0 } });
    expect(await go('summaries', '--keep', '0', '--dry-run')).toMatchObject({
      said: { steps: ['no longer keep summaries@1: hosts apply changes to summaries@2 alone'] },
    });
    expect(await go('summaries', '--back', '--dry-run')).toMatchObject({ code: 0 });
    expect(await go('summaries@1', '--back')).toMatchObject({ code: 0, said: { projection: 'summaries@1' } });
    expect(await go('summaries@1', '--back', '--dry-run')).toEqual({ code: 0, said: { steps: [], ru: 0 } });
    expect(await go('summaries@1', '--back')).toMatchObject({
      code: 0,
      said: { projection: 'summaries@1', heldMs: 0 },
    });
    expect(await go('summaries', '--back', '--keep', '0')).toMatchObject({
      code: 0,
      said: { projection: 'summaries@2', keptUntil: null },
    });
    expect(await go('summaries', '--back')).toMatchObject({
      code: 2,
      said: expect.stringContaining('without keeping'),
    });
    vi.unstubAllEnvs();
  });

  it('a version that was replaced is neither promoted nor rebuilt: how it becomes current again is said, until when, and what else there is', async () => {
    for (const [key, value] of Object.entries(stage.env)) vi.stubEnv(key, value);
    const app = await start('one');
    await stage.container('Orders').items.upsert(order('o1', 1));
    await app.drained(signal);
    await promoted('summaries@2');
    await promoteBack(opts('summaries@1'));
    const until = (await view('summaries'))?.previous?.keptUntil ?? '';
    const go = async (...args: string[]) =>
      cli(['projections', ...args, '--pipeline', VERSIONS, '--dry-run']).then(({ stderr }) => stderr);
    const refused = async (said: string, hint: string) => {
      for (const name of ['summaries', 'summaries@2'])
        for (const verb of ['promote', 'rebuild']) {
          const words = await go(verb, name);
          expect(words).toContain(said);
          expect(words).toContain(hint);
        }
      await expect(promote(opts('summaries@2'))).rejects.toMatchObject({ code: 'not-staged' });
      await expect(rebuild(opts('summaries@2'))).rejects.toMatchObject({ code: 'wrong-state' });
    };
    await refused(
      `hosts keep it until ${until}`,
      '`millrace projections promote summaries --back` makes it current again',
    );
    await promote({ ...opts('summaries@1'), keepMs: 0 });
    await refused('hosts no longer keep it', '`millrace projections drop summaries@2`');
    vi.unstubAllEnvs();
  });

  it('a way back is refused while only the kept version has parked a change', async () => {
    const app = await start('one');
    await stage.container('Orders').items.upsert(order('o1', 1));
    await app.drained(signal);
    await promoted('summaries@2');
    const change = {
      container: 'Orders',
      type: 'order',
      key: ['s1'],
      id: 'bad',
      version: { epoch: 1, lsn: 1, etag: '"1"' },
      at: 0,
      op: 'upsert' as const,
    };
    const error = new MillraceError('projection-threw', 'No');
    await new DeadLetters(stage.services.place.state).park('summaries@1', [{ change, error }], new Date());
    await expect(promoteBack(opts('summaries@1'))).rejects.toMatchObject({ code: 'parked-in-new' });
    expect(await promoteBack({ ...opts('summaries@1'), evenParked: true })).toMatchObject({
      projection: 'summaries@1',
    });
  });

  it('a way back that is done leaves a lease that another process has written to that process', async () => {
    const app = await start('one');
    await stage.container('Orders').items.upsert(order('o1', 1));
    await app.drained(signal);
    await promoted('summaries@2');
    // As if the other one had written it between the list and the deletion.
    stage.emulator.faults({ rules: [{ container: 'leases', operation: 'delete', status: 412 }] });
    expect(await promoteBack(opts('summaries@1'))).toMatchObject({ projection: 'summaries@1' });
    const left = 'SELECT VALUE c.id FROM c WHERE CONTAINS(c.id, "summaries@1.back") AND CONTAINS(c.id, "..")';
    expect((await stage.container('leases').items.query<string>(left).fetchAll()).resources).not.toEqual([]);
  });

  it('of two ways back at once one goes back, and the other says so or finds it done', async () => {
    const random = new Random(SEED);
    const app = await start('one');
    for (let n = 0; n < 40; n++) await writeAny(stage, random);
    await app.drained(signal);
    await promoted('days@2');
    const both = await Promise.allSettled([promoteBack(opts('days@1')), promoteBack(opts('days@1'))]);
    const codes = both.map((one) => (one.status === 'rejected' ? (one.reason as { code?: string }).code : 'done'));
    expect(codes).toContain('done');
    for (const code of codes) expect(['done', 'under-way', 'overtaken', 'no-way-back']).toContain(code);
    for (let n = 0; n < 40; n++) await writeAny(stage, random);
    await app.drained(signal);
    expect(await view('days')).toMatchObject({ current: { version: 1 }, previous: { version: 2 }, promotions: 2 });
    for (const id of ['days@1', 'days@2']) {
      const { expected, found } = await compare(stage, id);
      expect({ id, found }).toEqual({ id, found: expected });
    }
  });
});

describe('a freeze', () => {
  const frozen = async (name: string, other?: string): Promise<string> => {
    let until: string | undefined;
    await vi.waitUntil(async () => {
      const { staged, previous } = (await view(name)) ?? {};
      until = staged?.frozenUntil ?? previous?.frozenUntil;
      return until !== undefined && until !== other;
    }, 30_000);
    return until ?? '';
  };

  it('a freeze that one promotion gives up leaves the freeze of another one as it is', async () => {
    const app = await start('one');
    await stage.container('Orders').items.upsert(order('o1', 1));
    await app.drained(signal);
    await rebuild(opts('summaries@2'));
    const giveUp = new AbortController();
    const first = promote({ ...opts('summaries@2'), readLagMs: 60_000, signal: giveUp.signal });
    first.catch(() => undefined);
    const own = await frozen('summaries');
    const second = promote({ ...opts('summaries@2'), viewsRefreshMs: 1_000 });
    const other = await frozen('summaries', own);
    giveUp.abort();
    await expect(first).rejects.toMatchObject({ name: 'AbortError' });
    expect((await view('summaries'))?.staged).toMatchObject({ phase: 'frozen', frozenUntil: other });
    expect(await second).toMatchObject({ projection: 'summaries@2' });
  });

  it('a freeze that another process has ended or replaced lets no process switch', async () => {
    const app = await start('one');
    await stage.container('Orders').items.upsert(order('o1', 1));
    await app.drained(signal);
    await rebuild(opts('summaries@2'));
    const there = promote({ ...opts('summaries@2'), viewsRefreshMs: 1_000 });
    there.catch(() => undefined);
    await frozen('summaries');
    await views().change('summaries', (of) => ({
      ...of,
      staged: of.staged && { ...of.staged, frozenUntil: '2026-01-01T00:00:00.000Z' },
    }));
    await expect(there).rejects.toMatchObject({ code: 'under-way' });
    await promote(opts('summaries@2'));
    const back = promoteBack({ ...opts('summaries@1'), viewsRefreshMs: 1_000 });
    back.catch(() => undefined);
    await frozen('summaries');
    await views().change('summaries', (of) => {
      const { frozenUntil: _, ...previous } = of.previous ?? ({} as never);
      return { ...of, previous };
    });
    await expect(back).rejects.toMatchObject({ code: 'under-way' });
    expect(await view('summaries')).toMatchObject({ current: { version: 2 }, previous: { version: 1 } });
  });
});
