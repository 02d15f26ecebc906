import { randomUUID } from 'node:crypto';
import type { Container, OperationInput } from '@azure/cosmos';
import { LANDING_BOUND_MS } from '../../base/bounds.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { FormatUnreadable, assertReadable, formatOf, isReadable, readableWhere } from '../../base/format.ts';
import { canonical } from '../../base/json.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { REQUEST_TIMEOUT_MS } from '../../cosmos/landing.ts';
import { AmbiguousOutcome, withRetry } from '../../cosmos/retry.ts';
import { readItem } from '../../cosmos/read-item.ts';
import { rewrite } from '../../cosmos/rewrite.ts';
import { transact } from '../../cosmos/transact.ts';
import { shardsError } from '../errors.ts';

/** The container that writes must go to. */
export interface WriteTarget {
  readonly container: string;
  /** Absent: the database of the container before any migration. */
  readonly database?: string;
  /** Address of the account. Absent: the account before any migration. */
  readonly endpoint?: string;
}

export const isSameTarget = (one: WriteTarget, other: WriteTarget): boolean => canonical(one) === canonical(other);

/** The state of a gate, stored in the state container: one document for each gated container. */
export interface GateDocument {
  readonly id: 'gate';
  readonly pk: string;
  readonly type: 'millrace.gate';
  readonly state: 'open' | 'closing';
  /** Every change of the gate raises it. */
  readonly generation: number;
  readonly target: WriteTarget;
  readonly format?: number;
  readonly _etag?: string;
}

/** A process that writes through a gate; expires some time after its last heartbeat. */
export interface WriterDocument {
  readonly id: string;
  readonly pk: string;
  readonly type: 'millrace.writer';
  /** The generation of the closed gate for which this writer has stopped; 0: none. */
  readonly stopped: number;
  readonly ttl: number;
  readonly _etag?: string;
}

export const gatePartition = (container: string): string => `gate|${container}`;
/** The container of a gate. */
export const gatedContainer = ({ pk }: Pick<GateDocument, 'pk'>): string => pk.slice('gate|'.length);
/** The longest time between two heartbeats of a writer. */
export const HEARTBEAT_MS = 3_000;
/** This long after it sent its last acknowledged heartbeat, a writer lets no write through until another is acknowledged. */
export const EXPIRY_MS = 15_000;
/**
 * How long a writer's document lives after its last heartbeat. By then the last write that it allowed has taken effect.
 * Two seconds are added, because the service counts whole seconds.
 */
export const WRITER_TTL_S = (EXPIRY_MS + LANDING_BOUND_MS) / 1_000 + 2;
/** A gate that stays closed for this long is opened again by the writers, with its old target. */
export const REOPEN_MS = 120_000;

/** Pause before reading again whether a change of the gate took effect. */
const LAG_MS = 50;

export interface WriteGateOptions {
  /** How often a writer reads the gate, milliseconds. It limits the pause of writes in a migration. Default 200. */
  readonly pollMs?: number;
  readonly clock?: Clock;
}

/** Permission for one write: send the write immediately, and dispose of the pass after its answer. A migration waits for it. */
export interface Pass extends Disposable {
  readonly target: WriteTarget;
  /**
   * Pass it to the write as `abortSignal`. After a minute it ends the write and the client's retries, so that the write
   * takes effect within the time that a migration allows.
   */
  readonly signal: AbortSignal;
}

/** Before each write to a container that may be migrated: `using pass = await gate.enter()`, then write to `pass.target`. */
export interface WriteGate extends AsyncDisposable {
  /** Resolves immediately, except in the seconds while a migration switches to the new container. @throws FormatUnreadable */
  enter(): Promise<Pass>;
}

/** Opens the gate of a container; a process opens one for each container. `state` is Millrace's state container. */
export async function openWriteGate(
  state: Container,
  container: string,
  options: WriteGateOptions = {},
): Promise<WriteGate> {
  const gate = new Gate(state, container, options);
  await gate.open();
  return gate;
}

class Gate implements WriteGate {
  readonly #state: Container;
  readonly #container: string;
  readonly #pk: string;
  readonly #id = `writer|${randomUUID()}`;
  readonly #pollMs: number;
  readonly #clock: Clock;
  readonly #ended = new AbortController();
  #gate: GateDocument | undefined;
  /** Set while the gate has the format of a later version: this process can't read where writes go. */
  #unreadable: FormatUnreadable | undefined;
  /** When the last acknowledged heartbeat was sent, monotonic. The writer's document outlives the writes it allows. */
  #beatAt = -Infinity;
  /** The last acknowledged heartbeat said that this process has stopped for this generation. */
  #stopped = 0;
  #closedAt: { readonly generation: number; readonly at: number } | undefined;
  #inside = 0;
  #changed = Promise.withResolvers<void>();
  #polling: Promise<void> = Promise.resolve();

  constructor(state: Container, container: string, { pollMs = 200, clock = systemClock }: WriteGateOptions) {
    this.#state = state;
    this.#container = container;
    this.#pk = gatePartition(container);
    this.#pollMs = pollMs;
    this.#clock = clock;
  }

