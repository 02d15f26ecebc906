import { isObject } from './json.ts';

/** Shared with the watchdog's thread: the heartbeats of this one, and the calls of functions of the user. */
export const pulse = new Int32Array(new SharedArrayBuffer(8));
export const [BEATS, CALLS] = [0, 1] as const;

/** Beside a declaration's own functions, those of these members are called for it. */
const NESTED = new Set(['measures', 'set']);

/**
 * The same declaration, whose functions count their calls, so that a watchdog knows that one of them does not return. In
 * a stack they are called as `map of orders@1`.
 */
export function counted<T extends object>(declared: T, of: string, path = ''): T {
  const members = Object.entries(declared).map(([name, value]: [string, unknown]) => {
    const at = `${path}${name}`;
    if (typeof value === 'function') return [name, counting(value as Call, `${at} of ${of}`)];
    return [name, isObject(value) && (path !== '' || NESTED.has(name)) ? counted(value, of, `${at}.`) : value];
  });
  return Object.fromEntries(members) as T;
}

type Call = (this: unknown, ...given: unknown[]) => unknown;

function counting(call: Call, name: string): Call {
  const { [name]: counts } = {
    [name](this: unknown, ...given: unknown[]): unknown {
      pulse[CALLS] = (pulse[CALLS] ?? 0) + 1;
      return call.apply(this, given);
    },
  };
  // A reload compares the texts of functions.
  return Object.assign(counts!, { toString: () => String(call) });
}
