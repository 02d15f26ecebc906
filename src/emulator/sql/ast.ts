/** Expressions; `at` is the place in the text, for error messages. */
export type Expr =
  | { readonly kind: 'constant'; readonly value: unknown }
  | { readonly kind: 'param'; readonly name: string; readonly at: number }
  | { readonly kind: 'name'; readonly name: string; readonly at: number }
  | { readonly kind: 'member'; readonly of: Expr; readonly key: Expr }
  | { readonly kind: 'unary'; readonly op: string; readonly of: Expr }
  | { readonly kind: 'binary'; readonly op: string; readonly left: Expr; readonly right: Expr }
  | { readonly kind: 'between'; readonly of: Expr; readonly low: Expr; readonly high: Expr }
  | { readonly kind: 'in'; readonly of: Expr; readonly list: readonly Expr[] }
  | { readonly kind: 'like'; readonly of: Expr; readonly pattern: Expr; readonly escape?: string }
  | { readonly kind: 'choice'; readonly test: Expr; readonly yes: Expr; readonly no: Expr }
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly Expr[]; readonly at: number }
  | { readonly kind: 'array'; readonly items: readonly Expr[] }
  | { readonly kind: 'object'; readonly members: readonly (readonly [string, Expr])[] }
  | { readonly kind: 'query'; readonly use: 'exists' | 'array' | 'scalar'; readonly query: SelectQuery };

export interface Source {
  /** The name of the source's rows; empty if the source has none. */
  readonly alias: string;
  readonly of: Expr | SelectQuery;
  /** `x IN path`: one row per element of the array. */
  readonly each: boolean;
}

export interface SelectColumn {
  readonly expr: Expr;
  readonly alias?: string;
}

export interface SelectQuery {
  readonly kind: 'select';
  readonly distinct: boolean;
  readonly top?: Expr;
  /** `SELECT VALUE`. */
  readonly bare: boolean;
  readonly columns: '*' | readonly SelectColumn[];
  readonly from: readonly Source[];
  readonly where?: Expr;
  readonly groupBy?: readonly Expr[];
  readonly orderBy?: readonly { readonly expr: Expr; readonly descending: boolean }[];
  readonly offset?: Expr;
  readonly limit?: Expr;
}

/** The parts of an expression; none for a subquery, which has its own scope. */
export function queryPartsOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'member':
      return [expr.of, expr.key];
    case 'unary':
      return [expr.of];
    case 'binary':
      return [expr.left, expr.right];
    case 'between':
      return [expr.of, expr.low, expr.high];
    case 'in':
      return [expr.of, ...expr.list];
    case 'like':
      return [expr.of, expr.pattern];
    case 'choice':
      return [expr.test, expr.yes, expr.no];
    case 'call':
      return expr.args;
    case 'array':
      return expr.items;
    case 'object':
      return expr.members.map(([, value]) => value);
    case 'constant':
    case 'param':
    case 'name':
    case 'query':
      break;
  }
  return [];
}
