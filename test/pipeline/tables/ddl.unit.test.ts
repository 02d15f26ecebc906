import { LAYOUTS as REFERRING } from '../../access/tables/referring-shop.ts';
import { table } from 'millrace';
import { describe, expect, it } from 'vitest';
import type { DdlOptions } from '../../../src/pipeline/tables/ddl.ts';
import { wholeDdl } from '../../../src/pipeline/tables/whole-ddl.ts';
import { type TableLayout, layoutOf } from '../../../src/pipeline/tables/layout.ts';
import type { Container, Model } from '../../../src/model/model.ts';
import { typeOfExamples } from '../../support/type-of-examples.ts';
import { namesOf } from '../../support/names-of.ts';

interface Order {
  id: string;
  storeId: string;
  customerId: string;
  lines: { sku: string }[];
}
interface Customer {
  id: string;
  storeId: string;
  region: string;
}
interface Country {
  id: string;
  name: string;
}
const at = { file: 'm.md', line: 1 };
const container = (name: string, type: string, partitionKey: string[], example: object): Container => ({
  name,
  partitionKey,
  types: [typeOfExamples(type, [{ ...example, type }], at)],
  at,
  places: {},
});
const MODEL: Model = {
  title: 'Shop',
  file: 'm.md',
  findings: [],
  containers: [
    container('Orders', 'order', ['/storeId', '/id'], {
      id: 'o',
      storeId: 's',
      customerId: 'c',
      lines: [{ sku: 'a' }],
    }),
    container('Customers', 'customer', ['/region'], { id: 'c', storeId: 's', region: 'eu' }),
    { ...container('Countries', 'country', ['/id'], { id: 'AT', name: 'Austria' }), reference: true },
  ],
};
const m = namesOf<{ Orders: { order: Order }; Customers: { customer: Customer }; Countries: { country: Country } }>();

const PIPELINE = { tenant: 'storeId', sources: [] };
const LAYOUTS: TableLayout[] = [
  table('orders', {
    from: m.Orders.order,
    into: 'orders',
    children: { lines: { into: 'order_lines', key: 'sku' } },
    references: { customer: { of: m.Customers.customer, on: { storeId: 'storeId', id: 'customerId' } } },
  }),
  table('customers', { from: m.Customers.customer, into: 'customers' }),
  table('countries', { from: m.Countries.country, into: 'countries' }),
].map((spec) => layoutOf(spec, PIPELINE, MODEL));

const ddl = (options: DdlOptions): string => wholeDdl(LAYOUTS, options).join(';\n');

describe('the statements of tables', () => {
  it('the DDL of tables has unique constraints within the tenant, and references as foreign keys where the server can', () => {
    const statements = wholeDdl(REFERRING, { citus: false });
    expect(statements.join('\n')).toContain('CONSTRAINT orders_v1_u1 UNIQUE (tenant, number)');
    expect(statements.filter((text) => text.startsWith('--'))).toEqual([
      expect.stringMatching(
        /^-- PostgreSQL 18 .* for the reference order of shipments\nDO [^;]*>= 180000 THEN\n {2}ALTER TABLE millrace\.shipments_v1 ADD CONSTRAINT shipments_v1_f1 FOREIGN KEY \(tenant, order_id\) REFERENCES millrace\.orders_v1 \(tenant, id\) NOT ENFORCED;/,
      ),
      expect.stringContaining('FOREIGN KEY (tenant, customer_id) REFERENCES millrace.customers_v1 (tenant, id)'),
    ]);
    expect(wholeDdl(REFERRING, { citus: true }).join('\n')).not.toContain('NOT ENFORCED');
  });

  it('the DDL of tables begins every key with the tenant, and has foreign keys between root and children only', () => {
    const text = ddl({ citus: false });
    const keys = [
      ...text.matchAll(/CREATE TABLE (millrace\.(?:orders|order_lines|customers)_v1\S*) \([^;]*PRIMARY KEY \((\w+)/g),
    ];
    expect(keys.map(([, name, first]) => [name, first])).toEqual([
      ['millrace.orders_v1', 'store_id'],
      ['millrace.order_lines_v1', 'store_id'],
      ['millrace.orders_v1_guards', 'tenant'],
      ['millrace.customers_v1', 'store_id'],
      // A customer may move to another store: its guard says where its rows are.
      ['millrace.customers_v1_guards', 'id'],
    ]);
    expect(text.match(/FOREIGN KEY .*/g)).toEqual([
      'FOREIGN KEY (store_id, id) REFERENCES millrace.orders_v1 (store_id, id) ON DELETE CASCADE;',
    ]);
    expect(text).toContain('CREATE INDEX ON millrace.orders_v1 (store_id, customer_id)');
    expect(text).toContain('PRIMARY KEY (store_id, id, sku)');
    expect(text).not.toContain('citus');
    expect(text).not.toContain('create_');
  });

  it('the DDL of tables distributes by the tenant, beside one another, with one type, and copies reference data to every node', () => {
    const text = ddl({ citus: true });
    expect(text.match(/SELECT create_\w+\([^;]*\)/g)).toEqual([
      "SELECT create_reference_table('millrace.contents')",
      "SELECT create_reference_table('millrace.readers')",
      "SELECT create_distributed_table('millrace.tenants', 'tenant', colocate_with => 'none')",
      "SELECT create_distributed_table('millrace.orders_v1', 'store_id', colocate_with => 'millrace.tenants')",
      "SELECT create_distributed_table('millrace.order_lines_v1', 'store_id', colocate_with => 'millrace.tenants')",
      "SELECT create_distributed_table('millrace.orders_v1_guards', 'tenant', colocate_with => 'millrace.tenants')",
      "SELECT create_distributed_table('millrace.customers_v1', 'store_id', colocate_with => 'millrace.tenants')",
      "SELECT create_distributed_table('millrace.customers_v1_guards', 'id', colocate_with => 'none')",
      "SELECT create_reference_table('millrace.countries_v1')",
      "SELECT create_reference_table('millrace.countries_v1_guards')",
    ]);
    // The foreign key stands alone, after its tables are distributed beside one another.
    expect(text.indexOf('ADD CONSTRAINT')).toBeGreaterThan(
      text.indexOf("create_distributed_table('millrace.order_lines_v1'"),
    );
    const types = [...text.matchAll(/(?:store_id|tenant) (\w+)(?: NOT NULL| PRIMARY KEY|,)/g)].map(([, type]) => type);
    expect(new Set(types)).toEqual(new Set(['text']));
  });
});
