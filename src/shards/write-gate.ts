import { randomUUID } from 'node:crypto';
import type { Container, OperationInput } from '@azure/cosmos';
import { LANDING_BOUND_MS } from '../base/bounds.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { MillraceError } from '../base/errors.ts';
import { failureOf } from '../cosmos/failure.ts';
import { REQUEST_TIMEOUT_MS } from '../cosmos/landing.ts';
import { AmbiguousOutcome, withRetry } from '../cosmos/retry.ts';
import { rewrite } from '../cosmos/rewrite.ts';
import { transact } from '../cosmos/transact.ts';

/** Where a container's documents are written. */
export interface WriteTarget {
  readonly container: string;
  /** Absent: as the container was before it was ever migrated. */
  readonly database?: string;
  /** Address of the account, likewise. */
  readonly endpoint?: string;
}

/** The state of a gate: one document a container, in the state container. */
export interface GateDocument {
  readonly id: 'gate';
  readonly pk: string;
  readonly type: 'millrace.gate';
  readonly state: 'open' | 'closing';
  /** Raised with every change. */
  readonly generation: number;
  readonly target: WriteTarget;
  readonly _etag?: string;
}

/** A process that writes through a gate; expires some time after its last heartbeat. */
export interface WriterDocument {
  readonly id: string;
  readonly pk: string;
  readonly type: 'millrace.writer';
  /** The closing generation that it has stopped for; 0: none. */
  readonly stopped: number;
  readonly ttl: number;
  readonly _etag?: string;
}

export const gatePartition = (container: string): string => `gate|${container}`;
/** The container that a gate is of. */
export const gatedContainer = ({ pk }: Pick<GateDocument, 'pk'>): string => pk.slice('gate|'.length);
/** A writer says at least this often that it is there. */
export const HEARTBEAT_MS = 3_000;
/** A writer whose last acknowledged heartbeat was sent longer ago admits no write until one is acknowledged again. */
export const EXPIRY_MS = 15_000;
/**
 * How long a writer's document lives after its last heartbeat. The last write that was admitted under a heartbeat has
 * landed by then; two seconds more, as the service counts in whole ones.
 */
export const WRITER_TTL_S = (EXPIRY_MS + LANDING_BOUND_MS) / 1_000 + 2;
/** A closed gate that nobody opens is opened by the writers, as it was, this long after they saw it close. */
export const REOPEN_MS = 120_000;

/** Between two looks for what became of a change. */
const LAG_MS = 50;

export interface WriteGateOptions {
  /** How often the gate is asked while writes go on, milliseconds: bounds the pause. Default 200. */
  readonly pollMs?: number;
  readonly clock?: Clock;
}

/** Leave for one write: send it at once, and end it as soon as the write is answered. A migration waits for it. */
export interface Pass extends Disposable {
  readonly target: WriteTarget;
  /**
   * Hand it to the write as `abortSignal`: after a minute it ends the write, the client's own repetitions included, so that
   * it lands in the time that a migration allows for it.
   */
  readonly signal: AbortSignal;
}

/** Before each write of a container that may be migrated: `using pass = await gate.enter()`, then write to `pass.target`. */
export interface WriteGate extends AsyncDisposable {
  /** Resolves at once, but for the seconds of a migration's change-over. */
  enter(): Promise<Pass>;
}

