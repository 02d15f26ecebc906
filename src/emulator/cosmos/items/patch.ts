import { forgetDigits } from '../wire/exact-json.ts';
import { define } from '../../sql/values.ts';
import { badRequest } from '../wire/wire.ts';
import type { WireDoc } from '../wire/wire.ts';

const MAX_OPERATIONS = 10;
const SYSTEM = new Set(['_rid', '_self', '_etag', '_ts', '_attachments', '_lsn']);

interface PatchOperation {
  readonly op: string;
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

export interface PatchRequest {
  readonly operations: readonly PatchOperation[];
  /** `from c where …`: the condition for the patch. */
  readonly condition?: string;
}

/** Reads a patch body, which is an array of operations or an object with `operations`. */
export function parsePatch(body: unknown): PatchRequest {
  const whole = Array.isArray(body)
    ? { operations: body as unknown[] }
    : (body as { operations?: unknown; condition?: unknown });
  const operations: unknown = whole?.operations;
  if (!Array.isArray(operations) || operations.length === 0) {
    throw badRequest('The patch request body must hold an array of operations that is not empty.');
  }
  if (operations.length > MAX_OPERATIONS) {
    throw badRequest(`The number of patch operations can't exceed '${MAX_OPERATIONS}'.`);
  }
  const condition = 'condition' in whole ? whole.condition : undefined;
  if (condition !== undefined && typeof condition !== 'string') throw badRequest('The patch condition must be text.');
  return { operations: operations as PatchOperation[], ...(condition === undefined ? {} : { condition }) };
}

/** Applies the operations to `doc`, which belongs to the caller. `keyPaths` may not be touched. */
export function applyPatch(doc: WireDoc, operations: readonly PatchOperation[], keyPaths: readonly string[]): void {
  operations.forEach((operation, i) => {
    const fail = (why: string): never => {
      throw badRequest(`For Operation(${i + 1}): ${why}`);
    };
    if (typeof operation !== 'object' || operation === null) fail('it is not an object.');
    const path = steps(operation.path, fail);
    guard(path, keyPaths, fail);
    if (operation.op === 'move') {
      const from = steps(operation.from, fail);
      guard(from, keyPaths, fail);
      if (path.length > from.length && from.every((step, at) => step === path[at])) {
        fail("The 'path' of a move can't be a child of its 'from'.");
      }
      const value = remove(doc, from, fail);
      write(doc, path, value, 'add', fail);
      return;
    }
    if (operation.op === 'remove') {
      remove(doc, path, fail);
      return;
    }
    const { value } = operation;
    if (operation.op === 'incr') increment(doc, path, value, fail);
    else if (operation.op === 'add' || operation.op === 'set' || operation.op === 'replace') {
      if (value === undefined) fail(`The '${operation.op}' operation needs a value.`);
      write(doc, path, value, operation.op, fail);
    } else fail(`Unknown operation type ${JSON.stringify(operation.op)}.`);
  });
}

type Fail = (why: string) => never;

function steps(path: unknown, fail: Fail): string[] {
  if (typeof path !== 'string' || !path.startsWith('/') || path.length < 2) {
    return fail(`The path ${JSON.stringify(path)} must start with '/' and name something.`);
  }
  return path
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function guard(path: readonly string[], keyPaths: readonly string[], fail: Fail): void {
  const whole = `/${path.join('/')}`;
  if (path.length === 1 && (path[0] === 'id' || SYSTEM.has(path[0]!)))
    fail(`Can't patch the system property '${whole}'.`);
  if (keyPaths.some((key) => key === whole || key.startsWith(`${whole}/`))) {
    fail(`The partition key '${whole}' can't be patched.`);
  }
}

type Parent = WireDoc | unknown[];

function parentOf(doc: WireDoc, path: readonly string[], fail: Fail): Parent {
  let value: unknown = doc;
  for (const step of path.slice(0, -1)) {
    value = Array.isArray(value)
      ? value[index(step, value.length - 1, fail)]
      : typeof value === 'object' && value !== null && Object.hasOwn(value, step)
        ? (value as WireDoc)[step]
        : undefined;
    if (typeof value !== 'object' || value === null) fail(`The parent of '/${path.join('/')}' doesn't exist.`);
  }
  return value as Parent;
}

function index(step: string, last: number, fail: Fail): number {
  if (!/^(0|[1-9]\d*)$/.test(step) || Number(step) > last) fail(`'${step}' is not an index of the array.`);
  return Number(step);
}

function write(doc: WireDoc, path: readonly string[], value: unknown, op: 'add' | 'set' | 'replace', fail: Fail): void {
  const parent = parentOf(doc, path, fail);
  const name = path.at(-1)!;
  forgetDigits(parent, name);
  if (!Array.isArray(parent)) {
    if (op === 'replace' && !Object.hasOwn(parent, name))
      fail(`Replace can only replace an existing path ('${name}').`);
    define(parent, name, value);
  } else if (name === '-' && op !== 'replace') parent.push(value);
  else if (op === 'add') parent.splice(index(name, parent.length, fail), 0, value);
  else parent[index(name, parent.length - 1, fail)] = value;
}

function remove(doc: WireDoc, path: readonly string[], fail: Fail): unknown {
  const parent = parentOf(doc, path, fail);
  const name = path.at(-1)!;
  forgetDigits(parent, name);
  if (Array.isArray(parent)) return parent.splice(index(name, parent.length - 1, fail), 1)[0];
  if (!Object.hasOwn(parent, name)) fail(`Remove can only remove an existing path ('${name}').`);
  const value = parent[name];
  delete parent[name];
  return value;
}

function increment(doc: WireDoc, path: readonly string[], by: unknown, fail: Fail): void {
  if (typeof by !== 'number') return fail("The value of 'incr' must be a number.");
  const parent = parentOf(doc, path, fail) as WireDoc;
  const name = Array.isArray(parent) ? String(index(path.at(-1)!, parent.length - 1, fail)) : path.at(-1)!;
  const before = Object.hasOwn(parent, name) ? parent[name] : 0;
  if (typeof before !== 'number') return fail("'incr' needs a number at its path.");
  forgetDigits(parent, name);
  define(parent, name, before + by);
}
