import { z } from 'zod';
import { near } from '../../base/near.ts';
import { type Operation, operationName } from '../../verbs/operation.ts';
import type { Registry } from '../../verbs/registry.ts';
import { operationsError } from '../../procedures/errors.ts';
import { sharedError } from '../../base/shared-errors.ts';

/**
 * The verbs that an assistant gets, with the fields that it doesn't get: they write a file, never end, change only what a
 * person sees, or name a file or a folder: these verbs run the folder's pipeline.ts, and a server is started for one. Fields
 * with which a verb changes something are left out too. A new verb is no tool until it is named here.
 */
const VERBS: Readonly<Record<string, readonly string[]>> = {
  'model review': ['directory'],
  'model check': ['directory', 'fix', 'sample', 'unchecked'],
  'model prove': ['directory'],
  'model cost': ['directory'],
  plan: [],
  status: ['watch', 'serve'],
  doctor: [],
  trace: [],
  'projections list': [],
  'projections show': [],
  'dead-letters list': [],
  'dead-letters show': [],
  'leases list': [],
  'archive list': [],
  'tenants list': [],
  'shards list': [],
  'shards show': [],
  'shards moves': [],
};

/** An operation as a tool of the Model Context Protocol. */
export interface Tool {
  readonly name: string;
  readonly operation: Operation;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly inputSchema: { readonly type: 'object' } & Readonly<Record<string, unknown>>;
}

/** The tools of a registry. Only verbs with the effect `reads` are among them. */
export const toolsOf = (registry: Registry): Tool[] =>
  registry.all().flatMap((operation) => {
    const name = operationName(operation);
    const without = VERBS[name];
    if (!without || operation.effect !== 'reads') return [];
    const changing = Object.keys(operation.effects ?? {});
    const fields = Object.entries(operation.input.shape).filter(
      ([field]) => !without.includes(field) && !changing.includes(field),
    );
    const { $schema: _, ...schema } = z.toJSONSchema(z.strictObject(Object.fromEntries(fields)), {
      io: 'input',
      unrepresentable: 'any',
    });
    return {
      name: name.replaceAll(/[ -]/g, '_'),
      operation,
      description: `${operation.summary}. The same as \`millrace ${name} --json\`.`,
      inputSchema: { ...schema, type: 'object' as const },
    };
  });

/** @throws UsageError `not-found` */
export function toolNamed(tools: readonly Tool[], name: string): Tool {
  const found = tools.find((tool) => tool.name === name);
  if (found) return found;
  const names = tools.map((tool) => tool.name);
  throw sharedError('not-found', `There is no tool ${name}${meant(name, names)}`, {
    hint: `Use one of: ${names.join(', ')}.`,
  });
}

/** @throws UsageError `input-invalid`: a field that is ignored would be an answer to another question */
export function refuseUnknown({ name, inputSchema }: Tool, input: object): void {
  const known = Object.keys(inputSchema['properties'] ?? {});
  const unknown = Object.keys(input).find((field) => !known.includes(field));
  if (unknown === undefined) return;
  throw operationsError('input-invalid', `${name} has no field ${unknown}${meant(unknown, known)}`, {
    hint: known.length === 0 ? 'Remove it: the tool has no fields.' : `Use one of: ${known.join(', ')}.`,
  });
}

function meant(name: string, known: readonly string[]): string {
  const best = near(name, known);
  return best === undefined ? '' : `: did you mean ${best}?`;
}
