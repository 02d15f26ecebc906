// Many leases of a container that nobody judges: no histories, only their number.
import type { FeedRange } from '../../../src/cosmos/ranges.ts';
import { Random } from '../../support/random.ts';
import type { Container } from './feed.ts';
import { Leases } from './leases.ts';
import type { World } from './world.ts';

/** Requests take 2 to 40 ms there and back; those of the histories that take seconds, or find an old list, are left out. */
export class Quick extends Random {
  override chance(): boolean {
    return false;
  }
}

/** Parts of the whole, as splits leave them. */
export function rangesOf(count: number): FeedRange[] {
  const border = (n: number): string => n.toString(16).toUpperCase().padStart(4, '0');
  return Array.from({ length: count }, (_, n) => ({
    min: n === 0 ? '' : border(n),
    max: n === count - 1 ? 'FF' : border(n + 1),
  }));
}

const nothing = (): void => undefined;

/** `acquired` is called for each lease that a host takes. */
export function unwatched(world: World, ranges: readonly FeedRange[], acquired = nothing): Leases {
  const watcher = { stored: nothing, acquired, removed: nothing, tookOver: nothing, answered: nothing, told: nothing };
  // Of the container the store asks for its ranges alone.
  return new Leases(world, { ranges } as unknown as Container, watcher);
}
