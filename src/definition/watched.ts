// Which fields of a document a declaration's function reads, seen by running it.
import type { Doc } from './specs.ts';

/** The document, which notes the top-level fields that are read of it; `*`: all of them were asked for. */
export const watched = (doc: Doc, read: Set<string>): Doc =>
  new Proxy(doc, {
    get(target, field) {
      if (typeof field === 'string') read.add(field);
      return Reflect.get(target, field) as unknown;
    },
    ownKeys(target) {
      read.add('*');
      return Reflect.ownKeys(target);
    },
  });

/** An example may be no document that the function takes: what it read up to there counts. */
export function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}
