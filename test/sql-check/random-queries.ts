// Random queries over the schema: mostly almost right ones. Results don't depend on the order of rows, on ties, or on errors.
import { type Arbitrary, type GeneratorValue, gen, nat } from 'fast-check';

interface Table {
  readonly name: string;
  readonly columns: readonly string[];
}

const TABLES: readonly Table[] = [
  { name: 'orders', columns: ['store_id', 'order_id', 'total'] },
  { name: 'order_items', columns: ['store_id', 'order_id', 'product_id', 'quantity', 'line'] },
  { name: 'products', columns: ['store_id', 'product_id', 'price'] },
  { name: 'stores', columns: ['store_id'] },
  { name: 'visits', columns: ['store_id', 'visitor_id', 'seen'] },
  { name: 'paid_orders', columns: ['store_id', 'order_id', 'total'] },
  { name: 'order_sizes', columns: ['store', 'nr', 'size'] },
];

/** A table, or a subquery with columns of its own, in FROM. */
interface Source {
  readonly sql: string;
  readonly columns: readonly string[];
}

type Draw = GeneratorValue;

/** A query of one statement. */
export const randomQuery: Arbitrary<string> = gen().map((draw) => new Query(draw).statement());

class Query {
  readonly #draw: Draw;
  #names = 0;

  constructor(draw: Draw) {
    this.#draw = draw;
  }

  statement(): string {
    const kind = this.#int(10);
    if (kind === 0) return this.#update();
    if (kind === 1) return this.#delete();
    if (kind === 2) return this.#insert();
    return this.#select(2, [], undefined);
  }

