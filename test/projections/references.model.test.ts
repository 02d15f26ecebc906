// Reference data in every tenant, under random histories of both sides, against the oracle.
import type { CosmosClient, Database } from '@azure/cosmos';
import { afterAll, beforeAll, expect, it } from 'vitest';
import pMap from 'p-map';
import { canonical } from '../../src/base/json.ts';
import { connect } from '../../src/cosmos/connect.ts';
import type { Doc, ReferenceSpec, SourceRef, SourceRules } from '../../src/definition/kinds.ts';
import { recompute, visible } from '../../src/definition/recompute.ts';
import { type Emulator, startEmulator } from '../../src/emulator/index.ts';
import type { SourceContainer } from '../../src/feed/change-mapper.ts';
import { referenceRunner } from '../../src/projections/reference/runner.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';
import { runHistory } from './history.ts';

const SEED = suiteSeed();
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 300);
const READ_LAG_MS = 12;

const RATES: SourceRef = { container: 'Rates', type: 'rate' };
const STORES: SourceRef = { container: 'Stores', type: 'store' };
const deleted = (doc: Doc): boolean => doc['deletedAt'] !== undefined;
const RULES: SourceRules[] = [RATES, STORES].map((of) => ({ ...of, deleted }));
const SOURCES: SourceContainer[] = RULES.map((rule) => ({
  name: rule.container,
  keyPaths: [['world']],
  types: new Map([[rule.type, rule]]),
}));

const SPEC: ReferenceSpec = {
  kind: 'reference',
  name: 'rates',
  version: 1,
  from: RATES,
  into: { container: 'StoreRates', type: 'storeRate' },
  tenants: STORES,
  key: { store: 'store' },
  onDelete: 'remove',
  stable: true,
  where: (rate) => rate['draft'] !== true,
  map: (rate) => ({ id: rate['id'], percent: rate['percent'] }),
};

let emulator: Emulator;
let clients: CosmosClient[];
let databases: Database[];

beforeAll(async () => {
  emulator = await startEmulator({ seed: SEED });
  const account = { kind: 'key', endpoint: emulator.endpoint, key: emulator.key } as const;
  const { httpClient } = emulator.clientOptions;
  clients = await Promise.all([1, 2, 3].map(() => connect(account, [], { httpClient })));
  const [admin] = clients;
  await admin?.databases.create({ id: 'model' });
  databases = clients.map((client) => client.database('model'));
  for (const [id, path] of [
    ['Rates', '/world'],
    ['Stores', '/world'],
    ['StoreRates', '/store'],
    ['millrace', '/pk'],
  ])
    await databases[0]?.containers.create({ id: id ?? '', partitionKey: { paths: [path ?? ''] }, defaultTtl: -1 });
});

afterAll(async () => {
  for (const client of clients) client.dispose();
  await emulator.close();
});

it(`after any history every tenant has the reference data that the oracle says (seed ${SEED})`, async () => {
  emulator.faults({ replicaLagMs: READ_LAG_MS / 2, failAfterEffect: 0.01, throttle: 0.005 });
  const seeds = Array.from({ length: HISTORIES }, (_, index) => SEED + index);
  await pMap(
    seeds,
    async (seed) => {
      const hosts = databases.slice(1).map((database) => ({ database }));
      await runHistory({
        random: new Random(seed),
        tenant: `w${seed}`,
        hosts,
        // Each history is a pipeline of its own: the lists are those of a projection.
        runners: hosts.map(() =>
          referenceRunner(
            { ...SPEC, name: `rates-${seed}` },
            { name: 'StoreRates', keyPaths: [['store']] },
            { stateContainer: 'millrace', readLagMs: READ_LAG_MS },
          ),
        ),
        write: (random) => write(random, `w${seed}`),
        steps: 40,
        readLagMs: READ_LAG_MS,
        sources: SOURCES,
      });
    },
    { concurrency: 12 },
  );
  emulator.faults({});
  await pMap(seeds, compare, { concurrency: 12 });
});

async function write(random: Random, world: string): Promise<void> {
  const gone = random.chance(0.2) ? { deletedAt: 'now' } : {};
  const store = `s${random.int(3)}`;
  const [container, doc]: [string, Doc] = random.chance(0.5)
    ? ['Stores', { id: store, world, type: 'store', store: `${world}-${store}`, note: random.int(3), ...gone }]
    : [
        'Rates',
        { id: `r${random.int(3)}`, world, type: 'rate', percent: random.int(3), draft: random.chance(0.1), ...gone },
      ];
  for (;;) {
    try {
      await databases[0]?.container(container).items.upsert(doc);
      return;
    } catch {
      // Throttled, or the answer was lost: an upsert may be sent again.
    }
  }
}

async function compare(seed: number): Promise<void> {
  const world = `w${seed}`;
  const rates = await ask('Rates', 'c.world = @world', world);
  const stores = await ask('Stores', 'c.world = @world', world);
  const copies = await ask('StoreRates', `STARTSWITH(c.store, @world) AND c.type = 'storeRate'`, `${world}-`);
  const expected = recompute(SPEC, ({ type }) => (type === 'rate' ? rates : stores), RULES, { keyPaths: ['/store'] });
  const shown = (docs: Iterable<Doc>): string[] => [...docs].map((doc) => canonical(visible(doc))).toSorted();
  expect(shown(copies), `MILLRACE_SEED=${seed} MILLRACE_HISTORIES=1`).toEqual(shown(expected.values()));
}

async function ask(container: string, where: string, world: string): Promise<Doc[]> {
  const query = { query: `SELECT * FROM c WHERE ${where}`, parameters: [{ name: '@world', value: world }] };
  return (await databases[0]?.container(container).items.query<Doc>(query).fetchAll())?.resources ?? [];
}
