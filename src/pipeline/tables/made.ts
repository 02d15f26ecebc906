// What a content of a projection has in the database. It is stored there, because later declarations have other tables.
import { type Content, guardsName, tableName } from './ddl.ts';

export interface MadeTable {
  /** With its schema. */
  readonly name: string;
  /** The primary key. */
  readonly keys: readonly string[];
  /** Columns that name a tenant. Empty: reference data. */
  readonly tenants: readonly string[];
}

export interface Made {
  /** Children first, then the root, then the guards: the order in which they are removed. */
  readonly tables: readonly MadeTable[];
  /** The type of the tenants' columns. Absent: reference data. */
  readonly tenantType?: string;
}

export function madeOf(of: Content): Made {
  const { layout, content } = of;
  const { tenant, movable } = layout;
  const keys = layout.identity.map(({ name }) => name);
  const tenants = tenant ? [tenant.name] : [];
  const own = tenant ? ['tenant'] : [];
  return {
    tables: [
      ...layout.children.map(({ name, key }) => ({ name: tableName(name, content), keys: [...keys, key], tenants })),
      { name: tableName(layout.name, content), keys, tenants },
      {
        name: guardsName(of),
        keys: [...(movable ? [] : own), 'id'],
        tenants: movable ? [...own, 'was'] : own,
      },
    ],
    ...(tenant && { tenantType: tenant.type }),
  };
}
