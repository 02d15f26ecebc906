// H1: the tenant that the pipeline declares, in the document's keys, examples and queries.
import type { ContainerDetail } from '../model/documents.ts';
import { type Facts, valueAt } from '../model/rules/facts.ts';
import { type Found, type Rule, SOURCES } from '../model/rules/rule.ts';
import type { Contract } from './declared.ts';

/** All containers except those of reference data, and those that the document calls cross-tenant. */
const isOfTenants = ({ container, prose }: ContainerDetail): boolean =>
  !container.reference && !prose.some(({ text }) => /\bcross-tenant\b|跨租户/i.test(text));

function* without(facts: Facts, field: string, detail: ContainerDetail): Iterable<Found> {
  const { name, partitionKey, types } = detail.container;
  const [first] = partitionKey;
  if (first !== undefined && first !== `/${field}`)
    yield {
      message: `${name}: the first level of the key is ${first}, not /${field}`,
      at: facts.place(detail, 'partitionKey'),
    };
  for (const { name: type, examples, at } of types) {
    const lacking = examples.filter((example) => valueAt(example, field) === undefined);
    if (lacking.length > 0)
      yield {
        message: `${name}: ${lacking.length} of ${examples.length} examples of ${type} have no ${field}`,
        at: facts.example(lacking[0], at),
        hint: 'Add the field to the examples: a document without it belongs to no tenant.',
      };
  }
  for (const { row } of facts.accessesTo(detail))
    if (row.queries.some(({ equal }) => !equal.includes(field)))
      yield {
        message: `Row ${row.printed} queries ${name} without ${field}`,
        at: row.at,
        hint: 'Add the tenant to the WHERE clause: a mistake in another condition can show another tenant’s data.',
      };
}

export function tenancy({ pipeline }: Contract): Rule[] {
  return [
    {
      id: 'H1',
      title: 'The tenant that the pipeline declares is first in keys, and is in examples and queries',
      source: SOURCES.tenancy,
      why: 'Then each tenant can be read, moved, measured and deleted separately, and no query shows one tenant’s data to another. The rule runs where the pipeline declares a `tenant`. Reference data is exempt, and so is a container that the document calls cross-tenant.',
      hint: 'Use the tenant as the first level of the key.',
      *check(facts) {
        if (pipeline?.tenant === undefined) return;
        for (const detail of facts.containers) if (isOfTenants(detail)) yield* without(facts, pipeline.tenant, detail);
      },
    },
  ];
}
