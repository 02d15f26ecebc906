// Random histories, a disaster in each combination of what it takes, `millrace recover`, and hosts that continue: every
// projection is what the oracle computes from the sources as they are now, and follows new changes. Recoveries die at any
// request, and are run again. REC-S1, REC-S4, REC-S5, REC-S6, REC-E1.
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Doc } from '../../../src/pipeline/specs.ts';
import { projectionId } from '../../../src/pipeline/specs.ts';
import { recomputeEmbeds } from '../../../src/pipeline/oracle/recompute-embeds.ts';
import { recompute, rowKey, visible } from '../../../src/pipeline/oracle/recompute.ts';
import { ABANDONED_MS } from '../../../src/procedures/journal/lock.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import { useStage } from '../../support/each-stage.ts';
import type { Stage } from '../../support/stage.ts';
import { dies } from '../../verbs/projections/dies.ts';
import { afresh, derive, newRun, recoverOn } from './recovery.ts';

const TORN = join(import.meta.dirname, '../../fixtures/torn');
const SEED = suiteSeed();
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 1);
const HOUR = 3_600_000;
/** A recovery sends 450 to 700 pieces. */
const PIECES = 500;
const SOURCES = ['Orders', 'Customers', 'Stores', 'Countries'];
const SINKS = ['Summaries', 'Days', 'StoreCountries'];

type Fate = 'kept' | 'restored' | 'lost';
type SourceFate = Fate | 'failed-over';
interface Disaster {
  readonly sources: SourceFate;
  readonly sinks: Fate;
  readonly state: Fate;
  readonly leases: Fate;
}

const FATES: readonly Fate[] = ['kept', 'restored', 'lost'];
const ALL: readonly Disaster[] = (['kept', 'restored', 'failed-over', 'lost'] as const).flatMap((sources) =>
  FATES.flatMap((sinks) =>
    FATES.flatMap((state) => FATES.map((leases): Disaster => ({ sources, sinks, state, leases }))),
  ),
);

let stage: Stage;
useStage({ faults: { historyMs: HOUR }, folder: TORN }, (opened) => {
  stage = opened;
});

/** Returns the ids of the customers that it wrote, by store. */
async function write(random: Random, count: number): Promise<ReadonlySet<string>> {
  const customers = new Set<string>();
  await afresh(
    stage,
    async ({
      services: {
        place: { database },
      },
    }) => {
      for (let n = 0; n < count; n++) {
        const storeId = `s${random.int(3)}`;
        const put = (name: string, doc: Doc) => database.container(name).items.upsert(doc);
        const kind = random.int(8);
        if (kind === 0) await put('Stores', { id: storeId, type: 'store', storeId, name: storeId });
        else if (kind === 1) {
          const id = `k${random.int(3)}`;
          await put('Countries', { id, type: 'country', region: 'eu', name: `N${random.int(99)}` });
        } else if (kind === 2) {
          const id = `c${random.int(3)}`;
          customers.add(`${storeId} ${id}`);
          await put('Customers', { id, type: 'customer', storeId, name: `N${random.int(99)}` });
        } else {
          const placedAt = `2026-01-0${1 + random.int(3)}T10:00:00.000Z`;
          const more = { customerId: `c${random.int(3)}`, placedAt, amount: 1 + random.int(9) };
          await put('Orders', { id: `o${random.int(12)}`, type: 'order', storeId, ...more });
        }
      }
    },
  );
  return customers;
}

async function strike({ sources, sinks, state, leases }: Disaster): Promise<void> {
  const one = async (name: string, fate: SourceFate): Promise<void> => {
    if (fate === 'restored') stage.emulator.restore(`shop/${name}`, HOUR / 2);
    if (fate === 'failed-over') stage.emulator.failover(`shop/${name}`, HOUR / 2);
    if (fate === 'lost') await stage.container(name).delete();
  };
  for (const name of SOURCES) await one(name, sources);
  for (const name of SINKS) await one(name, sinks);
  await one('millrace', state);
  await one('leases', leases);
}

/** Runs it, sometimes after runs that died at any request. The clock goes on, so that their lock is taken over. */
async function run(random: Random) {
  const { clock, signal } = newRun();
  for (let tries = 0; tries < 2 && random.chance(0.6); tries++) {
    await dies(stage, (of, until) => recoverOn(of, { clock, signal: until }), 1 + random.int(PIECES));
    await clock.sleep(ABANDONED_MS);
  }
  return afresh(stage, (now) => recoverOn(now, { clock, signal }));
}

