import type { Container, OperationInput, OperationResponse, Resource, SqlQuerySpec } from '@azure/cosmos';
import { type Clock, systemClock } from '../../base/clock.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { MillraceError } from '../../base/errors.ts';
import { suggestion } from '../../base/near.ts';
import { shardsError } from '../errors.ts';
import { type Held, type ShardGate, type ShardPass, openShardGate } from '../gate/shard-gate.ts';
import type { KeyJson } from '../keys/codec.ts';
import { type KeyTypeName, type KeyValue, encodeKey, keyJson, shownKey } from '../keys/key-type.ts';
import type { KeySpan } from '../keys/spans.ts';
import { throwDenied } from '../map/access-denied.ts';
import { followMap } from '../map/in-process.ts';
import { type MapKind, type ShardDocument, type ShardSchema, shownLocation } from '../map/documents.ts';
import { type MultiShardQuery, multiShardQuery } from '../query/multi-shard-query.ts';
import type { QueryShard } from '../query/types.ts';
import { type FencedWriteOptions, writeFenced } from './fenced-write.ts';
import { type CachedMapping, KnownShard } from './known-shard.ts';
import { LocalReader } from './local-reader.ts';
import { MapReader } from './map-reader.ts';
import { routedReader } from './routed-reader.ts';
import { Routes } from './routes.ts';
import type {
  ReaderOptions,
  RoutedPass,
  RoutedReader,
  RoutedShard,
  RouterCounters,
  RouterOptions,
  RouterQueryOptions,
} from './values.ts';

/**
 * Opens a router of one map; a process opens one for each map.
 * @throws MillraceError `not-found`; FormatUnreadable
 */
export async function openRouter(map: string, options: RouterOptions): Promise<Router> {
  const { database, connect, clock = systemClock, validForMs = 30_000, shardWithinMs = 3_000 } = options;
  const reader = await MapReader.open(map, database, clock);
  const open = (shard: ShardDocument): KnownShard => {
    const at = connect(shard.location);
    const local = new LocalReader(reader.header.name, shard.shard, at, { clock, withinMs: shardWithinMs });
    return new KnownShard(shard, at, local, { clock, validForMs });
  };
  const list = async (keys: KeySpan | undefined): Promise<readonly QueryShard[]> => {
    const [all, ids] = await Promise.all([reader.shards(), keys && reader.shardIds(keys)]);
    return all
      .filter(({ shard }) => ids?.has(shard) ?? true)
      .map(({ shard: id, location, detached }) => ({
        id,
        location,
        ...(!detached && { database: connect(location) }),
      }));
  };
  const routes = new Routes(reader, open, { clock, validForMs });
  if (options.fill) await routes.fill();
  return new Router(
    { reader, list, routes, clock, shardWithinMs, waitMs: options.waitMs ?? 30_000 },
    database.container('routers'),
  );
}

interface RouterParts {
  readonly reader: Pick<MapReader, 'header' | 'lookups'>;
  /** The shards of the map now, or those that have some of the keys. */
  readonly list: (keys: KeySpan | undefined) => Promise<readonly QueryShard[]>;
  readonly routes: Routes;
  readonly clock: Clock;
  readonly shardWithinMs: number;
  readonly waitMs: number;
}

/** Sends the reads and writes of an application to the shard that has the key. docs/shards.md */
export class Router implements AsyncDisposable {
  readonly map: string;
  readonly kind: MapKind;
  readonly keyType: KeyTypeName;
  readonly schema: ShardSchema;
  readonly #parts: RouterParts;
  readonly #routers: Container;
  readonly #unfollow: () => void;
  readonly #gates = new Map<string, ShardGate>();
  readonly #opening = new Map<string, Promise<void>>();
  #closed = false;
  #refusals = 0;

  /** @internal */
  constructor(parts: RouterParts, routers: Container) {
    const { name, kind, keyType, schema, created } = parts.reader.header;
    this.map = name;
    this.kind = kind;
    this.keyType = keyType;
    this.schema = schema;
    this.#parts = parts;
    this.#routers = routers;
    this.#unfollow = followMap(created, (shard, generation) => parts.routes.changed(shard, generation));
  }