  #int(below: number): number {
    return this.#draw(nat, { max: below - 1 });
  }

  #chance(percent: number): boolean {
    return this.#int(100) < percent;
  }

  #pick<T>(of: readonly T[]): T {
    return of[this.#int(of.length)] as T;
  }

  #name(): string {
    return `t${this.#names++}`;
  }

  /** @param outer columns of the queries around it, qualified */
  #select(depth: number, outer: readonly string[], width: number | undefined): string {
    if (depth > 0 && this.#chance(12)) {
      const count = width ?? 1 + this.#int(3);
      const operator = this.#pick(['UNION', 'UNION ALL', 'EXCEPT', 'INTERSECT']);
      return `(${this.#select(depth - 1, outer, count)}) ${operator} (${this.#select(depth - 1, outer, count)})`;
    }
    const ctes = depth > 1 && this.#chance(20) ? [this.#cte(depth)] : [];
    const { sql: from, columns } = this.#from(depth, outer, ctes);
    const where = this.#where(depth, columns, outer);
    const tail = where === '' ? '' : ` WHERE ${where}`;
    const head = ctes.map(({ definition }) => `WITH ${definition} `).join('');
    const wrap = (body: string): string => (head === '' ? body : depth < 2 ? `(${head}${body})` : `${head}${body}`);
    return wrap(this.#shape({ from, tail, columns, depth, outer, width }));
  }

  #shape(of: {
    from: string;
    tail: string;
    columns: readonly string[];
    depth: number;
    outer: readonly string[];
    width: number | undefined;
  }): string {
    const { from, tail, columns, depth, outer } = of;
    const width = of.width ?? 1 + this.#int(3);
    const some = (): string[] =>
      Array.from({ length: width }, (_, at) =>
        at === 0 && this.#chance(60) ? this.#tenantOf(columns) : this.#pick(columns),
      );
    const named = (list: readonly string[]): string => list.map((column, at) => `${column} AS c${at}`).join(', ');
    const kind = this.#int(12);
    if (kind === 0) {
      const list = Array.from({ length: width }, (_, at) => (at === 0 ? 'count(*)' : `max(${this.#pick(columns)})`));
      return `SELECT ${named(list)} FROM ${from}${tail}`;
    }
    if (kind <= 2) {
      const keys = [...new Set(some())];
      const list = Array.from(
        { length: width },
        (_, at) => keys[at] ?? this.#pick(['count(*)', `sum(${this.#pick(columns)})`, `min(${this.#pick(columns)})`]),
      );
      const having = this.#chance(30) ? ` HAVING ${this.#pick(keys)} = 1` : '';
      return `SELECT ${named(list)} FROM ${from}${tail} GROUP BY ${keys.join(', ')}${having}`;
    }
    if (kind === 3) {
      const list = some();
      const partition = this.#pick([list[0] ?? '', this.#pick(columns), this.#tenantOf(columns)]);
      list[width - 1] = `count(*) OVER (PARTITION BY ${partition})`;
      return `SELECT ${named(list)} FROM ${from}${tail}`;
    }
    if (kind === 4) return `SELECT DISTINCT ${named(some())} FROM ${from}${tail}`;
    if (kind === 5) {
      const list = some();
      return `SELECT ${named(list)} FROM ${from}${tail} ORDER BY ${list.map((_, at) => at + 1).join(', ')} LIMIT 2`;
    }
    if (kind === 6) {
      const list = some();
      const keys = list.map((_, at) => at + 1).join(', ');
      return `SELECT DISTINCT ON (1) ${named(list)} FROM ${from}${tail} ORDER BY ${keys}`;
    }
    if (kind === 7 && depth > 0) {
      const list = some();
      list[width - 1] = this.#scalar(depth - 1, [...columns, ...outer]);
      return `SELECT ${named(list)} FROM ${from}${tail}`;
    }
    return `SELECT ${named(some())} FROM ${from}${tail}`;
  }

  #scalar(depth: number, outer: readonly string[]): string {
    const { sql, columns } = this.#from(depth, outer, []);
    const where = this.#where(depth, columns, outer);
    return `(SELECT ${this.#pick(['count(*)', `max(${this.#pick(columns)})`, `sum(${this.#pick(columns)})`])} FROM ${sql}${where === '' ? '' : ` WHERE ${where}`})`;
  }

  #cte(depth: number): { definition: string; source: Source } {
    const name = this.#name();
    const width = 1 + this.#int(3);
    const columns = Array.from({ length: width }, (_, at) => `c${at}`);
    const materialized = this.#pick(['', 'MATERIALIZED ', 'NOT MATERIALIZED ']);
    if (this.#chance(25)) {
      const { sql, columns: of } = this.#from(0, [], []);
      const base = `SELECT ${columns.map((_, at) => (at === 0 ? this.#tenantOf(of) : this.#pick(of))).join(', ')} FROM ${sql}${this.#chance(60) ? ` WHERE ${this.#tenantOf(of)} = 1` : ''}`;
      const link = this.#from(0, [], []);
      const step = `SELECT ${columns.map((_, at) => (at === 0 ? this.#pick([this.#tenantOf(link.columns), `${name}.c0`]) : this.#pick(link.columns))).join(', ')} FROM ${link.sql} JOIN ${name} ON ${this.#pick([this.#tenantOf(link.columns), this.#pick(link.columns)])} = ${name}.${this.#pick(columns)}`;
      return {
        definition: `RECURSIVE ${name} (${columns.join(', ')}) AS (${base} UNION ${step})`,
        source: { sql: name, columns },
      };
    }
    return {
      definition: `${name} (${columns.join(', ')}) AS ${materialized}(${this.#select(depth - 1, [], width)})`,
      source: { sql: name, columns },
    };
  }

  #source(depth: number, outer: readonly string[], ctes: readonly { source: Source }[]): Source & { alias: string } {
    const alias = this.#name();
    if (ctes.length > 0 && this.#chance(60)) {
      const { source } = this.#pick(ctes);
      return { sql: `${source.sql} AS ${alias}`, columns: source.columns.map((column) => `${alias}.${column}`), alias };
    }
    if (depth > 0 && this.#chance(25)) {
      const width = 1 + this.#int(3);
      return {
        sql: `${outer.length > 0 ? 'LATERAL ' : ''}(${this.#select(depth - 1, outer, width)}) AS ${alias}`,
        columns: Array.from({ length: width }, (_, at) => `${alias}.c${at}`),
        alias,
      };
    }
    const table = this.#pick(TABLES);
    return { sql: `${table.name} AS ${alias}`, columns: table.columns.map((column) => `${alias}.${column}`), alias };
  }

  #from(depth: number, outer: readonly string[], ctes: readonly { source: Source }[]): Source {
    let { sql, columns } = this.#source(depth, [], ctes);
    const joins = this.#pick([0, 0, 1, 1, 2]);
    for (let at = 0; at < joins; at++) {
      const lateral = this.#chance(20);
      const kind = this.#pick(['JOIN', 'JOIN', 'LEFT JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN', ',']);
      const sees = lateral && /^(JOIN|LEFT JOIN|,)$/.test(kind);
      const right = this.#source(depth, sees ? [...columns, ...outer] : [], ctes);
      if (kind === ',') sql = `${sql} CROSS JOIN ${right.sql}`;
      else {
        const [mine, theirs] = [this.#tenantOf(columns), this.#tenantOf(right.columns)];
        const conditions = [
          ...(this.#chance(80) ? [`${mine} = ${theirs}`] : []),
          ...(this.#chance(40) && kind !== 'FULL JOIN' ? [this.#comparison([...columns, ...right.columns])] : []),
          ...(this.#chance(20) ? [`${this.#pick([mine, theirs])} = 1`] : []),
        ];
        const on =
          kind === 'FULL JOIN'
            ? conditions.filter((each) => each.includes(' = ')).join(' AND ') || `${mine} = ${theirs}`
            : conditions.join(' AND ') || 'true';
        sql = `${sql} ${kind} ${right.sql} ON ${on}`;
      }
      columns = [...columns, ...right.columns];
    }
    return { sql, columns };
  }

  #tenantOf(columns: readonly string[]): string {
    const tenants = columns.filter((column) => /\.(store_id|store|c0)$/.test(column));
    return this.#pick(tenants.length > 0 ? tenants : columns);
  }

  #comparison(columns: readonly string[]): string {
    const [left, right] = [this.#pick(columns), this.#pick(columns)];
    return this.#pick([
      `${left} = ${right}`,
      `${left} > ${this.#int(6)}`,
      `${left} <> ${right}`,
      `${left} IS NULL`,
      `${left} = ${this.#int(4)}`,
      `${left} <= ${right}`,
    ]);
  }

  #where(depth: number, columns: readonly string[], outer: readonly string[]): string {
    const tenant = (): string => this.#tenantOf(columns);
    const parts: string[] = [];
    if (this.#chance(55)) parts.push(`${tenant()} = 1`);
    if (outer.length > 0 && this.#chance(70)) parts.push(`${tenant()} = ${this.#tenantOf(outer)}`);
    if (this.#chance(30)) parts.push(this.#comparison([...columns, ...outer]));
    if (this.#chance(20)) parts.push(this.#odd(tenant(), columns));
    if (depth > 0 && this.#chance(25)) parts.push(this.#subquery(depth, columns, outer));
    return parts.join(this.#chance(88) ? ' AND ' : ' OR ');
  }

  /** Conditions that look like the right one. */
  #odd(tenant: string, columns: readonly string[]): string {
    const other = this.#comparison(columns);
    return this.#pick([
      `${tenant} IN (1)`,
      `${tenant} IN (1, 2)`,
      `(${tenant} = 1 OR ${other})`,
      `(${tenant} = 1 AND ${other} OR ${tenant} = 1)`,
      `(${tenant} = 1 OR ${tenant} = 2)`,
      `NOT (${tenant} <> 1)`,
      `NOT (${tenant} = 1 AND ${other})`,
      `NOT (${tenant} <> 1 OR ${other})`,
      `(${tenant} = 1) IS TRUE`,
      `(${tenant} = 1) IS NOT FALSE`,
      `${tenant} = ANY (ARRAY[1])`,
      `${tenant} BETWEEN 1 AND 1`,
      `${tenant} IS NOT NULL`,
      `(${tenant}, ${this.#pick(columns)}) = (1, 2)`,
      `coalesce(${tenant}, 1) = 1`,
      `${tenant} = $1`,
      `${tenant}::int = 1`,
      `${tenant} IS NOT DISTINCT FROM 1`,
      `CASE WHEN ${other} THEN ${tenant} = 1 ELSE true END`,
      `${tenant} + 0 = 1`,
      `false`,
    ]);
  }

  #subquery(depth: number, columns: readonly string[], outer: readonly string[]): string {
    const kind = this.#int(6);
    const not = this.#chance(35) ? 'NOT ' : '';
    if (kind <= 1) return `${not}EXISTS (${this.#select(depth - 1, [...columns, ...outer], undefined)})`;
    if (kind === 2) return `${this.#tenantOf(columns)} ${not}IN (${this.#select(depth - 1, [], 1)})`;
    if (kind === 3)
      return `(${this.#tenantOf(columns)}, ${this.#pick(columns)}) ${not}IN (${this.#select(depth - 1, this.#chance(50) ? columns : [], 2)})`;
    if (kind === 4)
      return `${this.#pick([this.#tenantOf(columns), this.#pick(columns)])} = ${this.#scalar(depth - 1, [...columns, ...outer])}`;
    return `(${this.#tenantOf(columns)} ${not}IN (${this.#select(depth - 1, [], 1)}) OR ${this.#comparison(columns)})`;
  }

  #update(): string {
    const from = this.#chance(50) ? this.#source(1, [], []) : undefined;
    const columns = ['orders.store_id', 'orders.order_id', 'orders.total', ...(from?.columns ?? [])];
    const link = from && this.#chance(80) ? [`orders.store_id = ${this.#tenantOf(from.columns)}`] : [];
    const conditions = [...link, this.#where(1, columns, [])].filter((each) => each !== '').map((each) => `(${each})`);
    const set = this.#pick(['total = 7', 'total = orders.order_id', 'store_id = orders.store_id, total = 1']);
    return `UPDATE orders SET ${set}${from ? ` FROM ${from.sql}` : ''}${conditions.length > 0 ? ` WHERE ${conditions.join(' AND ')}` : ''}`;
  }

  #delete(): string {
    const using = this.#chance(50) ? this.#source(1, [], []) : undefined;
    const columns = ['order_items.store_id', 'order_items.order_id', 'order_items.line', ...(using?.columns ?? [])];
    const link = using && this.#chance(80) ? [`order_items.store_id = ${this.#tenantOf(using.columns)}`] : [];
    const conditions = [...link, this.#where(1, columns, [])].filter((each) => each !== '').map((each) => `(${each})`);
    return `DELETE FROM order_items${using ? ` USING ${using.sql}` : ''}${conditions.length > 0 ? ` WHERE ${conditions.join(' AND ')}` : ''}${this.#chance(50) ? ' RETURNING order_items.order_id' : ''}`;
  }

  #insert(): string {
    const columns = 'store_id, order_id, line, product_id, quantity';
    if (this.#chance(30)) {
      const row = (): string => `(${this.#pick([1, 1, 1, 2])}, ${500 + this.#int(99)}, ${500 + this.#int(99)}, 1, 1)`;
      return `INSERT INTO order_items (${columns}) VALUES ${this.#chance(50) ? row() : `${row()}, ${row()}`} ON CONFLICT DO NOTHING`;
    }
    const { sql, columns: of } = this.#from(1, [], []);
    const where = this.#where(1, of, []);
    const tenant = this.#pick([this.#tenantOf(of), '1', '2', this.#pick(of)]);
    return `INSERT INTO order_items (${columns}) SELECT DISTINCT ${tenant}, ${this.#pick(of)} + 500, 500, 1, 1 FROM ${sql} WHERE ${this.#pick(of)} IS NOT NULL${where === '' ? '' : ` AND (${where})`} ON CONFLICT DO NOTHING`;
  }
}
