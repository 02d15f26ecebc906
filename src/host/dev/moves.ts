// What `dev --shards --once` does after loading: moves one tenant to another shard and back, while a writer changes its
// documents through a router.
import { setTimeout as delay } from 'node:timers/promises';
import { runtimeError } from '../../runtime/errors.ts';
import { MillraceError } from '../../base/errors.ts';
import { canonical } from '../../base/json.ts';
import { type Settings, requireShardMaps } from '../../base/settings.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { SYSTEM_FIELDS } from '../../cosmos/system-fields.ts';
import type { Doc } from '../../pipeline/specs.ts';
import type { WhileMoving } from '../../pipeline/workload.ts';
import { type Moved, moveMapping } from '../../procedures/move/move.ts';
import { type MoveOptions, touchedBy } from '../../procedures/move/options.ts';
import { isUnfinished, movesOf } from '../../procedures/move/record.ts';
import { plural } from '../../procedures/table.ts';
import { openStore } from '../../runtime/archives.ts';
import { openShardMap } from '../../runtime/shard-map.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { type Router, openRouter } from '../../shards/routing/router.ts';
import { MAP_CONTAINER } from '../../shards/map/documents.ts';

export interface MovingOptions {
  readonly settings: Settings;
  readonly services: Services;
  readonly loaded: LoadedPipeline;
  readonly rules: WhileMoving;
  readonly readLagMs: number;
  readonly signal: AbortSignal;
  /** Called with what happens now. */
  readonly say: (text: string) => void;
  /** Called with each move that begins. */
  readonly line: (text: string) => void;
}

export type MoveMade = Pick<Moved, 'from' | 'to' | 'copied' | 'pausedMs' | 'parked'>;

/** A tenant that moved there and back, and what was written meanwhile. */
export interface MovedThereAndBack {
  readonly keys: string;
  readonly container: string;
  readonly moves: readonly MoveMade[];
  /** Acknowledged writes. */
  readonly writes: number;
  /** The longest time that a write waited to be admitted, milliseconds. */
  readonly longestMs: number;
  /** Ids of documents that are not as the writer wrote them last. */
  readonly lost: readonly string[];
}

/** The writers of this run end a write with its pass, so none is later than this. */
const GRACE_MS = 1_000;
/** How long one write is tried. */
const PATIENCE_MS = 120_000;
/** The pause of the writer between two writes. */
const EVERY_MS = 25;
/** Documents that the writer changes in turn. */
const WRITTEN = 20;

/** Undefined: there is no second shard, or no key. */
export async function moveThereAndBack(options: MovingOptions): Promise<MovedThereAndBack | undefined> {
  const { settings, services, rules, signal, say, line } = options;
  const map = await openShardMap(options);
  const moving = optionsOf(options, map);
  await endUnfinished(moving, line);
  const shards = await map.shards();
  const [first] = await map.mappings();
  const at = shards.findIndex(({ id }) => id === first?.shard);
  const [from, to] = [shards[at], shards[(at + 1) % shards.length]];
  if (!first || first.key === undefined || !from || !to || from === to) return undefined;
  const { key } = first;
  await using router = await openRouter(map.name, {
    database: services.places.connect(requireShardMaps(settings)),
    connect: services.places.connect,
  });
  const writer = await Writer.open(router, key, rules, signal);
  const moves: MoveMade[] = [];
  try {
    for (const [target, what] of [
      [to, `${first.text} moves from ${from.location.database} to ${to.location.database}, while it is written`],
      [from, `${first.text} moves back to ${from.location.database}`],
    ] as const) {
      // At least one write is before the move, and at least one after it.
      await writer.more(1);
      line(`${what}.`);
      const mapping = await map.mapping(key);
      const told = (step: string): void => say(`${what}: ${step}; ${plural(writer.writes, 'write')} meanwhile`);
      const moved = moveMapping({ ...moving, say: told }, mapping, target);
      const { copied, pausedMs, parked, ...between } = await Promise.race([moved, writer.failed]);
      moves.push({
        from: between.from,
        to: between.to,
        copied,
        parked,
        ...(pausedMs !== undefined && { pausedMs }),
      });
    }
    await writer.more(1);
  } finally {
    await writer.stop();
  }
  const { writes, longestMs } = writer;
  return { keys: first.text, container: rules.container, moves, writes, longestMs, lost: await writer.lost() };
}

function optionsOf(
  { settings, services, loaded, readLagMs, signal }: MovingOptions,
  map: MoveOptions['map'],
): MoveOptions {
  const { connect } = services.places;
  const maps = requireShardMaps(settings);
  return {
    map,
    maps: connect(maps, { purpose: 'administration' }).container(MAP_CONTAINER),
    connect: ({ database, endpoint = maps.endpoint }) => connect({ database, endpoint }, { purpose: 'administration' }),
    endpointOf: ({ endpoint }) => endpoint ?? maps.endpoint,
    stateContainer: settings.stateContainer,
    leases: services.global.leases,
    ...touchedBy(loaded.pipeline),
    store: () => openStore(services, signal),
    signal,
    readLagMs,
    graceMs: GRACE_MS,
    // The embedded server began with this run, so the process of an earlier one is dead.
    takeOver: true,
  };
}

/** A run that was ended in a move has left it unfinished. */
async function endUnfinished(moving: MoveOptions, line: (text: string) => void): Promise<void> {
  const { map, maps, signal } = moving;
  for (const { keys, to } of (await movesOf(maps, map.name, signal)).filter(isUnfinished)) {
    const mapping = (await map.mappings()).find(({ text }) => text === keys);
    const target = (await map.shards()).find(({ id }) => id === to);
    if (!mapping || !target) continue;
    line(`The move of ${keys} to ${target.location.database} goes on where an earlier run left it.`);
    await moveMapping(moving, mapping, target);
  }
}

