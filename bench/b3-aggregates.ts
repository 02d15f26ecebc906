import type { Container, Database } from '@azure/cosmos';
import { FULL_RANGE } from '../src/cosmos/ranges.ts';
import { Meter } from '../src/cosmos/budget/charge-meter.ts';
import type { AggregateSpec, Doc } from '../src/pipeline/specs.ts';
import type { Change } from '../src/feed/reading/change.ts';
import { openSource } from '../src/feed/reading/open-source.ts';
import { untilStopped } from '../src/feed/tenure/fences.ts';
import { aggregateRunner } from '../src/kinds/aggregate/aggregate-runner.ts';
import type { Runner } from '../src/kinds/runner.ts';
import { CosmosAccess } from '../src/access/cosmos-access.ts';
import type { DocumentAccess } from '../src/access/document-access.ts';
import { type Benchmark, type Figure, atMost, none, plain, sized } from './support/measure.ts';
import { fill, openStage } from './support/stage.ts';

const DOCUMENTS = sized(10_000, 1_000);
const GROUPS = 200;
/** Before and after each call to the session, of which a page of a thousand changes makes up to two thousand. */
const CRASHES = 0.0002;

/** What one change costs in each exact mode, and that crashes between any two requests leave the result exact. */
export const b3: Benchmark = {
  id: 'B3',
  title: 'aggregates over Zipf-distributed groups: item operations, requests and RU a change, exact under crashes',
  run: async () => {
    await using stage = await openStage();
    const figures: Figure[] = [];
    for (const stable of [false, true]) {
      const mode = stable ? 'immutable key' : 'contribution + locator';
      const source = await stage.container(`Source-${stable}`, '/key');
      const sink = await stage.container(`Groups-${stable}`, '/tenant');
      const state = await stage.container(`state-${stable}`, '/pk');
      const bound = stable ? 12 : 23;
      let documents = zipf(1);
      const outdated: Change[] = [];
      const next = async (crashes: number): Promise<Tally> => {
        await fill(source, documents, ({ key }) => String(key));
        return consume(stage.database, { source, sink, state, stable }, crashes);
      };
      const corrected = (): Sale[] => documents.map((doc) => ({ ...doc, cents: doc.cents + 7 }));
      for (const phase of ['inserts', 'updates'] as const) {
        if (phase === 'updates') documents = corrected();
        const tally = await next(0);
        if (phase === 'inserts') outdated.push(...tally.changes);
        const folding = tally.contributions / tally.aggregates;
        const each = (value: number): number => value / DOCUMENTS;
        figures.push(
          plain(`${mode}, ${phase}: changes an aggregate write (N)`, folding, ''),
          plain(`${mode}, ${phase}: item operations a change`, each(tally.items), ''),
          atMost(`${mode}, ${phase}: requests a change`, each(tally.meter.requests), 0.3, ''),
          atMost(`${mode}, ${phase}: RU a change`, each(tally.meter.charge), 1.02 * (bound + 11 / folding), 'RU'),
        );
      }
      documents = corrected();
      const { crashes } = await next(CRASHES);
      // A zombie wakes up with every insert in hand, long after its updates.
      await redeliver(stage.database, outdated, { sink, state, source, stable });
      figures.push(
        plain(`${mode}: crashes survived`, crashes, ''),
        none(`${mode}: groups that differ`, await differences(sink, documents), ''),
      );
    }
    return figures;
  },
};

interface Sale extends Record<string, unknown> {
  readonly group: string;
  readonly cents: number;
  readonly key: string;
}

class Tally {
  readonly meter = new Meter();
  items = 0;
  contributions = 0;
  aggregates = 0;
  crashes = 0;
  readonly changes: Change[] = [];
}

/** Group k gets a share in proportion to 1 ÷ k. */
function zipf(seed: number): Sale[] {
  const weights = Array.from({ length: GROUPS }, (_, index) => 1 / (index + 1));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let state = seed;
  const random = (): number => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  return Array.from({ length: DOCUMENTS }, (_, index) => {
    let left = random() * total;
    const group = weights.findIndex((weight) => (left -= weight) <= 0);
    return {
      id: `${index}`,
      key: `k${index % 200}`,
      type: 'sale',
      group: `g${Math.max(0, group)}`,
      tenant: `t${Math.max(0, group) % 20}`,
      cents: 1 + Math.floor(random() * 1000),
    };
  });
}

