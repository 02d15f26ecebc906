import { randomUUID } from 'node:crypto';
import type { Container } from '@azure/cosmos';
import { type Clock, systemClock } from '../base/clock.ts';
import { MillraceError } from '../base/errors.ts';
import { failureOf } from '../cosmos/failure.ts';
import { AmbiguousOutcome, withRetry } from '../cosmos/retry.ts';

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

/** A process that writes through a gate; expires where the process dies. */
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
/** A writer says at least this often that it is there. */
export const HEARTBEAT_MS = 3_000;
/** A writer that could not ask for this long admits no write until it can; its document is taken for that of a dead one after it. */
export const EXPIRY_MS = 15_000;
/** From a closed gate that nobody opens a writer goes back to what was before, this long after it saw it close. */
export const REOPEN_MS = 120_000;

export interface WriteGateOptions {
  /** How often the gate is asked while writes go on, milliseconds: bounds the pause. Default 200. */
  readonly pollMs?: number;
  readonly clock?: Clock;
}

/** Leave to write: end it as soon as the write is answered. A migration waits for it. */
export interface Pass extends Disposable {
  readonly target: WriteTarget;
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
  /** When what is known of the gate was asked, monotonic. */
  #askedAt = -Infinity;
  #saidAt = -Infinity;
  #closedAt: { readonly generation: number; readonly at: number } | undefined;
  #stopped = 0;
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
    await ensureGate(this.#state, this.#container);
    await this.#register();
    this.#polling = this.#poll();
  }

  async enter(): Promise<Pass> {
    for (;;) {
      this.#ended.signal.throwIfAborted();
      const gate = this.#gate;
      if (gate && this.#isOpen(gate)) {
        this.#inside += 1;
        let left = false;
        return {
          target: gate.target,
          [Symbol.dispose]: () => {
            if (left) return;
            left = true;
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
    await withRetry(() => this.#state.item(this.#id, this.#pk).delete(), { reads: true }).catch(() => undefined);
  }

  #isOpen(gate: GateDocument): boolean {
    const now = this.#clock.monotonic();
    // Who can't ask doesn't know whether it is closed by now.
    if (now - this.#askedAt > EXPIRY_MS) return false;
    if (gate.state === 'open') return true;
    return this.#closedAt !== undefined && now - this.#closedAt.at > REOPEN_MS;
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }

  async #poll(): Promise<void> {
    while (!this.#ended.signal.aborted) {
      try {
        await this.#look();
      } catch {
        // Asked again; meanwhile writes are let through until the expiry.
      }
      await this.#clock.sleep(this.#pollMs, this.#ended.signal).catch(() => undefined);
    }
  }

  async #look(): Promise<void> {
    const askedAt = this.#clock.monotonic();
    const { resource } = await withRetry(() => this.#state.item('gate', this.#pk).read<GateDocument>(), {
      reads: true,
      withinMs: EXPIRY_MS / 3,
      clock: this.#clock,
    });
    // A lagging replica shows an older generation: what was seen stays seen.
    if (resource && resource.generation >= (this.#gate?.generation ?? 0)) {
      this.#gate = resource;
      this.#askedAt = askedAt;
      if (resource.state === 'closing') {
        if (this.#closedAt?.generation !== resource.generation)
          this.#closedAt = { generation: resource.generation, at: this.#clock.monotonic() };
      } else this.#closedAt = undefined;
      this.#notify();
    }
    const gate = this.#gate;
    const stop = gate?.state === 'closing' && this.#inside === 0 && !this.#isOpen(gate) ? gate.generation : 0;
    if (stop === this.#stopped && this.#clock.monotonic() - this.#saidAt < HEARTBEAT_MS) return;
    await withRetry(() => this.#state.items.upsert(this.#document(stop)), {
      reads: true,
      withinMs: EXPIRY_MS / 3,
      clock: this.#clock,
    });
    this.#stopped = stop;
    this.#saidAt = this.#clock.monotonic();
  }

  /** In one batch with a look at the gate: nobody joins unseen while it is closing. */
  async #register(): Promise<void> {
    for (;;) {
      const { result, code } = await withRetry(
        () =>
          this.#state.items.batch(
            [
              {
                operationType: 'Patch',
                id: 'gate',
                resourceBody: {
                  operations: [{ op: 'incr', path: '/writers', value: 1 }],
                  condition: "from c where c.state = 'open'",
                },
              },
              { operationType: 'Upsert', resourceBody: this.#document(0) as never },
            ],
            this.#pk,
          ),
        { reads: true, clock: this.#clock },
      );
      if (code === 200) {
        this.#saidAt = this.#clock.monotonic();
        return this.#look();
      }
      const refused = result?.some(({ statusCode }) => statusCode === 412);
      if (!refused && code !== 207)
        throw new MillraceError('gate-refused', `The write gate of ${this.#container} was answered ${String(code)}`, {
          retryable: true,
        });
      await this.#clock.sleep(this.#pollMs, this.#ended.signal);
    }
  }

  #document(stopped: number): WriterDocument {
    return { id: this.#id, pk: this.#pk, type: 'millrace.writer', stopped, ttl: Math.ceil((4 * EXPIRY_MS) / 1_000) };
  }
}

/** The gate as it is stored, made where there is none. */
export async function ensureGate(state: Container, container: string): Promise<GateDocument> {
  const pk = gatePartition(container);
  for (;;) {
    const { resource } = await withRetry(() => state.item('gate', pk).read<GateDocument>(), { reads: true });
    if (resource) return resource;
    const gate: GateDocument = {
      id: 'gate',
      pk,
      type: 'millrace.gate',
      state: 'open',
      generation: 1,
      target: { container },
    };
    try {
      await withRetry(() => state.items.create(gate), { reads: false });
    } catch (error) {
      if (!(error instanceof AmbiguousOutcome) && failureOf(error).kind !== 'conflict') throw error;
    }
  }
}

/** Changes a gate under the generation it was read with; false where somebody else was quicker. Registrations don't count. */
export async function changeGate(
  state: Container,
  gate: GateDocument,
  next: Pick<GateDocument, 'state' | 'target'>,
): Promise<GateDocument | undefined> {
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
      });
      return { ...gate, ...next, generation };
    } catch (error) {
      const unsure = error instanceof AmbiguousOutcome;
      if (!unsure && failureOf(error).kind !== 'precondition') throw error;
      const now = await ensureGate(state, gate.pk.slice('gate|'.length));
      if (
        now.generation === generation &&
        now.state === next.state &&
        JSON.stringify(now.target) === JSON.stringify(next.target)
      )
        return now;
      if (now.generation !== gate.generation) return undefined;
    }
  }
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
