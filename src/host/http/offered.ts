import { z } from 'zod';
import { near } from '../../base/near.ts';
import { type Operation, operationName } from '../../operations/operation.ts';
import type { Registry } from '../../operations/registry.ts';

/** Nouns of what can be asked of a running app; the others build, start or command something on the machine they are typed at. */
const NOUNS = new Set([
  'archive',
  'audit',
  'checkpoints',
  'containers',
  'dead-letters',
  'jobs',
  'leases',
  'projections',
  'shards',
]);
const BARE = new Set(['status', 'doctor', 'plan']);
/** They hold whoever runs them for as long as they live. */
const NEVER = new Set(['jobs work']);
const NAMES_A_FILE = /(^|[a-z])(file|folder|directory|path|html|sarif)$/i;

/** Settings of the machine it runs on, which a caller has no business with; the operation goes without. */
const NAMES_SETTINGS = /(^env|Env)$/;

/**
 * Operations that go over HTTP: of these nouns, touching no file of the machine they run on, and without fields that
 * name settings of that machine.
 */
export const offered = (registry: Registry): Operation[] =>
  registry
    .all()
    .filter((operation) => {
      const known = operation.noun === undefined ? BARE.has(operation.verb) : NOUNS.has(operation.noun);
      const files = Object.keys(operation.input.shape).some((field) => NAMES_A_FILE.test(field));
      return known && !files && !NEVER.has(operationName(operation));
    })
    .map(withoutSettings);

function withoutSettings(operation: Operation): Operation {
  const fields = Object.entries(operation.input.shape);
  const asked = fields.filter(([field]) => !NAMES_SETTINGS.test(field));
  return asked.length === fields.length ? operation : { ...operation, input: z.object(Object.fromEntries(asked)) };
}

/** The operation at `noun/verb`, or the name nearest to it. */
export function find(
  operations: readonly Operation[],
  path: readonly string[],
): { readonly operation: Operation } | { readonly near: string | undefined } {
  const wanted = path.join(' ');
  const operation = operations.find((each) => operationName(each) === wanted);
  return operation ? { operation } : { near: near(wanted, operations.map(operationName)) };
}