/** Reads the feed to its end; a page in which something crashed is read and applied again. */
async function consume(database: Database, at: Place, crashes: number): Promise<Tally> {
  const { source } = at;
  const runner = runnerOf(at);
  const map = { name: source.id, keyPaths: [['key']], types: new Map([['sale', {}]]) };
  const { source: feed } = await openSource(source, { map, pageSize: 1_000 });
  const { signal } = new AbortController();
  const tally = new Tally();
  const access = counting(new CosmosAccess(database, untilStopped(signal), tally.meter), tally, crashes);
  for (let position = ''; ;) {
    const page = await feed.read(FULL_RANGE, position, signal);
    if (page.next === position) return tally;
    tally.changes.push(...page.changes);
    for (let done = false; !done;) {
      done = await runner.apply(page.changes, access).then(
        () => true,
        (error: unknown) => {
          if (!(error instanceof Crash)) throw error;
          tally.crashes += 1;
          return false;
        },
      );
    }
    position = page.next;
  }
}

async function redeliver(database: Database, changes: readonly Change[], at: Place): Promise<void> {
  const { signal } = new AbortController();
  const access = new CosmosAccess(database, untilStopped(signal), new Meter());
  const runner = runnerOf(at);
  for (let first = 0; first < changes.length; first += 1_000)
    await runner.apply(changes.slice(first, first + 1_000), access);
}

interface Place {
  readonly source: Container;
  readonly sink: Container;
  readonly state: Container;
  readonly stable: boolean;
}

function runnerOf({ source, sink, state, stable }: Place): Runner {
  const spec: AggregateSpec = {
    kind: 'aggregate',
    name: 'sales',
    version: 1,
    from: { container: source.id, type: 'sale' },
    into: { container: sink.id, type: 'total' },
    onDelete: 'remove',
    stable,
    groupBy: (_row, doc) => ({ tenant: doc['tenant'], group: doc['group'] }),
    measures: { sales: { kind: 'count' }, cents: { kind: 'sum', of: (row) => Number((row as Doc)['cents']) } },
  };
  return aggregateRunner(spec, { name: sink.id, keyPaths: [['tenant']] }, { stateContainer: state.id });
}

class Crash extends Error {}

function counting(inner: DocumentAccess, tally: Tally, crashes: number): DocumentAccess {
  const perhaps = (): void => {
    if (Math.random() < crashes) throw new Crash();
  };
  return {
    fence: inner.fence,
    query: (...of) => inner.query(...of),
    read: async (container, key, ids) => {
      tally.items += ids.length;
      perhaps();
      return inner.read(container, key, ids);
    },
    commit: async (container, key, writes) => {
      tally.items += writes.length;
      perhaps();
      const result = await inner.commit(container, key, writes);
      if (result.kind === 'done' && !container.startsWith('state')) {
        const aggregates = writes.filter(({ id }) => id.startsWith('total|')).length;
        tally.aggregates += aggregates;
        tally.contributions += writes.length - aggregates;
      }
      perhaps();
      return result;
    },
  };
}

async function differences(sink: Container, documents: readonly Sale[]): Promise<number> {
  const expected = new Map<string, { sales: number; cents: number }>();
  for (const { group, cents } of documents) {
    const { sales = 0, cents: sum = 0 } = expected.get(group) ?? {};
    expected.set(group, { sales: sales + 1, cents: sum + cents });
  }
  const { resources } = await sink.items
    .query<{ group: string; sales: number; cents: number }>(
      `SELECT c["group"], c.sales, c.cents FROM c WHERE c.type = 'total'`,
    )
    .fetchAll();
  const right = resources.filter(
    ({ group, sales, cents }) => expected.get(group)?.sales === sales && expected.get(group)?.cents === cents,
  ).length;
  return expected.size - right + (resources.length - right);
}