  /**
   * Reads the documents of a key in a sharded container. Sends nothing yet.
   * @throws UsageError `shard-key-invalid`, `container-unsharded`
   */
  container<D extends object = Record<string, unknown>>(
    key: KeyValue,
    name: string,
    { withOwn = false, validate = false }: ReaderOptions<D> = {},
  ): RoutedReader<D> {
    const code = encodeKey(this.keyType, key);
    const field = Object.hasOwn(this.schema.sharded, name) ? this.schema.sharded[name] : undefined;
    if (field === undefined)
      throw shardsError(
        'container-unsharded',
        `The map ${this.map} has no sharded container ${name}${suggestion(name, Object.keys(this.schema.sharded))}`,
      );
    const { routes, shardWithinMs: withinMs } = this.#parts;
    return routedReader<D>({
      reach: (ask, isNothing) => this.#counted(routes.reach(code, ask, isNothing, validate)),
      key: keyJson(this.keyType, code),
      container: name,
      options: { field, withOwn, withinMs },
    });
  }

  /**
   * Permission to write documents of a key: `using pass = await router.enter(key)`. In memory only, as long as the mapping
   * is cached and its shard has not changed. Waits while the key is held for a moment.
   * @throws MillraceError `mapping-missing`, `mapping-offline`, `keys-held`, `shard-silent`, and as `container(…).read`;
   * UsageError `shard-key-invalid`
   */
  async enter(key: KeyValue): Promise<RoutedPass> {
    // A range map's keys are cheap to find, and may be many more than its mappings.
    const single = this.kind === 'list' ? this.#parts.routes.single(key) : undefined;
    const code = single?.low ?? encodeKey(this.keyType, key);
    return this.#tryEnter(code, single) ?? this.#counted(this.#enter(code));
  }

  /**
   * Writes documents of a key in a fenced container, as one transactional batch with the key's fence: all operations take
   * effect while the mapping is online on the shard, or none does, however late the batch arrives. At most 99 operations.
   * @throws MillraceError `fence-closed`, `fenced-write-refused`, `ambiguous-outcome`, and as `enter`;
   * UsageError `unsupported`
   */
  async batch(
    key: KeyValue,
    container: string,
    operations: readonly OperationInput[],
    { repeatable = false }: FencedWriteOptions = {},
  ): Promise<readonly OperationResponse[]> {
    if (!this.schema.fenced?.includes(container))
      throw sharedError('unsupported', `The map ${this.map} has no fenced container ${container}`, {
        hint: 'Write with a pass: `router.enter`. Fences are chosen when the shard map is created.',
      });
    const code = encodeKey(this.keyType, key);
    const { routes, clock } = this.#parts;
    for (let again = false; ; again = true) {
      using pass = this.#tryEnter(code) ?? (await this.#counted(this.#enter(code)));
      const { mapping } = pass;
      const written = { container, mapping: mapping.id, operations, repeatable, clock };
      const results = await this.#counted(writeFenced(pass, written));
      if (results) return results;
      await this.#counted(routes.renew(mapping, mapping.shard.generation));
      if (again || !mapping.isVoid) throw this.#fenceClosed(pass, container);
    }
  }

  /**
   * One query over a sharded container of all shards; sent when its results are read. It counts a document once, also
   * while keys move. With `low` or `high` it asks the shards that have keys from `low` up to `high`, and finds all of
   * their documents: the query's own condition says which keys it wants.
   * @throws UsageError `query-unsupported`, `container-unsharded`, `shard-key-invalid`
   */
  query<T = Record<string, unknown> & Resource>(
    container: string,
    sql: string | SqlQuerySpec,
    { low, high, ...options }: RouterQueryOptions = {},
  ): MultiShardQuery<T> {
    const part: KeySpan = {
      low: low === undefined ? '' : encodeKey(this.keyType, low),
      ...(high !== undefined && { high: encodeKey(this.keyType, high) }),
    };
    const keys = low === undefined && high === undefined ? undefined : part;
    const shards = (): Promise<readonly QueryShard[]> => this.#parts.list(keys);
    const { map: name, kind, keyType, schema } = this;
    return multiShardQuery<T>({ ...options, map: { name, kind, keyType, schema }, shards, container, sql });
  }

  /** The shards of the map, read from the map. */
  shards(): Promise<readonly RoutedShard[]> {
    return this.#counted(this.#parts.routes.shards());
  }

  counters(): RouterCounters {
    const { reader, routes } = this.#parts;
    const { counts, size: mappings, validations } = routes;
    return { map: this.map, mappings, ...counts, lookups: reader.lookups, validations, refusals: this.#refusals };
  }

  /** Ends the heartbeats. Passes that are open stay valid. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#unfollow();
    await Promise.allSettled(this.#opening.values());
    await Promise.all([...this.#gates.values()].map((gate) => gate[Symbol.asyncDispose]()));
  }

  /** In memory. The mapping and its generation are looked at in one step with the gate. */
  #tryEnter(code: string, known?: CachedMapping): Pass | undefined {
    const { routes, clock } = this.#parts;
    const now = clock.monotonic();
    const mapping = routes.find(code, now, known);
    const pass = mapping && this.#gates.get(mapping.shard.id)?.enter(code, mapping.shard.generation, now);
    if (typeof pass !== 'object') return undefined;
    routes.counts.hits += 1;
    return new Pass(this.keyType, code, mapping!, pass);
  }

