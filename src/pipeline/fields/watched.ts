// Finds the fields of a document that a declaration's function reads, by running the function.
import type { Doc } from '../specs.ts';

/** The document; it records in `read` which top-level fields are read (`*`: all of them). */
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

/** The result, or undefined if `run` throws: an example may be a document that the function can't take. */
export function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}