  async open(): Promise<void> {
    await ensureGate(this.#state, this.#container, this.#clock);
    await this.#beat(60_000);
    this.#polling = this.#poll();
  }

  async enter(): Promise<Pass> {
    for (;;) {
      this.#ended.signal.throwIfAborted();
      if (this.#unreadable) throw this.#unreadable;
      const gate = this.#gate;
      if (gate?.state === 'open' && !this.#hasLapsed()) {
        this.#inside += 1;
        const until = this.#clock.monotonic() + REQUEST_TIMEOUT_MS;
        // A timeout takes whole milliseconds.
        const left = (): number => Math.max(0, Math.floor(until - this.#clock.monotonic()));
        let ended = false;
        let signal: AbortSignal | undefined;
        return {
          target: gate.target,
          get signal() {
            return (signal ??= AbortSignal.timeout(left()));
          },
          [Symbol.dispose]: () => {
            if (ended) return;
            ended = true;
            this.#inside -= 1;
            this.#notify();
          },
        };
      }
      await this.#changed.promise;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort(shardsError('gate-closed', `The write gate of ${this.#container} is closed`));
    this.#notify();
    await this.#polling;
    const item = this.#state.item(this.#id, this.#pk);
    const options = { reads: true, withinMs: EXPIRY_MS / 3, clock: this.#clock };
    // If the delete fails, the document expires.
    await withRetry(() => item.delete(), options).catch(() => undefined);
  }

  /** True: a migration may no longer see this process, at the latest before a write that starts now takes effect. */
  #hasLapsed(): boolean {
    return this.#clock.monotonic() - this.#beatAt > EXPIRY_MS;
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }

  async #poll(): Promise<void> {
    while (!this.#ended.signal.aborted) {
      // A step that fails is repeated in the next round, and doesn't keep the other steps from running.
      for (const step of [() => this.#look(), () => this.#reopen(), () => this.#heartbeat()])
        await step().catch(() => undefined);
      await this.#clock.sleep(this.#pollMs, this.#ended.signal).catch(() => undefined);
    }
  }

  async #look(): Promise<void> {
    const { resource } = await withRetry(() => this.#state.item('gate', this.#pk).read<GateDocument>(), {
      reads: true,
      withinMs: EXPIRY_MS / 3,
      clock: this.#clock,
    });
    if (resource) this.#adopt(resource);
  }

  /** A lagging replica may show an older generation, which is ignored. */
  #adopt(gate: GateDocument): void {
    this.#unreadable = isReadable('gate', gate.format)
      ? undefined
      : new FormatUnreadable('gate', gate.format, this.#container);
    if (this.#unreadable) return this.#notify();
    if (gate.generation < (this.#gate?.generation ?? 0)) return;
    this.#gate = gate;
    if (gate.state === 'open') this.#closedAt = undefined;
    else if (this.#closedAt?.generation !== gate.generation)
      this.#closedAt = { generation: gate.generation, at: this.#clock.monotonic() };
    this.#notify();
  }

  /** The process that closed the gate may have died. The new generation makes its later changes fail. */
  async #reopen(): Promise<void> {
    const gate = this.#gate;
    if (gate?.state !== 'closing' || this.#clock.monotonic() - (this.#closedAt?.at ?? Infinity) <= REOPEN_MS) return;
    const opened = await changeGate(
      this.#state,
      gate,
      { state: 'open', target: gate.target },
      { clock: this.#clock, withinMs: EXPIRY_MS / 3 },
    );
    if (opened) this.#adopt(opened);
  }

  async #heartbeat(): Promise<void> {
    const isCurrent = this.#stopsFor() === this.#stopped && this.#clock.monotonic() - this.#beatAt < HEARTBEAT_MS;
    if (!isCurrent) await this.#beat(EXPIRY_MS / 3);
  }

  /** The generation of a closed gate, if this process has no write under way; else 0. */
  #stopsFor(): number {
    return this.#gate?.state === 'closing' && this.#inside === 0 ? this.#gate.generation : 0;
  }

  /** One batch writes this process's heartbeat and reads the gate at that moment. */
  async #beat(withinMs: number): Promise<void> {
    let sentAt = 0;
    let stopped = 0;
    const operations = (): OperationInput[] => {
      sentAt = this.#clock.monotonic();
      stopped = this.#stopsFor();
      return [...this.#presence(stopped), { operationType: 'Read', id: 'gate' }];
    };
    const options = { reads: true, withinMs, clock: this.#clock };
    let results;
    try {
      results = await transact(this.#state, this.#pk, operations, options);
    } catch (error) {
      if (failureOf(error).kind !== 'not-found') throw error;
      // The writer's document or the gate was deleted: this process must join again.
      this.#beatAt = -Infinity;
      await ensureGate(this.#state, this.#container, this.#clock);
      throw error;
    }
    this.#beatAt = sentAt;
    this.#stopped = stopped;
    this.#adopt(results.at(-1)?.resourceBody as unknown as GateDocument);
  }

  /**
   * A process that joins also writes to the gate document. So its batch comes before or after each change of the gate,
   * never at the same time: a migration that changes the gate later has seen the writer's document.
   */
  #presence(stopped: number): OperationInput[] {
    const document = {
      id: this.#id,
      pk: this.#pk,
      type: 'millrace.writer',
      ...formatOf('writer'),
      stopped,
      ttl: WRITER_TTL_S,
    } satisfies WriterDocument;
    if (!this.#hasLapsed()) return [{ operationType: 'Replace', id: this.#id, resourceBody: document }];
    const condition = `from c where ${readableWhere('gate')}`;
    const joined = { condition, operations: [{ op: 'incr' as const, path: '/joined', value: 1 }] };
    return [
      { operationType: 'Upsert', resourceBody: document },
      { operationType: 'Patch', id: 'gate', resourceBody: joined },
    ];
  }
}

/** Returns the stored gate, and creates it if there is none. */
export async function ensureGate(
  state: Container,
  container: string,
  clock: Clock = systemClock,
): Promise<GateDocument> {
  const pk = gatePartition(container);
  const first: GateDocument = {
    id: 'gate',
    pk,
    type: 'millrace.gate',
    ...formatOf('gate'),
    state: 'open',
    generation: 1,
    target: { container },
  };
  const { after } = await rewrite(state, first, (stored?: GateDocument) => stored ?? first, { clock });
  return after;
}

/** Where writers write, without creating a gate. */
export async function gateTarget(state: Container, container: string): Promise<WriteTarget> {
  const stored = await readItem<GateDocument>(state.item('gate', gatePartition(container)));
  return stored?.target ?? { container };
}

/**
 * Changes a gate if it still has the generation that was read, and raises the generation. Undefined: another process was
 * faster. A request that arrives late fails on the generation, so it needs no deadline.
 */
export async function changeGate(
  state: Container,
  gate: GateDocument,
  next: Pick<GateDocument, 'state' | 'target'>,
  { clock = systemClock, withinMs = 60_000 }: { readonly clock?: Clock; readonly withinMs?: number } = {},
): Promise<GateDocument | undefined> {
  const since = clock.monotonic();
  const generation = gate.generation + 1;
  const operations = [
    { op: 'set', path: '/state', value: next.state },
    { op: 'set', path: '/target', value: next.target },
    { op: 'set', path: '/generation', value: generation },
    ...Object.entries(formatOf('gate')).map(([name, value]) => ({ op: 'set', path: `/${name}`, value }) as const),
  ] as const;
  const condition = `from c where c.generation = ${gate.generation} and ${readableWhere('gate')}`;
  for (;;) {
    try {
      await withRetry(() => state.item('gate', gate.pk).patch({ operations: [...operations], condition }), {
        reads: false,
        withinMs,
        clock,
      });
      return { ...gate, ...next, generation };
    } catch (error) {
      const unsure = error instanceof AmbiguousOutcome;
      if (!unsure && failureOf(error).kind !== 'precondition') throw error;
      const now = await ensureGate(state, gatedContainer(gate), clock);
      if (now.generation === generation && now.state === next.state && isSameTarget(now.target, next.target))
        return now;
      if (now.generation > gate.generation) return undefined;
      if (clock.monotonic() - since > withinMs) throw error;
      // A lagging replica may show the gate as it was before: read again.
      await clock.sleep(LAG_MS);
    }
  }
}

/**
 * Opens a gate with a target that a person has decided, above a generation that no writer can know. For a state that is
 * older than its writers: they ignore a generation below the one that they know.
 */
export async function decideGate(
  state: Container,
  container: string,
  target: WriteTarget,
  above: number,
): Promise<GateDocument> {
  const at = { id: 'gate', pk: gatePartition(container), type: 'millrace.gate' } as const;
  const { after } = await rewrite(state, at, (stored?: GateDocument): GateDocument => {
    const generation = Math.max(stored?.generation ?? 0, above) + 1;
    return { ...at, ...formatOf('gate'), state: 'open', generation, target };
  });
  return after;
}

/** All gates. */
export async function readGates(state: Container): Promise<GateDocument[]> {
  const query = "SELECT * FROM c WHERE c.type = 'millrace.gate'";
  const { resources } = await withRetry(() => state.items.query<GateDocument>(query).fetchAll(), { reads: true });
  for (const gate of resources) assertReadable(gate);
  return resources;
}

/** The processes that write through a gate, from their last heartbeats. In the session that closed the gate, none is missing. */
export async function readWriters(state: Container, container: string): Promise<WriterDocument[]> {
  const query = "SELECT * FROM c WHERE c.type = 'millrace.writer'";
  const { resources } = await withRetry(
    () => state.items.query<WriterDocument>(query, { partitionKey: gatePartition(container) }).fetchAll(),
    { reads: true },
  );
  for (const writer of resources) assertReadable(writer);
  return resources;
}
