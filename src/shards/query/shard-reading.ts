import type { Container, FeedResponse, SqlQuerySpec } from '@azure/cosmos';
import { MillraceError } from '../../base/errors.ts';
import { assertReadable } from '../../base/format.ts';
import { until } from '../../base/until.ts';
import { QueryPages } from '../../cosmos/query-pages.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { shardsError } from '../errors.ts';
import { HEADER_ID, LOCAL_CONTAINER, type LocalHeader, localPartition, shownLocation } from '../map/documents.ts';
import { lost } from '../map/local-maps.ts';
import type { QueryShard, ShardDiagnostics } from './types.ts';

/** Asks one shard, and counts what that costs. */
export class ShardAccess {
  readonly shard: QueryShard;
  readonly #map: string;
  readonly #withinMs: number;
  readonly #signal: AbortSignal;
  #requests = 0;
  #requestCharge = 0;
  rows = 0;

  constructor(shard: QueryShard, map: string, withinMs: number, signal: AbortSignal) {
    this.shard = shard;
    this.#map = map;
    this.#withinMs = withinMs;
    this.#signal = signal;
  }

  get diagnostics(): ShardDiagnostics {
    const { rows } = this;
    return { shard: this.shard.id, requests: this.#requests, rows, requestCharge: this.#requestCharge };
  }

  /** The header of the shard's local map. @throws MillraceError `local-map-missing`, `shard-detached`, `shard-query-limit` */
  async header(): Promise<LocalHeader> {
    const { id, location } = this.shard;
    const item = this.#container(LOCAL_CONTAINER).item(HEADER_ID, localPartition(this.#map, id));
    const { resource } = await this.#answer((signal) =>
      withRetry(() => this.#counted(item.read<LocalHeader>()), { reads: true, signal }),
    );
    assertReadable(resource);
    if (!resource || resource.removed) throw lost(location);
    return resource;
  }

  pages<T>(container: string, spec: SqlQuerySpec, pageSize: number, token: string | undefined): QueryPages<T> {
    const feed = { maxItemCount: pageSize, abortSignal: this.#signal };
    const around = (request: () => Promise<FeedResponse<T>>): Promise<FeedResponse<T>> => this.#counted(request());
    return new QueryPages<T>(this.#container(container), spec, feed, { token, signal: this.#signal, around });
  }

  page<T>(pages: QueryPages<T>): Promise<readonly T[]> {
    return this.#answer(() => pages.next());
  }

  #container(name: string): Container {
    const { database, location } = this.shard;
    if (database) return database.container(name);
    throw shardsError('shard-detached', `The shard ${shownLocation(location)} is detached`);
  }

  async #counted<R extends { readonly requestCharge: number }>(request: Promise<R>): Promise<R> {
    this.#requests += 1;
    const answer = await request;
    this.#requestCharge += answer.requestCharge;
    return answer;
  }

  async #answer<R>(ask: (signal: AbortSignal) => Promise<R>): Promise<R> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), this.#withinMs);
    const signal = AbortSignal.any([this.#signal, late.signal]);
    try {
      return await until(ask(signal), signal);
    } catch (error) {
      if (!late.signal.aborted || this.#signal.aborted) throw error;
      const { location } = this.shard;
      throw shardsError('shard-query-limit', `${shownLocation(location)} gave no answer for ${this.#withinMs} ms`, {
        retryable: true,
        cause: error,
      });
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Where a reading of a shard is, for a continuation. */
export interface QueriedShard {
  /** The client's continuation of the page; absent: the first page. */
  readonly token?: string;
  /** Rows of that page that were given. */
  readonly skip: number;
  readonly done?: boolean;
}

export interface ReadingInput {
  readonly container: string;
  readonly spec: SqlQuerySpec;
  readonly pageSize: number;
  /** The generation of the local map at which the strays of `spec` were read. */
  readonly generation: number;
  readonly from?: QueriedShard;
}

/** Interrupted queries of which no row was given are sent again. */
const ATTEMPTS = 3;

/**
 * The rows of one shard. It holds one page. Each page is passed on only if no keys have begun to arrive since the strays
 * were read: the header is read after the page, so the page has none of their documents.
 */
export class ShardReading<T> {
  readonly access: ShardAccess;
  readonly #input: ReadingInput;
  #pages: QueryPages<T>;
  /** Of the page in hand. Undefined: the page can't be read again. */
  #place: QueriedShard | undefined;
  #page: readonly T[] = [];
  #at = 0;
  /** Rows that were given before the continuation. Its pages may have had another size. */
  #skip = 0;
  #attempts = 1;
  #loading: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;
  #ended: boolean;
  /** Rows were given, in this process or before the continuation. */
  given: boolean;

  constructor(access: ShardAccess, input: ReadingInput) {
    this.access = access;
    this.#input = input;
    this.given = input.from !== undefined && (input.from.token !== undefined || input.from.skip > 0);
    this.#place = input.from ?? { skip: 0 };
    this.#ended = input.from?.done === true;
    this.#pages = this.#open();
  }

  /** True: there is a row at hand. */
  async fill(): Promise<boolean> {
    if (this.#failure) throw this.#failure.error;
    if (this.#at >= this.#page.length && !this.#ended) {
      this.#loading ??= this.#load()
        .catch((error: unknown) => {
          this.#failure = { error };
          throw error;
        })
        .finally(() => (this.#loading = undefined));
      await this.#loading;
    }
    return this.hasRow;
  }

  /** The row at hand. */
  get row(): T {
    return this.#page[this.#at]!;
  }

  get hasRow(): boolean {
    return this.#at < this.#page.length;
  }

  /** Takes the row at hand, to give it to the caller. */
  take(): T {
    this.given = true;
    return this.#page[this.#at++]!;
  }

  /** Undefined: the client can't resume here. */
  get place(): QueriedShard | undefined {
    const isUsed = this.#at >= this.#page.length;
    if (this.#ended && isUsed) return { skip: 0, done: true };
    if (this.#page.length === 0) return this.#place;
    if (isUsed) return this.#pages.token === undefined ? undefined : { token: this.#pages.token, skip: 0 };
    return this.#place && { ...this.#place, skip: this.#at };
  }

  async #load(): Promise<void> {
    for (;;) {
      const isFirst = this.#page.length === 0 && this.#place?.token === this.#pages.token;
      const { token } = this.#pages;
      const page = await this.#next();
      if (!page) continue;
      if (page.length > 0) {
        await this.#assertSame();
        this.access.rows += page.length;
        this.#place = isFirst || token !== undefined ? { ...(token !== undefined && { token }), skip: 0 } : undefined;
        this.#page = page;
        this.#at = Math.min(this.#skip, page.length);
        this.#skip -= this.#at;
      }
      this.#ended = this.#pages.done;
      if (this.#ended || this.#at < this.#page.length) return;
    }
  }

  /** Undefined: the query was interrupted and begins again. */
  async #next(): Promise<readonly T[] | undefined> {
    try {
      return await this.access.page(this.#pages);
    } catch (error) {
      const isInterrupted = error instanceof MillraceError && error.code === 'query-interrupted';
      if (!isInterrupted || this.#page.length > 0 || this.#attempts === ATTEMPTS) throw error;
      this.#attempts += 1;
      this.#pages = this.#open();
      return undefined;
    }
  }

  #open(): QueryPages<T> {
    const { container, spec, pageSize, from } = this.#input;
    this.#skip = from?.skip ?? 0;
    return this.access.pages<T>(container, spec, pageSize, from?.token);
  }

  async #assertSame(): Promise<void> {
    const { arrivals = 0 } = await this.access.header();
    const { location } = this.access.shard;
    if (arrivals > this.#input.generation)
      throw shardsError('shard-query-moved', `Keys began to move to the shard ${shownLocation(location)}`);
  }
}
