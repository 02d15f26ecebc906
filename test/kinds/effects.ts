// Random histories of what works outside of the account, by the engine with its dead letters; judged by what it left
// there against what the feeds show in the end.
import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'vitest';
import { MillraceError } from '../../src/base/errors.ts';
import { Meter } from '../../src/cosmos/budget/charge-meter.ts';
import type { Doc } from '../../src/pipeline/specs.ts';
import { DeadLetters } from '../../src/engine/dead-letters/dead-letters.ts';
import { Engine } from '../../src/engine/engine.ts';
import { redriveLetter } from '../../src/engine/redrive-letter.ts';
import type { Change } from '../../src/feed/reading/change.ts';
import type { SourceContainer } from '../../src/feed/reading/mapper.ts';
import type { Runner } from '../../src/kinds/runner.ts';
import { CosmosAccess } from '../../src/access/cosmos-access.ts';
import { Random } from '../support/random.ts';
import { type ReadBy, runHistoryBy } from './all-versions.ts';
import { type FedSource, UNFENCED, changeOf } from './history.ts';
import { type Judge, READ_LAG_MS, type World, historiesOr, useHistories } from './world.ts';
import { namesOf } from '../support/names-of.ts';

export interface Order {
  id: string;
  tenant: string;
  type: 'order';
  cents: number;
  deletedAt?: string;
}
export const m = namesOf<{ Orders: { order: Order } }>();
export const deleted = (doc: Doc): boolean => doc['deletedAt'] !== undefined;
export const RULES = [{ container: 'Orders', type: 'order', deleted }];
const ORDERS: SourceContainer = { name: 'Orders', keyPaths: [['tenant']], types: new Map([['order', { deleted }]]) };

const VERSIONS: FedSource = { ...ORDERS, feed: 'all-versions' };

/** The other side: takes its time, fails now and then before or after the effect, and refuses some until it is corrected. */
export class Outside {
  refuses = true;
  readonly #random: Random;
  constructor(random: Random) {
    this.#random = random;
  }