  async #enter(code: string): Promise<Pass> {
    const { routes, clock, waitMs } = this.#parts;
    const until = clock.monotonic() + waitMs;
    for (;;) {
      const mapping = await this.#locate(code, until);
      if (!mapping) continue;
      const { shard } = mapping;
      const gate = this.#gates.get(shard.id);
      if (!gate) {
        await this.#open(shard.id);
        continue;
      }
      // Another reading may have come between.
      if (!shard.has(mapping)) continue;
      const pass = gate.enter(code, shard.generation);
      if (typeof pass === 'object') return new Pass(this.keyType, code, mapping, pass);
      const left = until - clock.monotonic();
      if (left <= 0) throw this.#held(pass, code, shard);
      if (pass === 'stale') await routes.renew(mapping, gate.needs);
      else await this.#changed(gate, left);
    }
  }

  /** Undefined: the mapping was offline because its documents move, and that may have ended. */
  async #locate(code: string, until: number): Promise<CachedMapping | undefined> {
    const { routes, clock } = this.#parts;
    try {
      return await routes.reach(code, (found) => Promise.resolve(found));
    } catch (error) {
      const held = [...this.#gates.values()].find((gate) => gate.isHeld(code));
      const left = until - clock.monotonic();
      if (!(error instanceof MillraceError && error.code === 'mapping-offline') || !held || left <= 0) throw error;
      await this.#changed(held, Math.min(left, AGAIN_MS));
      return undefined;
    }
  }

  /** One gate for each shard, opened with the first write. */
  async #open(shard: string): Promise<void> {
    if (this.#closed) throw shardsError('gate-closed', `The router of ${this.map} is closed`);
    const opening = this.#opening.get(shard) ?? this.#openGate(shard).finally(() => this.#opening.delete(shard));
    this.#opening.set(shard, opening);
    await opening;
  }

  async #openGate(shard: string): Promise<void> {
    const { clock } = this.#parts;
    const gate = openShardGate(this.#routers, { map: this.map, shard }, { clock });
    this.#gates.set(shard, await gate.catch(throwDenied(this.#routers, 'write')));
  }

  async #changed(gate: ShardGate, withinMs: number): Promise<void> {
    const ended = new AbortController();
    const late = this.#parts.clock.sleep(withinMs, ended.signal).catch(() => undefined);
    await Promise.race([gate.changed(), late]).finally(() => ended.abort());
  }

  #held(why: Held, code: string, shard: RoutedShard): Error {
    const key = shownKey(this.keyType, keyJson(this.keyType, code));
    const at = shownLocation(shard.location);
    return shardsError(
      'keys-held',
      `No write of ${key} was admitted on ${at} within ${this.#parts.waitMs} ms: ${REASONS[why]}`,
    );
  }

  #fenceClosed({ key, shard }: Pass, container: string): Error {
    this.#refusals += 1;
    return shardsError(
      'fence-closed',
      `The fence of ${shownKey(this.keyType, key)} in ${container} of ${shownLocation(shard.location)} doesn't have its mapping`,
    );
  }

  async #counted<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof MillraceError) this.#refusals += 1;
      throw error;
    }
  }
}

/** The pause before the map is asked again for keys that are held. */
const AGAIN_MS = 200;

const REASONS: Readonly<Record<Held, string>> = {
  closing: 'its keys are held while documents move',
  stale: 'the local map of the shard is older than its gate allows',
  lapsed: 'no heartbeat of this process reaches the container routers',
};

class Pass implements RoutedPass {
  readonly #keyType: KeyTypeName;
  readonly #code: string;
  readonly #pass: ShardPass;
  readonly mapping: CachedMapping;

  constructor(keyType: KeyTypeName, code: string, mapping: CachedMapping, pass: ShardPass) {
    this.#keyType = keyType;
    this.#code = code;
    this.#pass = pass;
    this.mapping = mapping;
  }

  get shard(): RoutedShard {
    return this.mapping.shard;
  }

  get key(): KeyJson {
    return keyJson(this.#keyType, this.#code);
  }

  get signal(): AbortSignal {
    return this.#pass.signal;
  }

  container(name: string): Container {
    return this.shard.database.container(name);
  }

  [Symbol.dispose](): void {
    this.#pass[Symbol.dispose]();
  }
}
