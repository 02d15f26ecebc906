// H: tenants, in containers and in relational copies.
import type { Place } from '../model.ts';
import { type Facts, valueAt } from './facts.ts';
import type { SqlTable } from './relational.ts';
import { type Rule, type RuleResult, SOURCES, missing, n } from './rule.ts';

const noTenant = missing('a tenant field (a bullet "Tenancy", or a key that is described as the tenant)');
const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Runs only if the documents name a tenant field; in SQL `tenantId` is also `tenant_id`. */
function* tenants(
  facts: Facts,
  rule: (field: string, is: (column: string) => boolean, at: Place) => Iterable<RuleResult>,
): Iterable<RuleResult> {
  const { tenant } = facts;
  if (!tenant) {
    yield noTenant;
    return;
  }
  yield* rule(tenant.field, (column) => column === tenant.field || column === snake(tenant.field), tenant.at);
}

/** All containers except those of reference data, and those that the document calls cross-tenant. */
const tenanted = (facts: Facts) =>
  facts.containers.filter(
    ({ container, prose }) => !container.reference && !prose.some(({ text }) => /\bcross-tenant\b|跨租户/i.test(text)),
  );
const lacksKey = ({ keys }: SqlTable, is: (column: string) => boolean) =>
  keys.filter(({ columns }) => !columns.some(is));

