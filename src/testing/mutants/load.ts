// Loads changed texts of one module in this process. The file isn't touched, and its imports are found as before.
import { registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import type { Pipeline } from '../../definition/specs.ts';

const MARK = 'millrace-mutant';
let loaded = 0;

/** `text`: JavaScript in the place of `file`. Rejects with what the text throws. */
export async function loadText(file: string, text: string): Promise<Pipeline> {
  loaded += 1;
  // Each import needs an address of its own, because a module stays loaded for the life of the process.
  const url = `${pathToFileURL(file).href}?${MARK}=${loaded}`;
  const hook = registerHooks({
    load: (asked, context, next) =>
      asked === url ? { format: 'module', source: text, shortCircuit: true } : next(asked, context),
  });
  try {
    return ((await import(url)) as { default: Pipeline }).default;
  } finally {
    hook.deregister();
  }
}
