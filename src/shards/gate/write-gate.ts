import type { Container } from '@azure/cosmos';
import { type Clock, systemClock } from '../../base/clock.ts';
import { assertReadable, formatOf } from '../../base/format.ts';
import { canonical } from '../../base/json.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { readItem } from '../../cosmos/read-item.ts';
import { rewrite } from '../../cosmos/compare-and-swap.ts';
import { shardsError } from '../errors.ts';
import { type StoredGate, type GateStore, type Member, cosmosGate } from './gate-store.ts';
import { type GateRules, Membership } from './membership.ts';
import { GatePass, UnderWay } from './pass.ts';
import { MEMBER_TTL_S } from './times.ts';

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
export interface GateDocument extends StoredGate {
  readonly type: 'millrace.gate';
  readonly state: 'open' | 'closing';
  readonly target: WriteTarget;
  readonly _etag?: string;
}

/** A process that writes through a gate. */
export interface WriterDocument extends Member {
  readonly type: 'millrace.writer';
  /** The generation of the closed gate for which this writer has stopped; 0: none. */
  readonly stopped: number;
}

export const gatePartition = (container: string): string => `gate|${container}`;
/** The container of a gate. */
export const gatedContainer = ({ pk }: Pick<GateDocument, 'pk'>): string => pk.slice('gate|'.length);

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
  const gate = new ContainerGate(state, container, options);
  await gate.open();
  return gate;
}

type Store = GateStore<GateDocument, WriterDocument>;

function storeOf(state: Container, container: string, clock: Clock = systemClock): Store {
  const first: GateDocument = {
    id: 'gate',
    pk: gatePartition(container),
    type: 'millrace.gate',
    ...formatOf('gate'),
    state: 'open',
    generation: 1,
    target: { container },
  };
  return cosmosGate(state, { first, kind: 'gate' }, clock);
}

class ContainerPass extends GatePass<ContainerPass> implements Pass {
  readonly target: WriteTarget;

  constructor(target: WriteTarget, clock: Clock, underWay: UnderWay<ContainerPass>) {
    super(clock, clock.monotonic(), underWay);
    this.target = target;
  }
}

class ContainerGate implements WriteGate {
  readonly #container: string;
  readonly #clock: Clock;
  readonly #underWay = new UnderWay<ContainerPass>();
  readonly #membership: Membership<GateDocument, WriterDocument>;

  constructor(state: Container, container: string, { pollMs = 200, clock = systemClock }: WriteGateOptions) {
    this.#container = container;
    this.#clock = clock;
    const rules: GateRules<GateDocument, WriterDocument> = {
      kind: 'gate',
      of: container,
      acknowledges: (gate) => (gate?.state === 'closing' && this.#underWay.isEmpty ? gate.generation : 0),
      member: (id, stopped) => ({
        id,
        pk: gatePartition(container),
        type: 'millrace.writer',
        ...formatOf('writer'),
        stopped,
        ttl: MEMBER_TTL_S,
      }),
      after: (known, read) => (known && known.generation > read.generation ? known : read),
      closings: (gate) => (gate.state === 'closing' ? [String(gate.generation)] : []),
      reopened: ({ target }) => ({ state: 'open', target }),
    };
    this.#membership = new Membership(storeOf(state, container, clock), 'writer', rules, { pollMs, clock });
  }

  open(): Promise<void> {
    return this.#membership.open();
  }

  async enter(): Promise<Pass> {
    for (;;) {
      const { gate } = this.#membership;
      if (gate?.state === 'open' && !this.#membership.hasLapsed())
        return new ContainerPass(gate.target, this.#clock, this.#underWay);
      await this.#membership.changed();
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#membership.close(shardsError('gate-closed', `The write gate of ${this.#container} is closed`));
  }
}

/** Returns the stored gate, and creates it if there is none. */
export const ensureGate = (state: Container, container: string, clock?: Clock): Promise<GateDocument> =>
  storeOf(state, container, clock).ensure();

/** Where writers write, without creating a gate. */
export async function gateTarget(state: Container, container: string): Promise<WriteTarget> {
  const stored = await readItem<GateDocument>(state.item('gate', gatePartition(container)));
  return stored?.target ?? { container };
}

/** Undefined: another process was faster (gate-store.ts). */
export const changeGate = (
  state: Container,
  gate: GateDocument,
  next: Pick<GateDocument, 'state' | 'target'>,
  { clock }: { readonly clock?: Clock } = {},
): Promise<GateDocument | undefined> => storeOf(state, gatedContainer(gate), clock).change(gate, next);

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

/** The processes that write through a gate of this generation or a later one. Undefined: the answer was older. */
export const readWriters = (
  state: Container,
  container: string,
  generation: number,
): Promise<readonly WriterDocument[] | undefined> => storeOf(state, container).members(generation);
