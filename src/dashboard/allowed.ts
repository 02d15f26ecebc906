import { isObject } from '../base/json.ts';
import { type VerbEffect, type Operation, effectOf, operationName } from '../verbs/operation.ts';
import { dashboardError } from './errors.ts';

/**
 * What the pages run: each operation with the fields that they fill in. A field that isn't named here, such as one that
 * names a file of the machine, is refused. The registry may lack operations; their pages say so.
 */
const PAGES_RUN: Readonly<Record<string, readonly string[]>> = {
  status: [],
  trace: ['container', 'key', 'id', 'shard'],
  'dead-letters list': ['only', 'code', 'each', 'since', 'tenant', 'shard'],
  'dead-letters redrive': ['id', 'only', 'code', 'key', 'since', 'tenant', 'shard'],
  'dead-letters discard': ['id', 'only', 'code', 'key', 'since', 'tenant', 'reason', 'shard'],
  'projections list': ['shard'],
  'projections show': ['name'],
  'projections rebuild': ['name'],
  'projections promote': ['name', 'keep', 'back', 'evenParked'],
  'projections pause': ['name', 'reason'],
  'projections resume': ['name'],
  'projections verify': ['name', 'against', 'repair', 'shard'],
  'leases list': ['shard'],
  'leases rewind': ['container', 'to'],
  'jobs list': ['limit'],
  audit: ['most'],
  'archive list': ['name'],
  'archive restore': ['name', 'tenant', 'from', 'to', 'shard'],
  'tenants list': ['container', 'most'],
  'shards list': [],
  'shards moves': ['map'],
  'model check': [],
  'model cost': [],
};

export type Allowed = ReadonlyMap<string, { readonly operation: Operation; readonly fields: readonly string[] }>;

/** Of the registered operations those that pages run. */
export const allowedOf = (operations: readonly Operation[]): Allowed =>
  new Map(
    operations.flatMap((operation) => {
      const name = operationName(operation);
      const fields = PAGES_RUN[name];
      return fields ? [[name, { operation, fields }]] : [];
    }),
  );

/** What a page asks for. */
export interface AskedOperation {
  readonly name: string;
  readonly operation: Operation;
  readonly effect: VerbEffect;
  readonly input: Readonly<Record<string, unknown>>;
  readonly dryRun: boolean;
  readonly yes: boolean;
  /** Names the press of a button: a second request with it is the same press. */
  readonly once: string | undefined;
}

/** @throws UsageError `request-malformed` */
export function askedOf(allowed: Allowed, name: string, body: unknown): AskedOperation {
  const found = allowed.get(name);
  if (!found) throw dashboardError('request-malformed', `No page of the dashboard runs ${JSON.stringify(name)}`);
  const { input = {}, dryRun = false, yes = false, once, ...rest } = isObject(body) ? body : { unknown: body };
  const unknown = [...Object.keys(rest), ...(isObject(input) ? Object.keys(input) : ['input'])].find(
    (field) => !isObject(input) || !found.fields.includes(field),
  );
  if (unknown !== undefined || !isObject(input))
    throw dashboardError('request-malformed', `No page of the dashboard gives ${name} the field ${unknown}`);
  if (typeof dryRun !== 'boolean' || typeof yes !== 'boolean' || !(once === undefined || isPress(once)))
    throw dashboardError('request-malformed', `The request for ${name} has a field of another type`);
  const { operation } = found;
  const effect = effectOf(operation, input);
  if (effect !== 'reads' && !dryRun && once === undefined)
    throw dashboardError('request-malformed', `${name} changes something, and the request names no press of a button`);
  return { name, operation, effect, input, dryRun, yes, once };
}

const isPress = (once: unknown): once is string => typeof once === 'string' && /^[\w-]{8,64}$/.test(once);