/** By projection: what it must be, and what it is. */
const compared = () =>
  afresh(
    stage,
    async ({
      services: {
        place: { database },
      },
      loaded: { pipeline, model },
    }) => {
      const all = async (name: string): Promise<Doc[]> =>
        (await database.container(name).items.query<Doc>('SELECT * FROM c').fetchAll()).resources;
      const documents = new Map<string, Doc[]>();
      for (const name of SOURCES) documents.set(name, await all(name));
      const result: Record<string, { expected: Record<string, Doc>; found: Record<string, Doc> }> = {};
      for (const spec of pipeline.projections) {
        const { container, type } = spec.into;
        const keyPaths = model.containers.find(({ name }) => name === container)?.partitionKey ?? [];
        const read = (of: { container: string; type: string }) =>
          (documents.get(of.container) ?? []).filter((doc) => doc['type'] === of.type);
        const expected = recompute(spec, read, pipeline.sources, { keyPaths });
        const found = (await all(container)).filter((doc) => doc['type'] === type);
        result[projectionId(spec)] = {
          expected: Object.fromEntries(expected),
          found: Object.fromEntries(found.map((doc) => [rowKey(doc, keyPaths), visible(doc)])),
        };
      }
      const read = (of: { container: string; type: string }) => documents.get(of.container) ?? [];
      for (const { found, expected } of recomputeEmbeds(pipeline.embeds, read, pipeline.sources, failed)) {
        const one = (result['store-names@1'] ??= { expected: {}, found: {} });
        const key = `${String(found['storeId'])} ${String(found['id'])}`;
        one.expected[key] = expected;
        one.found[key] = found;
      }
      return result;
    },
  );

const failed = (_spec: unknown, _child: unknown, cause: unknown): never => {
  throw new Error('An embed can not be computed', { cause });
};

/** The oracle expects what it finds in a child without a parent. But a child written now gets nothing from a lost parent. */
async function assertNothingFromLost(written: ReadonlySet<string>): Promise<void> {
  await afresh(
    stage,
    async ({
      services: {
        place: { database },
      },
    }) => {
      const all = async (of: string) =>
        (await database.container(of).items.query<Doc>('SELECT * FROM c').fetchAll()).resources;
      const stores = new Set((await all('Stores')).map(({ id }) => id));
      const orphans = (await all('Customers')).filter(
        ({ id, storeId }) => !stores.has(storeId) && written.has(`${String(storeId)} ${String(id)}`),
      );
      expect(orphans.filter((doc) => 'storeName' in doc)).toEqual([]);
    },
  );
}

async function assertRight(when: string): Promise<void> {
  for (const [id, { expected, found }] of Object.entries(await compared()))
    expect(found, `${id} ${when}`).toEqual(expected);
}

const name = ({ sources, sinks, state, leases }: Disaster): string =>
  `sources ${sources}, sinks ${sinks}, state ${state}, leases ${leases}`;

describe(`recovering (seed ${SEED})`, () => {
  // Each run takes the combinations that the seed chooses; a release takes all of them.
  const random = new Random(SEED);
  const first = random.int(ALL.length);
  const second = (first + 1 + random.int(ALL.length - 1)) % ALL.length;
  const some = HISTORIES > 1 ? ALL : ALL.filter((_, index) => index === first || index === second);
  it.each(some.map((disaster) => [name(disaster), disaster] as const))(
    'a recovery puts every projection right: %s',
    async (_name, disaster) => {
      const own = new Random(SEED + ALL.indexOf(disaster));
      await write(own, 25);
      await derive(stage);
      stage.emulator.advance(HOUR - 1_000);
      await write(own, 20);
      if (own.chance(0.7)) await derive(stage);
      await strike(disaster);
      // Writers may not have waited; after a failover they use the lost lsns again.
      if (disaster.sources !== 'lost' && own.chance(0.5)) await write(own, 15);
      const { value, ok } = await run(own);
      expect({ ok, left: value.left, unrepaired: value.verification?.repaired?.unrepaired ?? [] }).toEqual({
        ok: true,
        left: [],
        unrepaired: [],
      });
      await assertRight('after the recovery');
      await derive(stage);
      await assertRight('after its hosts continued');
      const written = await write(own, 15);
      await derive(stage);
      await assertRight('after new changes');
      await assertNothingFromLost(written);
    },
    180_000,
  );
});