  async call(effect: () => void): Promise<void> {
    for (let turns = this.#random.int(4); turns > 0; turns--) await turn();
    if (this.#random.chance(0.05)) throw new MillraceError('away', 'It was away', { retryable: true });
    effect();
    if (this.#random.chance(0.05)) throw new MillraceError('lost', 'The answer was lost', { retryable: true });
    for (let turns = this.#random.int(4); turns > 0; turns--) await turn();
  }

  refused = ({ cents }: { readonly cents: number }): boolean => this.refuses && cents % 7 === 0;
}

/** A document as the feed shows it in the end. */
export interface Shown {
  readonly id: string;
  readonly lsn: number;
  readonly etag: string;
  readonly doc: Order;
}

/** What a projection has done by now for the documents' present versions, as `id` of each that is not as it should be. */
export type Missing = (shown: readonly Shown[], world: World) => Promise<string[]> | string[];

export interface Made {
  readonly runner: () => Runner;
  readonly missing: Missing;
  /** Of all versions there ever were, as the feed that has them shows them, those that something was left undone for. */
  readonly skipped?: (versions: readonly Change[]) => unknown[];
}

type Make = (outside: Outside, tenant: string) => Made;

interface Way {
  readonly serial?: boolean;
  readonly feed?: ReadBy;
  /** Makes the random writes of one history. Default: orders as they come, and hard deletes by all versions. */
  readonly writes?: (tenant: string, world: World) => (random: Random) => Promise<void>;
}

/**
 * Returns what runs histories of one runner. In the end each document is as it should be, or its present version is
 * parked; and once the other side has been corrected and the letters redriven, every one is, with no letter left. A test
 * file calls it once, itself (useHistories).
 */
export function useExact() {
  const each = useHistories({ Orders: '/tenant', Tickets: '/tenant' });
  return (make: Make, way: Way = {}): Promise<void> => each(historiesOr(12), exact(make, way));
}

const exact =
  (make: Make, { serial = false, feed, writes }: Way) =>
  async (world: World, seed: number): Promise<Judge> => {
    const random = new Random(seed);
    const outside = new Outside(random);
    const tenant = `t${seed}`;
    const { runner, missing, skipped } = make(outside, tenant);
    const from = skipped ? (await world.feed(VERSIONS, tenant, '*', 1)).next : '';
    const hosts = serial ? world.hosts.slice(0, 1) : world.hosts;
    const engines = hosts.map(({ database }) => {
      const deadLetters = new DeadLetters(database.container('millrace'));
      return { deadLetters, database, runner: runner() };
    });
    const write = writes?.(tenant, world) ?? ((of: Random, to: World): Promise<void> => writeOrder(of, tenant, to));
    const options = {
      random,
      tenant,
      hosts,
      serial,
      feed: world.feed,
      runners: engines.map((engine) => byEngine(engine)),
      readLagMs: READ_LAG_MS,
      sources: [ORDERS],
    };
    await runHistoryBy(feed, options, write, world);
    return async () => {
      const { documents } = await world.feed(ORDERS, tenant, '', 1_000);
      if (skipped) {
        const all = (await world.feed(VERSIONS, tenant, from, 10_000)).documents;
        expect(skipped(all.map((raw) => changeOf(VERSIONS, raw)).filter((change) => change !== undefined))).toEqual([]);
      }
      const shown = (documents as (Order & { readonly _lsn: number; readonly _etag: string })[]).map((doc) => ({
        id: doc.id,
        lsn: doc._lsn,
        etag: doc._etag,
        doc,
      }));
      const deadLetters = new DeadLetters(world.database.container('millrace'));
      const own = runner();
      const letters = (await deadLetters.list(own.id)).filter(({ key }) => key[0] === tenant);
      const parked = new Set(letters.map(({ id }) => id));
      expect((await missing(shown, world)).filter((id) => !parked.has(id))).toEqual([]);
      outside.refuses = false;
      const engine = new Engine({ database: world.database, runners: [own], deadLetters });
      const signal = UNFENCED.signal;
      for (let left = letters, tries = 0; left.length > 0; tries++) {
        if (tries === 20) throw new Error(`${left.length} letters are left: ${JSON.stringify(left)}`);
        await redriveLetter(left, {
          engine,
          deadLetters,
          sources: new Map([['Orders', ORDERS]]),
          access: new CosmosAccess(world.database, UNFENCED, new Meter()),
          cold: async () => undefined,
          readLagMs: 0,
          signal,
          fence: () => UNFENCED,
        }).catch((error: unknown) => {
          if (!(error instanceof MillraceError && error.retryable)) throw error;
        });
        left = (await deadLetters.list(own.id)).filter(({ key }) => key[0] === tenant);
      }
      expect(await missing(shown, world)).toEqual([]);
    };
  };

/** Each delivery is a tenure of its own, as a batch is under Functions: what another host parked is looked up. */
function byEngine({
  database,
  deadLetters,
  runner,
}: {
  readonly database: World['database'];
  readonly deadLetters: DeadLetters;
  readonly runner: Runner;
}): Runner {
  return {
    ...runner,
    apply: async (changes, access) => {
      const injected: Runner = { ...runner, apply: (some) => runner.apply(some, access) };
      const engine = new Engine({ database, runners: [injected], deadLetters });
      await engine.consume({ changes, charge: 0, readAt: performance.now() }, access.fence);
    },
  };
}

async function writeOrder(random: Random, tenant: string, world: World): Promise<void> {
  const one = (): Doc => ({
    id: `d${random.int(4)}`,
    tenant,
    type: 'order',
    cents: random.int(50),
    ...(random.chance(0.15) ? { deletedAt: 'now' } : {}),
  });
  const [order, twin] = [one(), one()];
  await world.write('Orders', tenant, random.chance(0.2) && twin['id'] !== order['id'] ? [order, twin] : [order]);
}

export const CONCERNS = (order: { readonly cents: number }): boolean => order.cents >= 10;
