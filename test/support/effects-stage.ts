// A stage for what keeps no versions side by side: sends, custom projections and reactions.
import { afterEach, beforeEach } from 'vitest';
import { Views } from '../../src/engine/views/views.ts';
import type { CustomSpec, ReactSpec, SendSpec } from '../../src/pipeline/specs.ts';
import { compose } from '../../src/runtime/hosts/processor-host.ts';
import { declaring } from '../verbs/projections/shelves.ts';
import { VERSIONS, VIEWS_REFRESH_MS, fast } from '../verbs/projections/versions.ts';
import { type Stage, openStage } from './stage.ts';

type EffectSpec = SendSpec | CustomSpec | ReactSpec;
const { signal } = new AbortController();

export const order = (id: string, cents: number, more = {}) => ({
  id,
  type: 'order',
  storeId: 's1',
  customerId: 'c1',
  placedAt: '2026-01-01T10:00:00.000Z',
  cents,
  ...more,
});

/** Opens a stage before each test of the file, and closes it afterwards. */
export function effectsStage() {
  let stage: Stage;
  beforeEach(async () => {
    stage = await openStage({}, VERSIONS);
  });
  afterEach(() => stage[Symbol.asyncDispose]());
  return {
    stage: (): Stage => stage,
    write: (doc: ReturnType<typeof order>) => stage.container('Orders').items.upsert(doc),
    /** Runs the live host until everything is applied. */
    applied: async (effects: EffectSpec[]): Promise<void> => {
      const app = await compose({ ...stage, ...fast, loaded: declaring(stage, { effects }), host: 'live' });
      await app.start();
      await app.drained(signal);
      await app.stop();
    },
    optionsOf: <S extends EffectSpec>(spec: S, until = signal) => ({
      settings: stage.settings,
      services: stage.services,
      loaded: declaring(stage, { effects: [spec] }),
      spec,
      readLagMs: 0,
      viewsRefreshMs: VIEWS_REFRESH_MS,
      timings: { pollMs: 40, acquireMs: 100, stopMs: 300 },
      signal: until,
    }),
    viewOf: async (name: string) => (await new Views(stage.services.place.state, 'versions').read())?.[name],
    leases: async () =>
      (await stage.services.global.leases.items.query<string>('SELECT VALUE c.id FROM c').fetchAll()).resources.filter(
        (id) => /search|boards/.test(id),
      ),
  };
}
