import { z } from 'zod';
import { near } from '../../base/near.ts';
import { type Operation, operationName } from '../../verbs/operation.ts';
import type { Registry } from '../../verbs/registry.ts';

/** Nouns of the operations that make sense in a running app; the others work on the machine of the person who types them. */
const NOUNS = new Set(['archive', 'checkpoints', 'dead-letters', 'jobs', 'leases', 'projections', 'shards', 'tenants']);
const BARE = new Set(['audit', 'doctor', 'migrate', 'plan', 'status', 'trace']);
/** Operations that don't end, and would block the request. */
const NEVER = new Set(['jobs work']);
const NAMES_A_FILE = /(^|[a-z])(file|folder|directory|path|html)$|^out$/i;

/** Fields that name settings or a file of the machine. Over HTTP an operation doesn't have them. */
const OF_THE_MACHINE = /(^env|Env|^input)$/;
/** Elsewhere `map` is a shard map. */
const isOfTheMachine = (operation: Operation, field: string): boolean =>
  OF_THE_MACHINE.test(field) || (field === 'map' && operationName(operation) === 'projections verify');

/**
 * The operations that HTTP offers: those of these nouns that touch no file of the machine, without their fields that name
 * settings or a file of the machine.
 */
export const offered = (registry: Registry): Operation[] =>
  registry
    .all()
    .filter((operation) => {
      const [first = '', ...more] = operationName(operation).split(' ');
      const known = (more.length === 0 ? BARE : NOUNS).has(first);
      const files = Object.keys(operation.input.shape).some((field) => NAMES_A_FILE.test(field));
      return known && !files && !NEVER.has(operationName(operation));
    })
    .map(withoutSettings);

function withoutSettings(operation: Operation): Operation {
  const fields = Object.entries(operation.input.shape);
  const asked = fields.filter(([field]) => !isOfTheMachine(operation, field));
  return asked.length === fields.length ? operation : { ...operation, input: z.object(Object.fromEntries(asked)) };
}

/** The operation of these words, or the most similar name. */
export function find(
  operations: readonly Operation[],
  path: readonly string[],
): { readonly operation: Operation } | { readonly near: string | undefined } {
  const wanted = path.join(' ');
  const operation = operations.find((each) => operationName(each) === wanted);
  return operation ? { operation } : { near: near(wanted, operations.map(operationName)) };
}
