import type { Container } from '@azure/cosmos';
import { onTestFinished, vi } from 'vitest';
import type { Clock } from '../../../src/base/clock.ts';
import { MillraceError } from '../../../src/base/errors.ts';
import { compose } from '../../../src/runtime/hosts/processor-host.ts';
import { openWorkspace } from '../../../src/runtime/open-workspace.ts';
import { leasePrefix } from '../../../src/feed/leases/cosmos-lease-store.ts';
import { leaseNameOf } from '../../../src/runtime/hosts/processor-name.ts';
import type { Operation, OperationResult } from '../../../src/verbs/operation.ts';
import { ForeignHost, type ForeignHostOptions } from '../../support/foreign-host.ts';
import { SHOP, type Stage, openStage } from '../../support/stage.ts';

export type Stored = { readonly id: string } & Record<string, unknown>;

/** Time that passes by sleeping alone, and lets others do something meanwhile. */
export class SteppingClock implements Clock {
  #now = Date.now();
  readonly slept: number[] = [];
  /** Runs in each sleep, before it ends; gets how long was slept in all. */
  meanwhile: (sofarMs: number) => Promise<void> = async () => {};

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    this.slept.push(ms);
    this.#now += ms;
    await this.meanwhile(this.total);
    signal?.throwIfAborted();
  }

  get total(): number {
    return this.slept.reduce((sum, ms) => sum + ms, 0);
  }
}

/** The shop pipeline on an embedded server, with foreign hosts beside it. */
export interface LeaseWorld {
  readonly stage: Stage;
  readonly clock: SteppingClock;
  readonly orders: Container;
  readonly leases: Container;
  readonly prefixOf: (processor: string, container?: string) => Promise<string>;
  /** As Java's `handleChanges` has it, by names. */
  readonly namedPrefix: (processor: string, container?: string) => string;
  readonly ownPrefix: (container?: string) => Promise<string>;
  readonly foreign: (prefix: string, options?: Partial<ForeignHostOptions>) => ForeignHost;
  /** Runs an operation as the command line would, with the world's clock. */
  readonly run: (operation: Operation, input?: Record<string, unknown>) => Promise<OperationResult>;
  readonly plan: (operation: Operation, input?: Record<string, unknown>) => Promise<readonly string[]>;
  /** What it is refused with. */
  readonly refusal: (operation: Operation, input?: Record<string, unknown>) => Promise<MillraceError>;
  readonly write: (from: number, to: number) => Promise<void>;
  /** Runs the pipeline until everything was read, and stops it. */
  readonly derive: () => Promise<void>;
  readonly documents: (prefix?: string) => Promise<Stored[]>;
  readonly audit: () => Promise<Stored[]>;
  /** What the screen showed, in order. */
  readonly shown: string[];
}

export async function leaseWorld(partitions = 1): Promise<LeaseWorld> {
  const stage = await openStage();
  for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await stage[Symbol.asyncDispose]();
  });
  const { services } = stage;
  for (let n = 1; n < partitions; n++) stage.emulator.split('shop/Orders');
  const clock = new SteppingClock();
  const shown: string[] = [];
  const workspace = openWorkspace({ directory: import.meta.dirname, pipeline: SHOP });
  onTestFinished(() => workspace.close());
  const screen = {
    live: false,
    line: (text: string) => void shown.push(text),
    draw: (lines: readonly string[]) => void shown.push(...lines),
    progress: (what: string, done: number, of?: number) => void shown.push(`${what} ${done}/${of ?? '?'}`),
  };
  const context = () => ({ workspace, actor: 'tester', signal: AbortSignal.timeout(50_000), screen, clock });
  const prefixOf = async (processor: string, container = 'Orders'): Promise<string> => {
    const [home, source] = [
      await services.place.database.read(),
      await services.place.database.container(container).read(),
    ];
    return leasePrefix(processor, stage.emulator.endpoint, home.resource?._rid ?? '', source.resource?._rid ?? '');
  };
  const orders = stage.container('Orders');
  const run = (operation: Operation, input: Record<string, unknown> = {}) => operation.run(input, context());
  const query = async (container: Container, where = '') =>
    (await container.items.query<Stored>(`SELECT * FROM c ${where}`).fetchAll()).resources;
  return {
    stage,
    clock,
    shown,
    orders,
    leases: services.global.leases,
    prefixOf,
    namedPrefix: (processor, container = 'Orders') =>
      leasePrefix(processor, stage.emulator.endpoint, 'shop', container),
    ownPrefix: (container = 'Orders') => prefixOf(leaseNameOf(stage.loaded.pipeline, container, {}), container),
    foreign: (prefix, options = {}) =>
      new ForeignHost({
        source: orders,
        leases: services.global.leases,
        prefix,
        start: 'beginning',
        handle: () => {},
        ...options,
      }),
    run,
    plan: async (operation, input = {}) => {
      if (!operation.plan) throw new Error('It has no plan');
      return (await operation.plan(input, context())).steps;
    },
    refusal: async (operation, input) => {
      const error: unknown = await run(operation, input).then(
        () => new Error('It was not refused'),
        (reason: unknown) => reason,
      );
      if (!(error instanceof MillraceError)) throw error;
      return error;
    },
    write: async (from, to) => {
      for (let n = from; n < to; n++) {
        await orders.items.upsert({
          id: `o${n}`,
          type: 'order',
          storeId: `s${n % 7}`,
          customerId: 'c1',
          placedAt: '2026-01-01T10:00:00.000Z',
          cents: 100,
        });
      }
    },
    derive: async () => {
      const app = await compose({ ...stage, host: 'ours', readLagMs: 0, timings: { pollMs: 40, acquireMs: 50 } });
      await app.start();
      await app.drained(AbortSignal.timeout(30_000));
      await app.stop();
    },
    documents: async (prefix) => {
      const all = await query(services.global.leases);
      return all
        .filter(({ id }) => prefix === undefined || id.startsWith(`${prefix}..`))
        .toSorted((a, b) => (a.id < b.id ? -1 : 1));
    },
    audit: () => query(services.place.state, 'WHERE c.kept'),
  };
}
