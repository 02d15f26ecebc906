import type { Container, PartitionKey, SqlParameter } from '@azure/cosmos';
import pMap from 'p-map';
import { digest, isObject } from '../base/json.ts';
import { hiding } from '../cosmos/own-documents.ts';
import { withRetry } from '../cosmos/retry.ts';
import { type OrderTerm, type Rank, compareRanks, orderText, rankOf } from './order.ts';
import { sharedError } from '../base/shared-errors.ts';

export interface ShardQuery {
  /** One for each shard: `sharded.all(base)`, or `[tenant, key]` for each if the key is hierarchical. */
  readonly partitionKeys: readonly PartitionKey[];
  /** A condition on document `c`, such as `c.type = 'view' AND c.at >= @from`; absent: all documents of the keys. */
  readonly where?: string;
  /** True: the documents that Millrace stores for itself come too. Default false. */
  readonly withOwn?: boolean;
  readonly parameters?: readonly SqlParameter[];
  /** Two terms or more need a composite index. */
  readonly orderBy: readonly OrderTerm[];
  /** Documents of a page, 1 to 1,000; default 100. */
  readonly pageSize?: number;
  /** The continuation of the page before. */
  readonly continuation?: string | undefined;
  /** Shards queried at the same time; default all, up to 32. */
  readonly concurrency?: number;
}

export interface ShardPage<T> {
  readonly items: T[];
  /** Absent: this was the last page. */
  readonly continuation?: string;
}

/** The position in one shard: the page that begins at `token`, of which everything up to `last` has been returned. */
interface ShardPosition {
  readonly token?: string;
  readonly last?: { readonly id: string; readonly rank: Rank };
  readonly done?: true;
}

interface Row {
  readonly id: string;
}

/**
 * Queries every shard at the same time and merges the answers in the order of `orderBy`; equals come shard by shard.
 * The continuation is the only state between pages and holds one continuation of Cosmos DB for each shard. For a
 * document that is written while pages are read, their rules apply (ASM-E52); every other document is returned once.
 * @throws UsageError `option-invalid`, `continuation-invalid`
 */
export async function readShards<T extends Row>(container: Container, query: ShardQuery): Promise<ShardPage<T>> {
  const { partitionKeys, orderBy, pageSize = 100, concurrency = 32 } = query;
  if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > 1_000)
    throw sharedError('option-invalid', `${pageSize} is not a valid page size`);
  const conditions = [
    ...(query.where === undefined ? [] : [`(${query.where})`]),
    ...(query.withOwn ? [] : hiding('c')),
  ];
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
  const text = `SELECT * FROM c${where} ORDER BY ${orderText(orderBy)}`;
  const asked = digest([partitionKeys, text, query.parameters ?? []]);
  const places = parse(query.continuation, asked, partitionKeys.length);
  // Twice the fair share of a shard, so that most pages need no second request of it.
  const most = Math.max(10, Math.ceil((2 * pageSize) / Math.max(1, partitionKeys.length)));
  const shards = partitionKeys.map(
    (partitionKey, index) =>
      new Shard<T>(places[index] ?? {}, orderBy, async (token) => {
        const spec = { query: text, parameters: [...(query.parameters ?? [])] };
        const options = {
          partitionKey,
          maxItemCount: most,
          ...(token === undefined ? {} : { continuationToken: token }),
        };
        const page = await withRetry(() => container.items.query<T>(spec, options).fetchNext(), { reads: true });
        return { rows: page.resources ?? [], next: page.continuationToken };
      }),
  );
  await pMap(shards, (shard) => shard.fill(), { concurrency });

  const items: T[] = [];
  while (items.length < pageSize) {
    let first: Shard<T> | undefined;
    for (const shard of shards) if (shard.head && (!first || shard.before(first))) first = shard;
    const item = first?.take();
    if (!first || !item) break;
    items.push(item);
    await first.fill();
  }
  if (shards.every(({ head }) => head === undefined)) return { items };
  const state = { asked, places: shards.map((shard) => shard.place) };
  return { items, continuation: Buffer.from(JSON.stringify(state)).toString('base64url') };
}

/** Every document of the shards, page by page. */
export async function* eachOfShards<T extends Row>(
  container: Container,
  query: Omit<ShardQuery, 'continuation'>,
): AsyncGenerator<T> {
  let continuation: string | undefined;
  do {
    const page = await readShards<T>(container, { ...query, continuation });
    yield* page.items;
    continuation = page.continuation;
  } while (continuation !== undefined);
}

type Fetch<T> = (token: string | undefined) => Promise<{ rows: readonly T[]; next: string | undefined }>;

class Shard<T extends Row> {
  readonly #terms: readonly OrderTerm[];
  readonly #fetch: Fetch<T>;
  #rows: readonly T[] = [];
  #at = 0;
  /** The token of the page after the current one. */
  #next: string | undefined;
  #fetched = false;
  place: ShardPosition;

  constructor(place: ShardPosition, terms: readonly OrderTerm[], fetch: Fetch<T>) {
    this.place = place;
    this.#terms = terms;
    this.#fetch = fetch;
  }

  get head(): T | undefined {
    return this.#rows[this.#at];
  }

  before(other: Shard<T>): boolean {
    return compareRanks(rankOf(this.head, this.#terms), rankOf(other.head, this.#terms), this.#terms) < 0;
  }

  take(): T | undefined {
    const item = this.head;
    if (!item) return undefined;
    this.#at += 1;
    this.place = { ...this.place, last: { id: item.id, rank: rankOf(item, this.#terms) } };
    return item;
  }

  /** Reads until there is a next document, or none is left. An empty page is not always the last. */
  async fill(): Promise<void> {
    while (!this.head && !this.place.done) {
      const { last } = this.place;
      if (this.#fetched) {
        if (this.#next === undefined) {
          this.place = { done: true };
          return;
        }
        this.place = { token: this.#next };
      }
      const { rows, next } = await this.#fetch(this.place.token);
      this.#rows = this.#fetched || !last ? rows : rest(rows, last, this.#terms);
      this.#at = 0;
      this.#next = next;
      this.#fetched = true;
    }
  }
}

/** The rows after the last returned document; if that is gone, the rows that are not ordered before it. */
function rest<T extends Row>(
  rows: readonly T[],
  last: NonNullable<ShardPosition['last']>,
  terms: readonly OrderTerm[],
): readonly T[] {
  const at = rows.findIndex((row) => row.id === last.id && compareRanks(rankOf(row, terms), last.rank, terms) === 0);
  if (at >= 0) return rows.slice(at + 1);
  return rows.filter((row) => compareRanks(rankOf(row, terms), last.rank, terms) >= 0);
}

function parse(continuation: string | undefined, asked: string, shards: number): readonly ShardPosition[] {
  if (continuation === undefined) return [];
  const state = decoded(continuation);
  if (
    isObject(state) &&
    state['asked'] === asked &&
    Array.isArray(state['places']) &&
    state['places'].length === shards
  )
    return state['places'] as ShardPosition[];
  throw sharedError('continuation-invalid', 'The continuation does not belong to this query', {
    hint: 'Pass the continuation as it was returned, with the same keys, condition, parameters and order.',
  });
}

function decoded(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
}
