import type { UsageError } from '../base/errors.ts';
import type { StoredAccount } from './cosmos/storage/account.ts';
import type { StoredContainer } from './cosmos/storage/container.ts';
import { expireNow, purge } from './cosmos/items/expiry.ts';
import { failover } from './cosmos/storage/failover.ts';
import { throughputFor } from './cosmos/storage/throughput.ts';
import { cutOf, merge, physicalPartitionOf, split } from './cosmos/resources/repartition.ts';
import { dropContainer } from './cosmos/resources/resources.ts';
import { restore } from './cosmos/resources/restore.ts';
import { WireError } from './cosmos/wire/wire.ts';
import { sharedError } from '../base/shared-errors.ts';

/** Commands to a running server. A container is named `database/container`. All throw UsageError. */
export interface Controls {
  /**
   * Splits a physical partition (the fullest, if none is named). `refuse`: before the split is done, the server answers
   * this many requests on the range with 410/1007.
   * @returns the children's ids; none while the split is not done
   */
  split(container: string, rangeId?: string, options?: { readonly refuse?: number }): readonly string[];
  /** Merges two neighbouring physical partitions (the first two, if none are named); returns the new one's id. */
  merge(container: string, rangeIds?: readonly [string, string]): string;
  /** Limits a container to a number of RU/s instead of its provisioned ones; undefined ends the limit. */
  throttle(container: string, ruPerSecond: number | undefined): void;
  /** Moves the server's clock forward. */
  advance(ms: number): void;
  /** Stops the clock (true), so that only `advance` moves it, or lets it run again. */
  freeze(on: boolean): void;
  /** Deletes expired items now. */
  purge(): void;
  /** Deletes the items with this id that have a time to live, as if it had passed; returns how many. */
  expire(container: string, id: string): number;
  /**
   * Undoes the writes of the last `lossMs` in a container; later writes get the same lsns. The fault `historyMs` must
   * have been at least as long. Returns the number of changed items.
   */
  failover(container: string, lossMs: number): number;
  /**
   * Restores a container (all, if none is named) to its state of `agoMs` ago, or to its state before it was dropped. It
   * gets a new resource id, and its lsns begin again. The fault `historyMs` must have been at least as long, except for
   * an existing container with `agoMs` 0. Returns the number of items.
   */
  restore(container?: string, agoMs?: number): number;
}

export function controls(account: () => StoredAccount): Controls {
  const on = <T>(name: string, work: (container: StoredContainer) => T): T => {
    try {
      return work(containerNamed(account(), name));
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      throw sharedError('emulator-command-refused', error.message, {
        hint: 'Read the partition key ranges of the container, and name others.',
      });
    }
  };
  return {
    split: (name, rangeId, { refuse = 0 } = {}) =>
      on(name, (container) => {
        const parent = physicalPartitionOf(container, rangeId);
        const at = cutOf(container, parent);
        if (refuse === 0) return split(account(), container, parent, at);
        parent.completing = { left: refuse, finish: () => void split(account(), container, parent, at) };
        return [];
      }),
    merge: (name, rangeIds) => on(name, (container) => merge(account(), container, rangeIds)),
    throttle: (name, ruPerSecond) =>
      on(name, ({ rid }) => {
        if (ruPerSecond === undefined) account().limits.delete(rid);
        else account().limits.set(rid, atLeast(1, ruPerSecond, 'The RU/s'));
      }),
    advance: (ms) => account().clock.advance(atLeast(0, ms, 'The step of the clock')),
    freeze: (stop) => (stop ? account().clock.freeze() : account().clock.thaw()),
    purge: () => purge(account()),
    expire: (name, id) => on(name, (container) => expireNow(account(), container, id)),
    failover: (name, lossMs) =>
      on(name, (container) => failover(account(), container, kept(account(), atLeast(0, lossMs, 'The loss')))),
    restore: (name, agoMs = 0) => {
      const time = account().now() - kept(account(), atLeast(0, agoMs, 'The time to go back'));
      const names = name === undefined ? namesIn(account()) : [name];
      return names.reduce((items, each) => items + restoreOne(account(), each, time), 0);
    },
  };
}

/** Finds a container by `database/container`; throws UsageError if there is none. */
function containerNamed(account: StoredAccount, name: string): StoredContainer {
  const [database = '', id = '', ...rest] = name.split('/');
  const container = account.databases.get(database)?.containers.get(id);
  if (!container || rest.length > 0) throw unknown(account, name);
  return container;
}

/** @throws UsageError if the server doesn't keep the past for that long */
function kept(account: StoredAccount, ms: number): number {
  const { historyMs = 0 } = account.faults;
  if (ms <= historyMs) return ms;
  throw sharedError('option-invalid', `The server can't go back ${ms} ms: it keeps the last ${historyMs} ms.`, {
    hint: 'Set the fault `historyMs` (`--history`) to at least this time before the writes.',
  });
}

function restoreOne(account: StoredAccount, name: string, time: number): number {
  const [database = '', id = ''] = name.split('/');
  const home = account.databases.get(database);
  const standing = home?.containers.get(id);
  if (home && standing) {
    const throughput = throughputFor(account, standing.rid);
    dropContainer(account, home, standing);
    return restore(account, home, standing, throughput, time);
  }
  const dropped = account.dropped.get(name);
  if (!home || !dropped) throw unknown(account, name);
  return restore(account, home, dropped.container, dropped.throughput, time);
}

const namesIn = (account: StoredAccount): string[] =>
  [...account.databases.values()].flatMap(({ id: of, containers }) =>
    [...containers.keys()].map((id) => `${of}/${id}`),
  );

function unknown(account: StoredAccount, name: string): UsageError {
  const known = namesIn(account);
  return sharedError('not-found', `There is no container '${name}'.`, {
    hint: known.length === 0 ? 'Create a container first.' : `Name one of: ${known.join(', ')}.`,
  });
}

function atLeast(least: number, value: number, what: string): number {
  if (Number.isFinite(value) && value >= least) return value;
  throw sharedError('option-invalid', `${what} is ${value}: it must be a number of at least ${least}.`);
}
