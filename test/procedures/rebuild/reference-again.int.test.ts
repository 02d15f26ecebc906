// Reference data from history: a second version of it, and the same version again.
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Doc, Pipeline, ReferenceSpec } from '../../../src/pipeline/specs.ts';
import { canonical } from '../../../src/base/json.ts';
import { visible } from '../../../src/pipeline/oracle/recompute.ts';
import { compose } from '../../../src/runtime/hosts/processor-host.ts';
import { promote } from '../../../src/procedures/promote/promote.ts';
import { rebuild } from '../../../src/procedures/rebuild/rebuild.ts';
import { replay } from '../../../src/procedures/replay/replay.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { fast, options } from '../../verbs/projections/versions.ts';

const SEED = suiteSeed();
const MENDED = join(import.meta.dirname, '../../fixtures/mended');
const LOUD = 'storeCountryLoud';
const { signal } = new AbortController();

const all = async (stage: Stage, container: string): Promise<(Doc & { id: string })[]> =>
  (await stage.container(container).items.query<Doc & { id: string }>('SELECT * FROM c').fetchAll()).resources;

/** Every country in every store in the second version, worked out here; and what is stored of it. */
async function rows(stage: Stage) {
  const countries = await all(stage, 'Countries');
  const expected = (await all(stage, 'Stores')).flatMap(({ storeId }) =>
    countries.map(({ id, name }) =>
      canonical({ id: `${id}-2`, storeId, type: LOUD, name: String(name).toUpperCase() }),
    ),
  );
  const stored = (await all(stage, 'StoreCountries')).filter(({ type }) => type === LOUD);
  return { expected: expected.toSorted(), stored: stored.map((doc) => canonical(visible(doc))).toSorted() };
}

it(`a version is filled beside the live one and promoted while countries and stores are written; a replay restores lost rows (seed ${SEED})`, async () => {
  await using opened = await openStage({}, MENDED);
  const first = opened.loaded.pipeline.projections.find((spec) => spec.kind === 'reference') as ReferenceSpec;
  const second: ReferenceSpec = {
    ...first,
    version: 2,
    into: { container: 'StoreCountries', type: LOUD },
    map: (country) => ({
      ...first.map(country),
      id: `${String(country['id'])}-2`,
      name: String(country['name']).toUpperCase(),
    }),
  };
  const pipeline: Pipeline = { ...opened.loaded.pipeline, projections: [first, second] };
  const stage: Stage = { ...opened, loaded: { ...opened.loaded, pipeline } };
  const random = new Random(SEED);
  const write = async (n: number): Promise<void> => {
    const id = String(random.int(12));
    if (random.chance(0.4))
      await stage.container('Stores').items.upsert({ id: `s${id}`, storeId: `s${id}`, type: 'store', name: `S${n}` });
    else
      await stage
        .container('Countries')
        .items.upsert({ id: `c${id}`, region: `r${Number(id) % 3}`, type: 'country', name: `n${n}` });
  };
  for (let n = 0; n < 40; n++) await write(n);
  const app = await compose({ ...stage, ...fast, host: 'live' });
  await app.start();
  await app.drained(signal);
  const writing = new AbortController();
  const writer = (async () => {
    for (let n = 100; !writing.signal.aborted; n++) {
      await write(n);
      await delay(5);
    }
  })();
  const of = (id: string) => options(stage, id, signal);
  try {
    expect(await rebuild(of('store-countries@2'))).toMatchObject({ parked: 0, resumed: false });
    expect(await promote(of('store-countries@2'))).toMatchObject({ projection: 'store-countries@2' });
  } finally {
    writing.abort();
    await writer;
  }
  await app.drained(signal);
  const loud = await rows(stage);
  expect(loud.stored).toEqual(loud.expected);

  const lost = (await all(stage, 'StoreCountries')).filter((doc) => doc['type'] === LOUD);
  for (const doc of lost.slice(0, 9))
    await stage.container('StoreCountries').item(doc.id, String(doc['storeId'])).delete();
  expect(await replay({ ...of('store-countries@2'), from: 'beginning', cold: true })).toMatchObject({ parked: 0 });
  const again = await rows(stage);
  expect(again.stored).toEqual(again.expected);
  await app.stop();
});
