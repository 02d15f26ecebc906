// Node's loader hook: the functions of src/ say when a watched change passes through them. Import it before the program.
import { AsyncLocalStorage } from 'node:async_hooks';
import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { instrument } from './instrument.ts';

/** One call of a function. */
export interface Call {
  readonly file: string;
  readonly name: string;
  readonly caller: Call | undefined;
  /** It was given the change or its position, or gave one back. */
  carries: boolean;
  /** The change itself, not its position alone. */
  carriesChange: boolean;
  /** It gave back a promise. */
  waits: boolean;
}

const ROOT = join(import.meta.dirname, '../../..');
/** What the rooms above ask for an answer; what looks on; the embedded server stands for the service. */
const ASKED_ALONE = /^src\/(base|model|definition|contract|emulator|cosmos\/request-spans|feed\/leases\/lease-spans)\b/;
const DEPTH = 6;

const callers = new AsyncLocalStorage<Call>();
let calls: Call[] = [];
let change: string | undefined;
let position: string | undefined;

/** Watches the change of the document with this id from now on. */
export function watch(id: string): void {
  [change, position, calls] = [id, undefined, []];
}

/** Behind which position the page with the change ends; undefined while it is not read. */
export const watchedPosition = (): string | undefined => position;

/** The calls since `watch`, in the order in which they began. */
export function watched(): readonly Call[] {
  change = undefined;
  return calls;
}

/** Whether a plain value holds the text. */
function holds(value: unknown, text: string | undefined, depth = DEPTH): boolean {
  if (value === text) return text !== undefined;
  if (depth === 0 || typeof value !== 'object' || value === null) return false;
  if (value instanceof Map) return holds([...value], text, depth - 1);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) return false;
  return Object.values(value).some((part) => holds(part, text, depth - 1));
}

function look(call: Call, value: unknown): void {
  call.carriesChange ||= holds(value, change);
  // A page of the feed says behind which position it ends.
  const { changes, next } = (value ?? {}) as { readonly changes?: unknown; readonly next?: unknown };
  if (typeof next === 'string' && holds(changes, change)) position = next;
  call.carries ||= call.carriesChange || holds(value, position);
}

/** What each instrumented function calls with its own body. */
function enter<T>(file: string, name: string, given: readonly unknown[], body: () => T): T {
  if (change === undefined) return body();
  const call: Call = { file, name, caller: callers.getStore(), carries: false, carriesChange: false, waits: false };
  calls.push(call);
  look(call, given);
  const result = callers.run(call, body);
  if (result instanceof Promise) {
    call.waits = true;
    result.then(
      (value: unknown) => look(call, value),
      () => undefined,
    );
  } else look(call, result);
  return result;
}

Object.assign(globalThis, { __enter: enter });
registerHooks({
  load(url, context, next) {
    if (!url.startsWith('file:')) return next(url, context);
    const path = fileURLToPath(url);
    const file = relative(ROOT, path).split(sep).join('/');
    if (!/^src\/.*\.ts$/.test(file) || ASKED_ALONE.test(file)) return next(url, context);
    const source = stripTypeScriptTypes(instrument(file, readFileSync(path, 'utf8')));
    return { format: 'module', source, shortCircuit: true };
  },
});
