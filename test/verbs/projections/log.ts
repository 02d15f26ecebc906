// What sources were, write by write, and what a projection may show of them at each read.
import { setTimeout as delay } from 'node:timers/promises';
import { canonical } from '../../../src/base/json.ts';
import type { AggregateSpec, CopySpec, Doc, ProjectionSpec, SourceRef } from '../../../src/pipeline/specs.ts';
import { recompute, rowKey, visible } from '../../../src/pipeline/oracle/recompute.ts';
import type { Random } from '../../support/random.ts';
import type { Stage } from '../../support/stage.ts';

const KEY_PATHS = ['/storeId'];
const STORES = 3;
const ORDERS = 25;
const CUSTOMERS = 4;

type Order = Doc & {
  readonly id: string;
  readonly storeId: string;
  readonly customerId: string;
  readonly cents: number;
};

/** What was read of one key is a state of the sources; a later read may not go behind it, whichever version it is of. */
interface Seen {
  /** The version of the order that its row was of. */
  order: number;
}

/**
 * Writes orders and customers one after another and remembers every state there was, each before it is written. What a
 * read shows of a key must be what the oracle makes of one of these states. No order is older than any read before it showed;
 * its customer may be for a moment.
 */
export class SourceLog {
  readonly #stage: Stage;
  readonly #random: Random;
  /** By `store/id`, oldest first; `cents` and `name` tell each version from all others. */
  readonly #orders = new Map<string, Order[]>();
  readonly #customers = new Map<string, Doc[]>();
  /** By version and group: what it was, from which write on; undefined: no such group. */
  readonly #groups = new Map<string, { readonly at: number; readonly value: string | undefined }[]>();
  readonly #aggregates: readonly AggregateSpec[];
  readonly #summaries = new Map<string, Seen>();
  readonly #days = new Map<string, number>();
  #writes = 0;
  reads = 0;

  constructor(stage: Stage, random: Random) {
    this.#stage = stage;
    this.#random = random;
    this.#aggregates = stage.loaded.pipeline.projections.filter((spec) => spec.kind === 'aggregate');
  }

  get writes(): number {
    return this.#writes;
  }

