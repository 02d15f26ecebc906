import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { leasePrefix } from '../../src/feed/leases/cosmos-lease-store.ts';
import { ALL_VERSIONS, SHOP, type Stage, openStage } from '../support/stage.ts';
import { type FunctionsHost, indexApp } from './host.ts';

const order = (id: string) => ({ id, type: 'order', storeId: 's1', customerId: 'c1', placedAt: 'today', cents: 5 });
let lsn = 100;
const delivered = (id: string) => ({ ...order(id), _lsn: ++lsn, _etag: `"${lsn}"`, _ts: 1 });

let stage: Stage;
let app: FunctionsHost;
beforeEach(async () => {
  stage = await openStage();
  vi.spyOn(console, 'error').mockImplementation(() => {});
});
afterEach(async () => {
  await app.terminate();
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  await stage[Symbol.asyncDispose]();
});

const start = async (more: Readonly<Record<string, string>> = {}): Promise<FunctionsHost> =>
  (app = await indexApp({ ...stage.env, MILLRACE_PIPELINE: SHOP, ...more }));
const ready = async () => (await start()).request('millrace-health', { params: { probe: 'ready' } });
const letters = async () =>
  (await stage.services.place.state.items.query(`SELECT * FROM c WHERE c.kind = 'dead-letter'`).fetchAll()).resources;

async function remake(name: string, definition: object): Promise<void> {
  await stage.container(name).delete();
  await stage.services.place.database.containers.create({ id: name, ...definition });
}

describe('readiness', () => {
  it('readiness says yes where everything is as the pipeline needs it, and live without looking', async () => {
    expect(await ready()).toEqual({ status: 200, body: { ready: true, problems: [], held: [], differences: [] } });
    expect(await app.request('millrace-health', { params: { probe: 'live' } })).toEqual({
      status: 200,
      body: { live: true },
    });
    expect(await app.request('millrace-health', { params: { probe: 'alive' } })).toMatchObject({ status: 404 });
  });

  it('readiness names the container that is missing and the projection that is held for it', async () => {
    await stage.container('Days').delete();
    expect(await ready()).toEqual({
      status: 503,
      body: {
        ready: false,
        problems: [
          { code: 'container-differs', message: 'Days: does not exist', hint: expect.stringContaining('model apply') },
        ],
        held: [{ projection: 'days@1', why: 'Days: does not exist' }],
        differences: [{ container: 'Days', what: 'does not exist', holds: true }],
      },
    });
  });

  it('readiness tells another key from a time to live that is merely another', async () => {
    await remake('Days', { partitionKey: { paths: ['/other'] }, defaultTtl: -1 });
    await remake('Summaries', { partitionKey: { paths: ['/storeId'] }, defaultTtl: 77 });
    expect((await ready()).body).toMatchObject({
      held: [{ projection: 'days@1' }],
      differences: [
        { container: 'Summaries', what: 'defaultTtl is 77, not -1', holds: false },
        { container: 'Days', what: expect.stringContaining('partitionKey'), holds: true },
      ],
    });
  });

  it('readiness names a lease container that is not there: an identity could not make it', async () => {
    await stage.services.global.leases.delete();
    expect((await ready()).body).toMatchObject({
      ready: false,
      differences: [{ container: 'leases', what: 'does not exist', holds: true }],
    });
  });

  it('readiness says the code of what a service refused, and nothing that the service said', async () => {
    stage.emulator.faults({
      rules: [{ operation: 'account', status: 403 }],
    });
    const { status, body } = await ready();
    expect([status, body]).toEqual([
      503,
      {
        ready: false,
        problems: [{ code: 'denied', message: expect.stringContaining('log') }],
        held: [],
        differences: [],
      },
    ]);
    expect(console.error).toHaveBeenCalledWith(expect.stringContaining('Failed by rule with 403'));
  });

  it('readiness refuses a pipeline with an all-versions source: no trigger, and the reason', async () => {
    app = await start({ MILLRACE_PIPELINE: ALL_VERSIONS });
    expect(app.functions.map(({ name }) => name).filter((name) => !name.startsWith('millrace-'))).toEqual([]);
    expect(console.error).toHaveBeenCalledWith(expect.stringContaining('Orders by its all-versions feed'));
    expect(await app.request('millrace-health', { params: { probe: 'ready' } })).toMatchObject({
      status: 503,
      body: { problems: [{ code: 'all-versions-feed', hint: expect.stringContaining('millrace run') }] },
    });
  });

  it('readiness names the settings that the triggers need, and no value', async () => {
    app = await start({ LEASES_DATABASE: '', LEASES: '' });
    expect(await app.request('millrace-health')).toMatchObject({
      status: 503,
      body: {
        problems: [
          {
            code: 'setting-missing',
            message: expect.stringMatching(
              /LEASES_DATABASE.*LEASES or LEASES__accountEndpoint|LEASES or LEASES__accountEndpoint.*LEASES_DATABASE/,
            ),
            hint: expect.stringContaining('local.settings.json'),
          },
        ],
      },
    });
  });
});