/** Opens the gate of a container; one a process and container. `state` is Millrace's state container. */
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
  /** When the last acknowledged heartbeat was sent, monotonic: its document lives for longer than what is admitted by it. */
  #beatAt = -Infinity;
  /** The closing generation that the last acknowledged heartbeat said this process has stopped for. */
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
      const gate = this.#gate;
      if (gate?.state === 'open' && !this.#hasLapsed()) {
        this.#inside += 1;
        const until = this.#clock.monotonic() + REQUEST_TIMEOUT_MS;
        const left = (): number => Math.max(0, until - this.#clock.monotonic());
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
    this.#ended.abort(new MillraceError('gate-closed', `The write gate of ${this.#container} was disposed of`));
    this.#notify();
    await this.#polling;
    const item = this.#state.item(this.#id, this.#pk);
    const options = { reads: true, withinMs: EXPIRY_MS / 3, clock: this.#clock };
    // Where it can't be deleted, it expires.
    await withRetry(() => item.delete(), options).catch(() => undefined);
  }

  /** A migration may have forgotten this process, or may do so before a write that begins now has landed. */
  #hasLapsed(): boolean {
    return this.#clock.monotonic() - this.#beatAt > EXPIRY_MS;
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }

  async #poll(): Promise<void> {
    while (!this.#ended.signal.aborted) {
      // Each is tried again at the next turn, and none keeps the others from being tried.
      for (const step of [() => this.#look(), () => this.#reopen(), () => this.#say()])
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

  /** A lagging replica shows an older generation: what was seen stays seen. */
  #adopt(gate: GateDocument): void {
    if (gate.generation < (this.#gate?.generation ?? 0)) return;
    this.#gate = gate;
    if (gate.state === 'open') this.#closedAt = undefined;
    else if (this.#closedAt?.generation !== gate.generation)
      this.#closedAt = { generation: gate.generation, at: this.#clock.monotonic() };
    this.#notify();
  }

  /** Who closed the gate may have died. Opened under a new generation, it can't be opened by that closing any more. */
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

  async #say(): Promise<void> {
    const said = this.#stopsFor() === this.#stopped && this.#clock.monotonic() - this.#beatAt < HEARTBEAT_MS;
    if (!said) await this.#beat(EXPIRY_MS / 3);
  }

  /** The generation for which nothing is being written and nothing more will be; 0: none. */
  #stopsFor(): number {
    return this.#gate?.state === 'closing' && this.#inside === 0 ? this.#gate.generation : 0;
  }

  /** One batch says that this process is there, and reads the gate as it is at that moment. */
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
      // Somebody took the document away, or the gate: this process is one that has to join again.
      this.#beatAt = -Infinity;
      await ensureGate(this.#state, this.#container, this.#clock);
      throw error;
    }
    this.#beatAt = sentAt;
    this.#stopped = stopped;
    this.#adopt(results.at(-1)?.resourceBody as unknown as GateDocument);
  }

  /**
   * Who joins writes the gate as well, so that this is before or after each change of the gate and never beside it: the
   * gate that is read is one that no migration changes again without having seen the writer's document.
   */
  #presence(stopped: number): OperationInput[] {
    const document = {
      id: this.#id,
      pk: this.#pk,
      type: 'millrace.writer',
      stopped,
      ttl: WRITER_TTL_S,
    } satisfies WriterDocument;
    if (!this.#hasLapsed()) return [{ operationType: 'Replace', id: this.#id, resourceBody: document }];
    const joined = { operations: [{ op: 'incr' as const, path: '/joined', value: 1 }] };
    return [
      { operationType: 'Upsert', resourceBody: document },
      { operationType: 'Patch', id: 'gate', resourceBody: joined },
    ];
  }
}

/** The gate as it is stored, made where there is none. */
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
    state: 'open',
    generation: 1,
    target: { container },
  };
  const { after } = await rewrite(state, first, (stored?: GateDocument) => stored ?? first, { clock });
  return after;
}

/**
 * Changes a gate under the generation it was read with, and raises that; undefined where somebody else was quicker. A
 * request that lands late is refused by the generation, so it needs no deadline.
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
  ] as const;
  const condition = `from c where c.generation = ${gate.generation}`;
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
      if (
        now.generation === generation &&
        now.state === next.state &&
        JSON.stringify(now.target) === JSON.stringify(next.target)
      )
        return now;
      if (now.generation > gate.generation) return undefined;
      if (clock.monotonic() - since > withinMs) throw error;
      // A lagging replica shows the gate as it was: the next one may tell.
      await clock.sleep(LAG_MS);
    }
  }
}

/** The gates of all containers that have one. */
export async function readGates(state: Container): Promise<GateDocument[]> {
  const query = "SELECT * FROM c WHERE c.type = 'millrace.gate'";
  const { resources } = await withRetry(() => state.items.query<GateDocument>(query).fetchAll(), { reads: true });
  return resources;
}

/** The processes that write through a gate, as they last said. Asked in the session of whoever closed it, none is missing. */
export async function readWriters(state: Container, container: string): Promise<WriterDocument[]> {
  const query = "SELECT * FROM c WHERE c.type = 'millrace.writer'";
  const { resources } = await withRetry(
    () => state.items.query<WriterDocument>(query, { partitionKey: gatePartition(container) }).fetchAll(),
    { reads: true },
  );
  return resources;
}