  async write(): Promise<void> {
    const random = this.#random;
    const storeId = `s${random.int(STORES)}`;
    const n = (this.#writes += 1);
    if (random.chance(0.15)) {
      const customer = { id: `c${random.int(CUSTOMERS)}`, type: 'customer', storeId, name: `N${n}` };
      push(this.#customers, `${storeId}/${customer.id}`, customer);
      await this.#stage.container('Customers').items.upsert(customer);
      return;
    }
    const order: Order = {
      id: `o${random.int(ORDERS)}`,
      type: 'order',
      storeId,
      customerId: `c${random.int(CUSTOMERS)}`,
      placedAt: `2026-01-0${1 + random.int(4)}T10:00:00.000Z`,
      cents: n,
      ...(random.chance(0.15) ? { cancelled: true } : {}),
    };
    push(this.#orders, `${storeId}/${order.id}`, order);
    this.#noteGroups(storeId);
    await this.#stage.container('Orders').items.upsert(order);
  }

  /** Writes until it is told to stop. */
  keepWriting(pauseMs: number): { stop(): Promise<void> } {
    const stopping = new AbortController();
    const running = (async () => {
      while (!stopping.signal.aborted) {
        await this.write();
        await delay(pauseMs);
      }
    })();
    return {
      stop: () => {
        stopping.abort();
        return running;
      },
    };
  }

  /** What is wrong with one read of all documents of a version; nothing, as a rule. */
  faults(spec: ProjectionSpec, documents: readonly Doc[]): string[] {
    this.reads += 1;
    const found = new Map(documents.map((doc) => [rowKey(doc, KEY_PATHS), visible(doc)]));
    return spec.kind === 'copy' ? this.#summaryFaults(spec, found) : this.#dayFaults(spec as AggregateSpec, found);
  }

  #summaryFaults(spec: CopySpec, found: ReadonlyMap<string, Doc>): string[] {
    const faults: string[] = [];
    for (const [place, versions] of this.#orders) {
      const [storeId = '', id = ''] = place.split('/');
      const key = canonical([storeId, id]);
      const row = found.get(key);
      const seen = this.#summaries.get(place) ?? { order: -1 };
      this.#summaries.set(place, seen);
      const fault = row ? this.#rowFault(spec, place, versions, row, seen) : absenceFault(versions, seen);
      if (fault !== undefined) faults.push(`${spec.name}@${spec.version} ${key}: ${fault}`);
    }
    for (const key of found.keys())
      if (!this.#orders.has((JSON.parse(key) as string[]).join('/'))) faults.push(`${key} comes of nothing`);
    return faults;
  }

  #rowFault(spec: CopySpec, place: string, versions: readonly Order[], row: Doc, seen: Seen): string | undefined {
    const order = versions.findIndex(({ cents }) => cents === row['cents']);
    const at = versions[order];
    if (!at) return `no version of it has ${String(row['cents'])} cents`;
    if (order < seen.order) return `went back from version ${seen.order} to ${order}`;
    const customers = this.#customers.get(`${at.storeId}/${at.customerId}`) ?? [];
    const customer = customers.findIndex(({ name }) => name === row['customerName']);
    // The customer may be an older one for a moment: a host makes a copy with the state that it has cached, and the page isn't
    // done before that is put right (COPY-J1). The comparison at the end says that it was.
    seen.order = order;
    const joined = customers[customer];
    const of = ({ container }: SourceRef): Doc[] => (container === 'Orders' ? [at] : joined ? [joined] : []);
    const expected = recompute(spec, of, this.#stage.loaded.pipeline.sources, { keyPaths: KEY_PATHS }).values().next();
    const value = canonical(expected.done ? null : expected.value);
    return value === canonical(row) ? undefined : `is ${canonical(row)}, not ${value} (${place})`;
  }

  #dayFaults(spec: AggregateSpec, found: ReadonlyMap<string, Doc>): string[] {
    const faults: string[] = [];
    for (const [place, states] of this.#groups) {
      const [version, key = ''] = place.split(' ');
      if (version !== `${spec.version}`) continue;
      const row = found.get(key);
      const value = row && canonical(row);
      const since = this.#days.get(key) ?? 0;
      // A state lasts until the next one: what was seen at a write is behind nothing that still held then.
      const fits = states.find((state, index) => (states[index + 1]?.at ?? Infinity) > since && state.value === value);
      if (fits) this.#days.set(key, Math.max(since, fits.at));
      else if (value !== undefined || (states[0]?.at ?? 0) <= since)
        faults.push(`days@${spec.version} ${key}: ${value ?? 'nothing'} was no state of it since write ${since}`);
    }
    return faults;
  }

  #noteGroups(storeId: string): void {
    const orders = [...this.#orders].flatMap(([place, versions]) =>
      place.startsWith(`${storeId}/`) ? versions.slice(-1) : [],
    );
    for (const spec of this.#aggregates) {
      const rows = recompute(spec, () => orders, this.#stage.loaded.pipeline.sources, { keyPaths: KEY_PATHS });
      const known = [...this.#groups.keys()].filter((place) => place.startsWith(`${spec.version} ["${storeId}"`));
      for (const place of new Set([...known, ...[...rows.keys()].map((key) => `${spec.version} ${key}`)])) {
        const row = rows.get(place.slice(place.indexOf(' ') + 1));
        const value = row && canonical(row);
        const states = this.#groups.get(place);
        if (states?.at(-1)?.value === value && states) continue;
        push(this.#groups, place, { at: this.#writes, value });
      }
    }
  }
}

/** Nothing is to be seen of an order before its first version, and of one that is cancelled. */
function absenceFault(versions: readonly Order[], seen: Seen): string | undefined {
  if (seen.order < 0) return undefined;
  const cancelled = versions.findIndex((order, index) => index >= seen.order && order['cancelled'] === true);
  if (cancelled < 0) return `is gone, and was never cancelled since version ${seen.order}`;
  seen.order = cancelled;
  return undefined;
}

function push<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}
