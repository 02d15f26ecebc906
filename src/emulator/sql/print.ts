import type { Expr, SelectQuery, Source } from './ast.ts';

/** Writes an expression as text, with all brackets that could be needed. */
export function print(expr: Expr): string {
  switch (expr.kind) {
    case 'constant':
      return expr.value === undefined ? 'undefined' : JSON.stringify(expr.value);
    case 'param':
    case 'name':
      return expr.name;
    case 'member':
      return `${print(expr.of)}[${print(expr.key)}]`;
    case 'unary':
      return `(${expr.op} ${print(expr.of)})`;
    case 'binary':
      return `(${print(expr.left)} ${expr.op} ${print(expr.right)})`;
    case 'between':
      return `(${print(expr.of)} BETWEEN ${print(expr.low)} AND ${print(expr.high)})`;
    case 'in':
      return `(${print(expr.of)} IN (${expr.list.map(print).join(', ')}))`;
    case 'like': {
      const escape = expr.escape === undefined ? '' : ` ESCAPE ${JSON.stringify(expr.escape)}`;
      return `(${print(expr.of)} LIKE ${print(expr.pattern)}${escape})`;
    }
    case 'choice':
      return `(${print(expr.test)} ? ${print(expr.yes)} : ${print(expr.no)})`;
    case 'call':
      return `${expr.name}(${expr.args.map(print).join(', ')})`;
    case 'array':
      return `[${expr.items.map(print).join(', ')}]`;
    case 'object':
      return `{${expr.members.map(([name, value]) => `${JSON.stringify(name)}: ${print(value)}`).join(', ')}}`;
    case 'query':
      break;
  }
  return `${{ exists: 'EXISTS', array: 'ARRAY', scalar: '' }[expr.use]}(${printQuery(expr.query)})`;
}

export function printQuery(query: SelectQuery): string {
  const columns =
    query.columns === '*'
      ? '*'
      : query.columns.map(({ expr, alias }) => `${print(expr)}${alias === undefined ? '' : ` AS ${alias}`}`).join(', ');
  return [
    'SELECT',
    query.distinct && 'DISTINCT',
    query.top && `TOP ${print(query.top)}`,
    query.bare && 'VALUE',
    columns,
    query.from.length > 0 && `FROM ${query.from.map(printSource).join(' JOIN ')}`,
    query.where && `WHERE ${print(query.where)}`,
    query.groupBy && `GROUP BY ${query.groupBy.map(print).join(', ')}`,
    query.orderBy &&
      `ORDER BY ${query.orderBy.map(({ expr, descending }) => `${print(expr)} ${descending ? 'DESC' : 'ASC'}`).join(', ')}`,
    query.offset && query.limit && `OFFSET ${print(query.offset)} LIMIT ${print(query.limit)}`,
  ]
    .filter((part) => typeof part === 'string')
    .join(' ');
}

function printSource({ alias, of, each }: Source): string {
  const text = of.kind === 'select' ? `(${printQuery(of)})` : print(of);
  if (each) return `${alias} IN ${text}`;
  return alias === '' || text === alias ? text : `${text} AS ${alias}`;
}
