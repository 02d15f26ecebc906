import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
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

/** Millrace's own files: `src/` of a checkout, `dist/` of a build. */
const OWN = fileURLToPath(new URL('../', import.meta.url)).replace(/(?<=[\\/]dist[\\/])src[\\/]$/, '');

/** The name that `counted` gives: `Object.map of orders@1 [as map]`. */
const COUNTED = /^(?:Object\.)?([\w.$]+ of [^[]+?)(?: \[as .*\])?$/;

/**
 * Where a stack is in the user's code: `call` is `map of orders@1`, and the innermost frame has the place
 * `pipeline/pipeline.ts:12:5`. `own`: the folder of Millrace's files.
 */
export function userPlace(stack: string, own = OWN): UserPlace {
  const frames = stack.split('\n').map((line) => {
    const [, name, file = '', at = ''] =
      /^ +at (?:async )?(?:([^(]+) \()?(?:file:\/\/)?([^()]+?)(:\d+:\d+)\)?$/.exec(line) ?? [];
    const path = file.split('?')[0] ?? '';
    return { name, path, place: `${relative('.', path)}${at}` };
  });
  const called = frames.findIndex(({ name }) => name !== undefined && COUNTED.test(name));
  const call = COUNTED.exec(frames[called]?.name ?? '')?.[1];
  const theirs = frames
    .slice(0, called === -1 ? undefined : called)
    .filter(({ path }) => /^(\/|[A-Z]:)/.test(path) && !path.startsWith(own));
  // A package counts where their function calls it, and where no line of theirs does.
  const frame =
    theirs.find(({ path }) => !path.includes('node_modules')) ?? (call === undefined ? undefined : theirs[0]);
  return { call, frame };
}

interface UserPlace {
  readonly call: string | undefined;
  readonly frame: { readonly name: string | undefined; readonly place: string } | undefined;
}

/** ` (pipeline/pipeline.ts:12:5)`: where a declared function threw. Empty: none of them is in the stack. */
export function thrownAt(error: unknown): string {
  const { call, frame } = userPlace(error instanceof Error ? (error.stack ?? '') : '');
  return call && frame ? ` (${frame.place})` : '';
}