export const TENANCY: readonly Rule[] = [
  {
    id: 'H1',
    title: 'The tenant is the first level of every key',
    severity: 'error',
    source: SOURCES.tenancy,
    why: 'Then each tenant can be read, moved, measured and deleted separately. In a relational copy the tenant is the distribution column.',
    hint: 'Use the tenant as the first level of the key. Reference data is exempt.',
    check: (facts) =>
      tenants(facts, function* (field, is) {
        for (const detail of tenanted(facts)) {
          const { name, partitionKey } = detail.container;
          if (partitionKey.length > 0 && partitionKey[0] !== `/${field}`)
            yield {
              message: `${name}: the first level of the key is ${partitionKey[0] ?? ''}, not /${field}`,
              at: facts.place(detail, 'partitionKey'),
            };
        }
        for (const { name, distribution, at } of facts.relational.tables) {
          if (distribution !== undefined && !is(distribution))
            yield { message: `Table ${name} is distributed by ${distribution}, not by the tenant`, at };
        }
      }),
  },
  {
    id: 'H2',
    title: 'Every document has the tenant field, except reference data',
    severity: 'error',
    source: SOURCES.tenancy,
    why: 'A document without the field belongs to no tenant.',
    hint: 'Add the field to the examples.',
    check: (facts) =>
      tenants(facts, function* (field, is) {
        for (const { container } of tenanted(facts)) {
          for (const { name, examples, at } of container.types) {
            const without = examples.filter((example) => valueAt(example, field) === undefined);
            const lacking = without.length;
            if (lacking > 0)
              yield {
                message: `${container.name}: ${lacking} of ${examples.length} examples of ${name} have no ${field}`,
                at: facts.example(without[0], at),
              };
          }
        }
        for (const { name, columns, reference, at } of facts.relational.tables) {
          if (!reference && !columns.some(is)) yield { message: `Table ${name} has no tenant column`, at };
        }
      }),
  },
  {
    id: 'H3',
    title: 'Reference data needs no tenant, and is rarely written',
    severity: 'information',
    source: SOURCES.tenancy,
    why: 'Data that all tenants share is copied to each of them, so every write costs many. The rule reports reference data with 10 or more writes a second.',
    hint: 'Add the tenant to the data, or write it less often.',
    check: (facts) =>
      tenants(facts, function* () {
        for (const detail of facts.containers.filter(({ container }) => container.reference)) {
          const writes = facts.writesTo(detail);
          if (writes >= 10)
            yield {
              message: `${detail.container.name} is reference data, but is written ${n(writes)} times a second`,
              at: facts.place(detail),
            };
        }
      }),
  },
  {
    id: 'H4',
    title: 'Primary, unique and foreign keys include the tenant',
    severity: 'error',
    source: SOURCES.tenancy,
    why: 'The database can’t enforce a key over all tenants if they are stored separately. Cosmos DB enforces unique keys within one partition key value; there the rule warns if the partition key has no tenant.',
    hint: 'Make the keys composite, with the tenant first. Reference tables are exempt.',
    check: (facts) =>
      tenants(facts, function* (field, is) {
        const tables = facts.relational.tables;
        const unique = tenanted(facts).filter(({ container }) => container.uniqueKeys);
        if (tables.length + unique.length === 0) {
          yield missing('unique keys or a relational copy (SQL)');
          return;
        }
        for (const detail of unique) {
          if (!detail.container.partitionKey.includes(`/${field}`))
            yield {
              severity: 'warning',
              message: `${detail.container.name}: its unique keys hold within a partition key that has no ${field}`,
              at: facts.place(detail, 'uniqueKeys'),
            };
        }
        for (const table of tables.filter(({ reference }) => !reference)) {
          for (const { kind, columns, to } of lacksKey(table, is)) {
            // Every node has the rows of a reference table.
            if (tables.some(({ name, reference }) => reference && name === to)) continue;
            yield { message: `Table ${table.name}: ${kind} (${columns.join(', ')}) lacks the tenant`, at: table.at };
          }
        }
      }),
  },
  {
    id: 'H5',
    title: 'Every query filters by the tenant',
    severity: 'error',
    source: SOURCES.tenancy,
    why: 'This applies even if another filter is unique. Without the tenant the query reads every partition, and a mistake can show another tenant’s data.',
    hint: 'Add the tenant to the WHERE clause.',
    check: (facts) =>
      tenants(facts, function* (field) {
        const asked = facts.accesses
          .filter(({ detail }) => !detail.container.reference)
          .flatMap(({ row, detail }) => row.queries.map((query) => ({ row, detail, query })));
        if (asked.length === 0) {
          yield missing('a query in the mapping');
          return;
        }
        for (const { row, detail, query } of asked) {
          if (!query.equal.includes(field))
            yield { message: `Row ${row.printed} queries ${detail.container.name} without ${field}`, at: row.at };
        }
      }),
  },
  {
    id: 'H6',
    title: 'Joins compare the tenant on both sides',
    severity: 'error',
    source: SOURCES.tenancy,
    why: 'Only then a join can run on the node that stores the tenant, where the tables are colocated.',
    hint: 'Add `AND a.tenant_id = b.tenant_id`.',
    check: (facts) =>
      tenants(facts, function* (_field, is) {
        const joins = facts.relational.joins;
        if (joins.length === 0) {
          yield missing('a join of a relational copy (SQL)');
          return;
        }
        const reference = facts.relational.tables.filter((table) => table.reference).map(({ name }) => name);
        for (const { text, tables, equal, at } of joins) {
          if (!equal.some(is) && !tables.some((name) => reference.includes(name)))
            yield { message: `This join doesn't compare the tenant: ${text}`, at };
        }
      }),
  },
  {
    id: 'H7',
    title: 'A tenant column that is added later is filled for old rows',
    severity: 'warning',
    source: SOURCES.tenancy,
    why: 'Rows that existed before have no tenant.',
    hint: 'Describe how old rows get the tenant, such as a backfill before the column becomes mandatory.',
    check: (facts) =>
      tenants(facts, function* (_field, is) {
        const added = facts.relational.added.filter(({ column }) => is(column));
        const migrated = facts.prose.filter(({ text }) => /add(s|ed|ing)? (the |a )?tenant/i.test(text));
        if (added.length + migrated.length === 0) {
          yield missing('a tenant that is added later');
          return;
        }
        const filled = facts.prose.some(
          ({ text, section }) =>
            section !== 'projections' && /backfill|fill(s|ed)? (in )?(the )?(missing|old)|回填/i.test(text),
        );
        if (filled) return;
        const written = facts.relational.updated.filter(({ columns }) => columns.some(is));
        const open = added.filter(({ table }) => !written.some((one) => one.table === table));
        for (const { table, at } of open)
          yield { message: `Table ${table} gets a tenant column, but no step fills it for old rows`, at };
        if (written.length > 0) return;
        for (const { at } of migrated)
          yield { message: 'The tenant is added, but no step fills it for old documents', at };
      }),
  },
  {
    id: 'H8',
    title: 'A projection never mixes tenants',
    severity: 'error',
    source: SOURCES.ours,
    why: 'A group or document of several tenants shows data of one tenant to another, and can’t be moved with one of them. If it is intended, the pattern says "cross-tenant".',
    hint: 'Add the tenant to the key mapping. Or write "cross-tenant" into the pattern.',
    check: (facts) =>
      tenants(facts, function* (field) {
        if (facts.rows.length === 0) {
          yield missing('projections (section "Change Feed Projections")');
          return;
        }
        for (const row of facts.rows) {
          const reference = facts.detail(row.source?.container)?.container.reference ?? false;
          const meant = row.serves.some((id) =>
            /cross[- ]tenant|all (tenants|stores)|跨租户/i.test(
              Object.values(facts.pattern(id)?.cells ?? {}).join(' '),
            ),
          );
          if (!row.keys.includes(field) && !reference && !meant && row.sinkText !== '')
            yield {
              message: `${row.name} groups by ${row.keys.join(', ') || 'no field'}, without ${field}`,
              at: row.at,
            };
        }
      }),
  },
];
