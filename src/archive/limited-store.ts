import type { Clock } from '../base/clock.ts';
import { Budget } from '../cosmos/budget.ts';
import type { BlobStore, HoldingStore } from './blob-store.ts';

/** A store of which at most so many bytes a second are read and written, together. A blob may be larger: the next one waits. */
export function limitedStore<S extends BlobStore & Partial<HoldingStore>>(
  store: S,
  bytesPerSecond: number,
  clock?: Clock,
): S {
  const budget = new Budget(bytesPerSecond, clock);
  const paid = async <T>(work: () => Promise<T>, sizeOf: (answer: T) => number): Promise<T> => {
    const grant = await budget.take('blobs', 'live');
    let size = 0;
    try {
      const answer = await work();
      size = sizeOf(answer);
      return answer;
    } finally {
      grant.settle(size);
    }
  };
  return new Proxy(store, {
    get: (of, name) => {
      if (name === 'put')
        return (...args: Parameters<BlobStore['put']>) =>
          paid(
            () => of.put(...args),
            () => args[1].length,
          );
      if (name === 'read')
        return (...args: Parameters<BlobStore['read']>) =>
          paid(
            () => of.read(...args),
            (blob) => blob?.bytes.length ?? 0,
          );
      const value: unknown = Reflect.get(of, name);
      return typeof value === 'function' ? (value as (...args: unknown[]) => unknown).bind(of) : value;
    },
  });
}
