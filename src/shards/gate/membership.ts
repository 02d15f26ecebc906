import { randomUUID } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { FormatUnreadable, type Kind, isReadable } from '../../base/format.ts';
import type { StoredGate, GateStore, Member } from './gate-store.ts';
import { CLOSING_POLLED_MS, CLOSING_POLL_MS, EXPIRY_MS, HEARTBEAT_MS, REOPEN_MS } from './times.ts';

/** What differs between the gates of containers and of shards. */
export interface GateRules<G extends StoredGate, M extends Member> {
  readonly kind: Kind;
  /** What the gate is of, for messages. */
  readonly of: string;
  /** What this process can acknowledge; `acknowledged` is what is stored of it. A process that joins knows no gate. */
  acknowledges(gate: G | undefined, acknowledged: number, joins: boolean): number;
  member(id: string, acknowledged: number): M;
  /** What is known after a reading. A lagging replica may show an older gate; the batch of a process that joins doesn't. */
  after(known: G | undefined, read: G, joined: boolean): G;
  /** What is closed until its process opens it, each by a name that is never used again. */
  closings(gate: G): readonly string[];
  /** The gate without some of these. */
  reopened(gate: G, closings: readonly string[]): Partial<G>;
}

export interface MembershipOptions {
  readonly pollMs: number;
  readonly clock: Clock;
}

/**
 * A process that writes through a gate: it registers, sends heartbeats, follows the gate, acknowledges its changes, and
 * opens what another process has left closed.
 */
export class Membership<G extends StoredGate, M extends Member> {
  readonly #store: GateStore<G, M>;
  readonly #rules: GateRules<G, M>;
  readonly #options: MembershipOptions;
  readonly #id: string;
  readonly #ended = new AbortController();
  #gate: G | undefined;
  #unreadable: FormatUnreadable | undefined;
  /** When the last acknowledged heartbeat was sent, monotonic. The member's document outlives the writes it allows. */
  #beatAt = -Infinity;
  #acknowledged = 0;
  /** When this process first saw each closing. */
  readonly #closedAt = new Map<string, number>();
  #changed = Promise.withResolvers<void>();
  #polling: Promise<void> = Promise.resolve();

  constructor(store: GateStore<G, M>, member: 'writer' | 'router', rules: GateRules<G, M>, options: MembershipOptions) {
    this.#store = store;
    this.#rules = rules;
    this.#options = options;
    this.#id = `${member}|${randomUUID()}`;
  }

  /** The gate as it is known. @throws FormatUnreadable; the reason of `close` */
  get gate(): G | undefined {
    this.#ended.signal.throwIfAborted();
    if (this.#unreadable) throw this.#unreadable;
    return this.#gate;
  }

  /** True: an administrator may no longer see this process, at the latest before a write that starts now takes effect. */
  hasLapsed(now = this.#options.clock.monotonic()): boolean {
    return now - this.#beatAt > EXPIRY_MS;
  }

  /** Resolves when the gate was read, a heartbeat was acknowledged, or this process has left. */
  changed(): Promise<void> {
    return this.#changed.promise;
  }

  async open(): Promise<void> {
    await this.#store.ensure();
    while (!(await this.#beat(60_000)));
    this.#polling = this.#poll();
  }

  async close(reason: Error): Promise<void> {
    this.#ended.abort(reason);
    this.#notify();
    await this.#polling;
    // If the delete fails, the document expires.
    await this.#store.leave(this.#id).catch(() => undefined);
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }

  async #poll(): Promise<void> {
    const { clock, pollMs } = this.#options;
    while (!this.#ended.signal.aborted) {
      // A step that fails is repeated in the next round, and doesn't keep the other steps from running.
      for (const step of [() => this.#look(), () => this.#reopen(), () => this.#heartbeat()])
        await step().catch(() => undefined);
      await clock
        .sleep(this.#isJustClosed() ? Math.min(pollMs, CLOSING_POLL_MS) : pollMs, this.#ended.signal)
        .catch(() => undefined);
    }
  }

  /** Someone waits for this process, and its own writes for the end. After a while that process may have died. */
  #isJustClosed(): boolean {
    const after = this.#options.clock.monotonic() - CLOSING_POLLED_MS;
    return [...this.#closedAt.values()].some((since) => since > after);
  }

  async #look(): Promise<void> {
    const read = await this.#store.read();
    if (read) this.#adopt(read, false);
  }

  #adopt(read: G, joined: boolean): void {
    const { kind, of } = this.#rules;
    this.#unreadable = isReadable(kind, read.format) ? undefined : new FormatUnreadable(kind, read.format, of);
    if (!this.#unreadable) {
      this.#gate = this.#rules.after(this.#gate, read, joined);
      const closings = new Set(this.#rules.closings(this.#gate));
      for (const one of this.#closedAt.keys()) if (!closings.has(one)) this.#closedAt.delete(one);
      const now = this.#options.clock.monotonic();
      for (const one of closings) if (!this.#closedAt.has(one)) this.#closedAt.set(one, now);
    }
    this.#notify();
  }

  /** The process that closed may have died. The new generation makes its later changes fail. */
  async #reopen(): Promise<void> {
    const gate = this.#gate;
    const before = this.#options.clock.monotonic() - REOPEN_MS;
    const late = [...this.#closedAt].flatMap(([closing, since]) => (since < before ? [closing] : []));
    if (!gate || late.length === 0) return;
    const opened = await this.#store.change(gate, this.#rules.reopened(gate, late), EXPIRY_MS / 3);
    if (opened) this.#adopt(opened, false);
  }

  async #heartbeat(): Promise<void> {
    const isCurrent =
      this.#rules.acknowledges(this.#gate, this.#acknowledged, false) === this.#acknowledged &&
      this.#options.clock.monotonic() - this.#beatAt < HEARTBEAT_MS;
    if (!isCurrent) await this.#beat(EXPIRY_MS / 3);
  }

  /** False: the gate or this process's document was deleted. */
  async #beat(withinMs: number): Promise<boolean> {
    let sent = { at: 0, acknowledged: 0, joins: false };
    const gate = await this.#store.beat(() => {
      const joins = this.hasLapsed();
      const acknowledged = this.#rules.acknowledges(this.#gate, this.#acknowledged, joins);
      sent = { at: this.#options.clock.monotonic(), acknowledged, joins };
      return { member: this.#rules.member(this.#id, acknowledged), joins };
    }, withinMs);
    if (!gate) {
      this.#beatAt = -Infinity;
      await this.#store.ensure();
      return false;
    }
    this.#beatAt = sent.at;
    this.#acknowledged = sent.acknowledged;
    this.#adopt(gate, sent.joins);
    return true;
  }
}