describe('a projection that does not match what is deployed', () => {
  it('a projection that does not match what is deployed is held alone: the others go on, and its changes wait as dead letters', async () => {
    await stage.container('Days').delete();
    app = await start();
    await app.deliver('feed-Orders', [delivered('o1'), delivered('o2')]);
    expect((await stage.container('Summaries').items.readAll().fetchAll()).resources).not.toEqual([]);
    expect(await letters()).toEqual([
      expect.objectContaining({ projection: 'days@1', id: expect.any(String), code: 'projection-held' }),
      expect.objectContaining({
        projection: 'days@1',
        code: 'projection-held',
        message: expect.stringContaining('Days: does not exist'),
      }),
    ]);
  });

  it('a projection that does not match what is deployed is held alone where its declaration changed under its version', async () => {
    app = await start();
    await app.deliver('feed-Orders', [delivered('o1')]);
    // As another build has left it, which counted nothing but orders.
    const written = stage.services.place.state.item('days@1', 'fingerprints');
    const { resource } = await written.read<{ parts: object }>();
    await written.replace({ ...resource, parts: { ...resource?.parts, measures: { orders: ['count'] } } });
    expect((await ready()).body).toEqual({
      ready: false,
      problems: [
        {
          code: 'projection-incompatible',
          message: expect.stringMatching(
            /^Days: days@1 no longer matches the data this version has written: measures.cents was absent/,
          ),
          hint: expect.stringContaining('projections rebuild'),
        },
      ],
      held: [{ projection: 'days@1', why: expect.stringContaining('measures.cents was absent') }],
      differences: [{ container: 'Days', projection: 'days@1', what: expect.any(String), holds: true }],
    });
    await app.deliver('feed-Orders', [delivered('o2')]);
    expect((await stage.container('Summaries').items.readAll().fetchAll()).resources).toHaveLength(2);
    expect(await letters()).toEqual([
      expect.objectContaining({ projection: 'days@1', code: 'projection-incompatible' }),
    ]);
  });

  it('a projection that does not match what is deployed holds the feed itself where no projection could apply anything, and parks nothing', async () => {
    await stage.container('Days').delete();
    await stage.container('Summaries').delete();
    app = await start();
    await expect(app.deliver('feed-Orders', [delivered('o1')])).rejects.toThrow('The feed of Orders waits');
    expect(await letters()).toEqual([]);
  });
});

describe('a renamed pipeline', () => {
  const lease = async (prefix: string, token: string | null) => {
    const [home, source] = await Promise.all([stage.services.place.database.read(), stage.container('Orders').read()]);
    const name = leasePrefix(prefix, stage.settings.cosmos.endpoint, home.resource!._rid, source.resource!._rid);
    await stage.services.global.leases.items.upsert({ id: `${name}..0`, ContinuationToken: token });
  };

  it('a renamed pipeline is refused, since it would read everything from the beginning', async () => {
    await lease('before.Orders.', '"7"');
    app = await start();
    await expect(app.deliver('feed-Orders', [delivered('o1')])).rejects.toMatchObject({
      code: 'lease-prefix-renamed',
      hint: expect.stringContaining('back to before'),
    });
    expect((await app.request('millrace-health')).body).toMatchObject({ problems: [{ code: 'lease-prefix-renamed' }] });
    // The host has made leases under the new name by the time it calls us; they have no position.
    await lease('millrace.Orders.', null);
    await expect(app.deliver('feed-Orders', [delivered('o1')])).rejects.toThrow('changed from "before.Orders."');
  });

  it.each([
    ['its own leases have been at work', async () => lease('millrace.Orders.', '"3"'), {}],
    ['somebody says that it is meant', async () => undefined, { LEASES_START_ANEW: 'millrace.' }],
  ])('a renamed pipeline is let through where %s', async (_, also, more) => {
    await lease('before.Orders.', '"7"');
    await also();
    app = await start(more);
    await app.deliver('feed-Orders', [delivered('o1')]);
    expect((await stage.container('Summaries').items.readAll().fetchAll()).resources).not.toEqual([]);
  });
});
