// A promotion before the code is deployed: a host that doesn't declare the version would stand still (REB-V4).
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { projectionId } from '../../../src/pipeline/specs.ts';
import { Rates } from '../../../src/feed/processor/rates.ts';
import { startStatusWriter } from '../../../src/host/run/status-writer.ts';
import { promoteBack } from '../../../src/procedures/promote/promote-back.ts';
import { promote } from '../../../src/procedures/promote/promote.ts';
import { rebuild } from '../../../src/procedures/rebuild/rebuild.ts';
import { readHostStatuses } from '../../../src/procedures/status/host-status.ts';
import type { App } from '../../../src/runtime/hosts/processor-host.ts';
import { cli } from '../../cli/cli.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { VERSIONS, live, options } from '../../verbs/projections/versions.ts';

const { signal } = new AbortController();
let stage: Stage;
let ends: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  stage = await openStage({}, VERSIONS);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const end of ends) await end();
  ends = [];
  await stage[Symbol.asyncDispose]();
});

const lacking = (id: string): Stage => {
  const { loaded } = stage;
  const projections = loaded.pipeline.projections.filter((spec) => projectionId(spec) !== id);
  return { ...stage, loaded: { ...loaded, pipeline: { ...loaded.pipeline, projections } } };
};
/** Returns what ends its reports. */
async function reporting(app: App, name: string, pipeline = 'versions'): Promise<() => Promise<void>> {
  const { services } = stage;
  const { end } = startStatusWriter({ services, host: name, pipeline, app, rates: new Rates() });
  ends.push(end);
  await vi.waitUntil(async () => (await readHostStatuses(services, signal)).some(({ id }) => id === name), 30_000);
  return end;
}
async function host(name: string, of: Stage): Promise<App> {
  const app = await live(of, name);
  ends.push(() => app.stop());
  return app;
}
const opts = (id: string) => ({ ...options(stage, id, signal), keepMs: 3_600_000 });
const refused = (name: string, id: string) => ({
  code: 'wrong-state',
  message: expect.stringContaining(`Host ${name} runs a pipeline that does not declare ${id}`) as string,
});

it('a version is not promoted while a live host doesn’t declare it, which is named', async () => {
  const old = await host('old', lacking('summaries@2'));
  await stage.container('Orders').items.upsert({
    id: 'o1',
    type: 'order',
    storeId: 's1',
    customerId: 'c1',
    placedAt: '2026-01-01T10:00:00.000Z',
    cents: 1,
  });
  await old.drained(signal);
  await rebuild(opts('summaries@2'));
  const end = await reporting(old, 'old');
  await expect(promote(opts('summaries@2'))).rejects.toMatchObject(refused('old', 'summaries@2'));
  for (const [key, value] of Object.entries(stage.env)) vi.stubEnv(key, value);
  const { stderr } = await cli(['projections', 'promote', 'summaries', '--pipeline', VERSIONS, '--dry-run']);
  expect(stderr).toContain('Host old runs a pipeline');
  await end();
  // Neither another pipeline's hosts count, nor one that was silent for long.
  await reporting(old, 'other', 'another');
  await stage.services.global.state.items.upsert({
    id: 'died',
    pk: 'status',
    at: '2026-01-01T00:00:00.000Z',
    startedAt: '2026-01-01T00:00:00.000Z',
    version: '1.0.0',
    pipeline: 'versions',
    projections: [],
    history: '',
    sources: [],
    ranges: [],
  });
  await reporting(await host('new', stage), 'new');
  expect(await promote(opts('summaries@2'))).toMatchObject({ projection: 'summaries@2' });
  const later = await host('later', lacking('summaries@1'));
  const endLater = await reporting(later, 'later');
  await expect(promoteBack(opts('summaries@1'))).rejects.toMatchObject(refused('later', 'summaries@1'));
  await endLater();
  expect(await promoteBack(opts('summaries@1'))).toMatchObject({ projection: 'summaries@1' });
});
