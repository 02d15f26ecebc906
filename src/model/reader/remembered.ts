// A document asks about the same words again and again: each title by several readers, each name with every row.
import { LRUCache } from 'lru-cache';

const MOST = 10_000;

/** The function, which works out the same text once. */
export function remembered(of: (text: string) => string): (text: string) => string {
  const known = new LRUCache<string, string>({ max: MOST });
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const found = of(text);
    known.set(text, found);
    return found;
  };
}