class PassEnded extends Error {}

/** Writes documents of one key again and again, through a router, and knows what each must be. */
class Writer {
  readonly #router: Router;
  readonly #key: Parameters<Router['enter']>[0];
  readonly #rules: WhileMoving;
  readonly #truth: Map<string, Doc>;
  readonly #stopping = new AbortController();
  readonly #signal: AbortSignal;
  #running: Promise<void> = Promise.resolve();
  #written = Promise.withResolvers<void>();
  writes = 0;
  longestMs = 0;

  private constructor(
    router: Router,
    key: Parameters<Router['enter']>[0],
    rules: WhileMoving,
    documents: readonly Doc[],
    signal: AbortSignal,
  ) {
    this.#router = router;
    this.#key = key;
    this.#rules = rules;
    this.#truth = new Map(documents.map((doc) => [canonical(doc), doc]));
    this.#signal = AbortSignal.any([this.#stopping.signal, signal]);
  }

  /** @throws UsageError `unloadable` */
  static async open(
    router: Router,
    key: Parameters<Router['enter']>[0],
    rules: WhileMoving,
    signal: AbortSignal,
  ): Promise<Writer> {
    const documents: Doc[] = [];
    for await (const stored of router.container<Doc>(key, rules.container).query<Doc>('SELECT * FROM c')) {
      const doc = contentOf(stored);
      if (rules.change(doc, 0)) documents.push(doc);
      if (documents.length === WRITTEN) break;
    }
    if (documents.length === 0)
      throw runtimeError('unloadable', `whileMoving changes no document of ${rules.container} of ${String(key)}`, {
        hint: 'Name a sharded container, and return a changed document for those that may change.',
      });
    const writer = new Writer(router, key, rules, documents, signal);
    writer.#running = writer.#run();
    // It is awaited by the code that waits for a write.
    writer.#running.catch(() => undefined);
    return writer;
  }

  async #run(): Promise<void> {
    for (let n = 1; !this.#signal.aborted; n++) {
      const [name, before] = [...this.#truth][n % this.#truth.size] ?? [];
      const after = before && this.#rules.change(before, n);
      if (name === undefined || !after)
        throw runtimeError('unloadable', `whileMoving no longer changes a document of ${this.#rules.container}`, {
          hint: 'Name a sharded container, and return a changed document for those that may change.',
        });
      await this.#write(after);
      this.#truth.set(name, after);
      this.writes += 1;
      this.#written.resolve();
      this.#written = Promise.withResolvers();
      await delay(EVERY_MS, undefined, { signal: this.#signal }).catch(() => undefined);
    }
  }

  /** Sent again after an answer that was lost: only this writer writes the document. */
  async #write(document: Doc): Promise<void> {
    const until = performance.now() + PATIENCE_MS;
    for (;;) {
      const before = performance.now();
      try {
        return await withRetry(() => this.#send(document, before), { reads: true });
      } catch (error) {
        // A pass that ended the write while the process stood still counts as one.
        const again = error instanceof MillraceError && error.retryable;
        if ((!again && !(error instanceof PassEnded)) || performance.now() > until) throw error;
      }
    }
  }

  async #send(document: Doc, before: number): Promise<void> {
    using pass = await this.#router.enter(this.#key);
    this.longestMs = Math.max(this.longestMs, Math.round(performance.now() - before));
    try {
      await pass.container(this.#rules.container).items.upsert(document, { abortSignal: pass.signal });
    } catch (error) {
      throw pass.signal.aborted ? new PassEnded('The pass ended the write', { cause: error }) : error;
    }
  }

  /** Resolves after so many writes more. */
  async more(count: number): Promise<void> {
    for (const until = this.writes + count; this.writes < until;)
      await Promise.race([this.#written.promise, this.failed]);
  }

  /** Rejects when the writer fails, or is ended. */
  get failed(): Promise<never> {
    return this.#running.then(() => {
      this.#signal.throwIfAborted();
      throw new Error('The writer has ended');
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async lost(): Promise<string[]> {
    const { container } = this.#rules;
    const stored = new Set<string>();
    for await (const doc of this.#router.container<Doc>(this.#key, container).query<Doc>('SELECT * FROM c'))
      stored.add(canonical(contentOf(doc)));
    return [...this.#truth.values()].filter((doc) => !stored.has(canonical(doc))).map(({ id }) => String(id));
  }
}

/** What the application has written. */
const contentOf = (stored: Doc): Doc =>
  Object.fromEntries(Object.entries(stored).filter(([name]) => !SYSTEM_FIELDS.has(name) && name !== '_mr'));

const paused = ({ to, copied, pausedMs = 0 }: MoveMade): string =>
  `to ${to} (${plural(copied, 'document')} copied, writes held for ${(pausedMs / 1_000).toFixed(2)} s)`;

export function formatMoves({ keys, container, moves, writes, lost }: MovedThereAndBack): string {
  const parked = moves.flatMap((one) => one.parked);
  return [
    `${keys} moved ${moves.map(paused).join(', and back ')}.`,
    `Meanwhile ${plural(writes, 'change')} of its ${container} ${writes === 1 ? 'was' : 'were'} written through a router: ${
      lost.length === 0 ? 'none is lost' : `lost are the last ones of ${lost.join(', ')}`
    }.`,
    ...parked.map(({ id }) => `  ${container} ${id} was written on both shards: compare both.`),
  ].join('\n');
}

export const isWholeShard = ({ lost, moves }: MovedThereAndBack): boolean =>
  lost.length === 0 && moves.every(({ parked }) => parked.length === 0);
