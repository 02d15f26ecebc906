import { UsageError } from '../base/errors.ts';
import type { Account } from './cosmos/account.ts';
import type { Container } from './cosmos/container.ts';
import { purge } from './cosmos/expiry.ts';
import { failover } from './cosmos/failover.ts';
import { merge, partitionOf, split } from './cosmos/repartition.ts';
import { WireError } from './cosmos/wire.ts';

/** What a running server can be told to do. Containers are named `database/container`. All throw UsageError. */
export interface Controls {
  /**
   * Splits a physical partition (the fullest, if none is named). `refuse`: the split is under way first, and that many
   * requests on the range are answered 410/1007 before it is done.
   * @returns the children's ids; none while the split is under way
   */
  split(container: string, rangeId?: string, options?: { readonly refuse?: number }): readonly string[];
  /** Merges two neighbouring physical partitions (the first two, if none are named); returns the new one's id. */
  merge(container: string, rangeIds?: readonly [string, string]): string;
  /** Holds a container to so many RU/s, whatever was provisioned; undefined ends that. */
  throttle(container: string, ruPerSecond: number | undefined): void;
  /** Moves the server's clock forward. */
  advance(ms: number): void;
  /** Stops the clock (true), so that it moves by `advance` only, or lets it run again. */
  freeze(on: boolean): void;
  /** Purges what has expired. */
  purge(): void;
  /**
   * Loses the last `lossMs` of writes of a container, whose lsns will come again for others. Needs `historyMs` among
   * the faults to have been at least that long. Returns how many items are other than before.
   */
  failover(container: string, lossMs: number): number;
}

export function controls(account: () => Account): Controls {
  const on = <T>(name: string, work: (container: Container) => T): T => {
    const [database = '', id = '', ...rest] = name.split('/');
    const container = account().databases.get(database)?.containers.get(id);
    if (!container || rest.length > 0) {
      const known = [...account().databases.values()].flatMap(({ id: of, containers }) =>
        [...containers.keys()].map((each) => `${of}/${each}`),
      );
      throw new UsageError('emulator-container-unknown', `There is no container '${name}'.`, {
        mend: known.length === 0 ? 'Create one first.' : `Name one of ${known.join(', ')}.`,
      });
    }
    try {
      return work(container);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      throw new UsageError('emulator-command-refused', error.message, {
        mend: 'Look at the partition key ranges of the container, and name others.',
      });
    }
  };
  return {
    split: (name, rangeId, { refuse = 0 } = {}) =>
      on(name, (container) => {
        const parent = partitionOf(container, rangeId);
        if (refuse === 0) return split(account(), container, parent.id);
        parent.completing = { left: refuse, finish: () => void split(account(), container, parent.id) };
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
    failover: (name, lossMs) =>
      on(name, (container) => {
        const { historyMs = 0 } = account().faults;
        if (atLeast(0, lossMs, 'The loss') > historyMs) {
          throw new UsageError(
            'emulator-no-history',
            `The last ${lossMs} ms can't be lost: ${historyMs} ms are kept.`,
            {
              mend: "Set the fault 'historyMs' to at least as much before the writes are made.",
            },
          );
        }
        return failover(account(), container, lossMs);
      }),
  };
}

function atLeast(least: number, value: number, what: string): number {
  if (Number.isFinite(value) && value >= least) return value;
  throw new UsageError('emulator-number-invalid', `${what} is ${value}: it must be a number from ${least} up.`, {
    mend: 'Give another number.',
  });
}
