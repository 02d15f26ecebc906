import { isAggregate } from './aggregate.ts';
import type { Aggregate } from './aggregate.ts';
import type { SelectColumn, Expr, SelectQuery } from './ast.ts';
import { FUNCTIONS } from './functions.ts';
import { isLike, likePattern } from './like.ts';
import type { LikePattern } from './like.ts';
import { lastName } from './parse.ts';
import type { Eval, Scope } from './scope.ts';
import { inner } from './scope.ts';
import { SqlError } from './tokens.ts';
import { compares, define, differs, equals, member, rank } from './values.ts';

/** The cost of calling a function, of reading a field, and of evaluating one part of an expression. */
const CALL_STEPS = 150;
const MEMBER_STEPS = 60;
const PART_STEPS = 15;
/** The cost of beginning a subquery. */
const QUERY_STEPS = 800;

/** Functions that the service has and this engine lacks. */
const ABSENT = /^(?:ST_|FULLTEXT|VECTORDISTANCE$|RRF$)/;

export function compile(expr: Expr, scope: Scope): Eval {
  switch (expr.kind) {
    case 'constant': {
      const { value } = expr;
      return () => value;
    }
    case 'param': {
      if (!scope.params.has(expr.name)) {
        throw new SqlError('SC2007', `Parameter '${expr.name}' is not supplied.`, expr.at, expr.at + expr.name.length);
      }
      const value = scope.params.get(expr.name);
      return () => value;
    }
    case 'name':
      return named(expr.name, expr.at, scope);
    case 'member':
      return memberOf(expr.of, expr.key, scope);
    case 'unary':
      return counted(unary(expr.op, compile(expr.of, scope)), PART_STEPS, scope);
    case 'binary':
      if (expr.op === 'AND' || expr.op === 'OR') return logic(expr, expr.op === 'OR', scope);
      return binary(expr.op, compile(expr.left, scope), compile(expr.right, scope), scope);
    case 'between':
      return counted(
        between(compile(expr.of, scope), compile(expr.low, scope), compile(expr.high, scope)),
        2 * PART_STEPS,
        scope,
      );
    case 'in': {
      const of = compile(expr.of, scope);
      const list = expr.list.map((item) => compile(item, scope));
      const { meter } = scope.tools;
      return (row) => {
        const value = of(row);
        meter.work(list.length * (rank(value) > 4 ? meter.sizeOf(value) : PART_STEPS));
        return value === undefined ? undefined : list.some((item) => equals(value, item(row)) === true);
      };
    }
    case 'like':
      return like(expr, scope);
    case 'choice': {
      const [test, yes, no] = [compile(expr.test, scope), compile(expr.yes, scope), compile(expr.no, scope)];
      return counted((row) => (test(row) === true ? yes(row) : no(row)), PART_STEPS, scope);
    }
    case 'call':
      return call(expr.name, expr.args, expr.at, scope);
    case 'array': {
      const items = expr.items.map((item) => compile(item, scope));
      const { meter } = scope.tools;
      return (row) => {
        meter.make(items.length * PART_STEPS);
        return items.map((item) => item(row)).filter((value) => value !== undefined);
      };
    }
    case 'object': {
      const members = expr.members.map(([name, value]) => [name, compile(value, scope)] as const);
      const { meter } = scope.tools;
      return (row) => {
        meter.make(members.length * PART_STEPS);
        const object: Record<string, unknown> = {};
        for (const [name, value] of members) {
          const found = value(row);
          if (found !== undefined) define(object, name, found);
        }
        return object;
      };
    }
    case 'query':
      break;
  }
  return subquery(expr.use, expr.query, scope);
}

/** The same, and its work. */
function counted(of: Eval, steps: number, { tools: { meter } }: Scope): Eval {
  return (row) => {
    meter.work(steps);
    return of(row);
  };
}

function like({ of, pattern, escape }: Expr & { kind: 'like' }, scope: Scope): Eval {
  const value = compile(of, scope);
  const wanted = compile(pattern, scope);
  const { meter } = scope.tools;
  let known: { readonly text: string; readonly pattern: LikePattern } | undefined;
  return (row) => {
    const text = value(row);
    const sought = wanted(row);
    if (typeof text !== 'string' || typeof sought !== 'string') return undefined;
    if (known?.text !== sought) {
      meter.work(sought.length * PART_STEPS);
      known = { text: sought, pattern: likePattern(sought, escape) };
    }
    return isLike(text, known.pattern, meter);
  };
}

function named(name: string, at: number, scope: Scope): Eval {
  const slot = scope.slots.get(name);
  if (slot === undefined) {
    throw new SqlError('SC2001', `Identifier '${name}' could not be resolved.`, at, at + name.length);
  }
  return (row) => row[slot];
}

function memberOf(of: Expr, key: Expr, scope: Scope): Eval {
  const object = compile(of, scope);
  if (key.kind === 'constant') {
    const { value } = key;
    return counted((row) => member(object(row), value), MEMBER_STEPS, scope);
  }
  const name = compile(key, scope);
  return counted((row) => member(object(row), name(row)), MEMBER_STEPS, scope);
}

function unary(op: string, of: Eval): Eval {
  if (op === 'NOT') {
    return (row) => {
      const value = of(row);
      return typeof value === 'boolean' ? !value : undefined;
    };
  }
  return (row) => {
    const value = of(row);
    if (typeof value !== 'number') return undefined;
    if (op === '~') return ~value;
    return op === '-' ? -value : value;
  };
}

const ARITHMETIC: Record<string, (a: number, b: number) => number> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '%': (a, b) => a % b,
  '|': (a, b) => a | b,
  '&': (a, b) => a & b,
  '^': (a, b) => a ^ b,
  '<<': (a, b) => a << b,
  '>>': (a, b) => a >> b,
  '>>>': (a, b) => a >>> b,
};

/**
 * Three-valued logic: a part that isn't true or false is undefined, and only another part can decide the result. A chain of
 * parts is one loop, because a long one nested in itself has no room on the stack.
 */
function logic(expr: Expr & { kind: 'binary' }, decisive: boolean, scope: Scope): Eval {
  const { meter } = scope.tools;
  const chained: Expr[] = [];
  let first: Expr = expr;
  for (; first.kind === 'binary' && first.op === expr.op; first = first.left) chained.push(first.right);
  const parts = [first, ...chained.toReversed()].map((part) => compile(part, scope));
  return (row) => {
    let isSure = true;
    for (const part of parts) {
      meter.work(PART_STEPS);
      const value = part(row);
      if (value === decisive) return decisive;
      if (value !== !decisive) isSure = false;
    }
    return isSure ? !decisive : undefined;
  };
}

/** Arrays and objects are compared part by part. */
function comparing(of: (a: unknown, b: unknown) => unknown, left: Eval, right: Eval, { tools }: Scope): Eval {
  const { meter } = tools;
  return (row) => {
    const a = left(row);
    const b = right(row);
    meter.work(rank(a) > 4 && rank(b) > 4 ? meter.sizeOf(a) : PART_STEPS);
    return of(a, b);
  };
}

/** Like `of >= low AND of <= high`, but `of` is evaluated once: nested, the work would double with each level. */
function between(of: Eval, low: Eval, high: Eval): Eval {
  return (row) => {
    const value = of(row);
    const above = compares('>=', value, low(row));
    const below = compares('<=', value, high(row));
    return above === false || below === false ? false : above && below;
  };
}

function binary(op: string, left: Eval, right: Eval, scope: Scope): Eval {
  const { meter } = scope.tools;
  switch (op) {
    case '??':
      return (row) => {
        const value = left(row);
        return value === undefined ? right(row) : value;
      };
    case '=':
      return comparing(equals, left, right, scope);
    case '!=':
      return comparing(differs, left, right, scope);
    case '<':
    case '<=':
    case '>':
    case '>=':
      return comparing((a, b) => compares(op, a, b), left, right, scope);
    case '||':
      return (row) => {
        const a = left(row);
        const b = right(row);
        if (typeof a !== 'string' || typeof b !== 'string') return undefined;
        meter.text(a.length + b.length);
        meter.make(a.length + b.length);
        return a + b;
      };
    default: {
      const of = ARITHMETIC[op]!;
      return (row) => {
        meter.work(PART_STEPS);
        const a = left(row);
        const b = right(row);
        if (typeof a !== 'number' || typeof b !== 'number') return undefined;
        const result = of(a, b);
        return Number.isFinite(result) ? result : undefined;
      };
    }
  }
}

function call(name: string, args: readonly Expr[], at: number, scope: Scope): Eval {
  if (isAggregate(name)) {
    if (!scope.aggregates) {
      throw new SqlError('SC2102', `Cannot perform an aggregate function (${name}) here.`, at, at + name.length);
    }
    if (args.length !== 1) arity(name, at);
    const { aggregates: _, ...plain } = scope;
    const slot = scope.counter.next++;
    scope.aggregates.push({ name: name as Aggregate, argument: compile(args[0]!, plain), slot });
    return (row) => row[slot];
  }
  const found = FUNCTIONS.get(name);
  if (!found && ABSENT.test(name)) {
    throw new SqlError(
      'SC2005',
      `'${name}' is not supported here: there is no spatial, full-text or vector search.`,
      at,
      at + name.length,
    );
  }
  if (!found)
    throw new SqlError('SC2005', `'${name}' is not a recognized built-in function name.`, at, at + name.length);
  if (args.length < found.least || args.length > found.most) arity(name, at);
  const values = args.map((arg) => compile(arg, scope));
  const { tools } = scope;
  const { meter } = tools;
  return (row) => {
    const given = values.map((value) => value(row));
    if (!found.takesUndefined && given.includes(undefined)) return undefined;
    let steps = CALL_STEPS;
    for (const value of given) steps += lengthOf(value);
    meter.work(steps);
    const result = found.call(given, tools);
    meter.make(lengthOf(result));
    return result;
  };
}

/** The length of a text or array; 0 for other values. */
const lengthOf = (value: unknown): number => (typeof value === 'string' || Array.isArray(value) ? value.length : 0);

function arity(name: string, at: number): never {
  throw new SqlError('SC2006', `The ${name} function has a wrong number of arguments.`, at, at + name.length);
}

function subquery(use: 'exists' | 'array' | 'scalar', query: SelectQuery, scope: Scope): Eval {
  const rows = scope.select(query, inner(scope));
  const { meter } = scope.tools;
  return (row) => {
    meter.work(QUERY_STEPS);
    const results = rows(row);
    if (use === 'exists') return !results.next().done;
    if (use === 'array') {
      const all: unknown[] = [];
      for (const result of results) {
        meter.make(PART_STEPS);
        all.push(result);
      }
      return all;
    }
    const first = results.next();
    return first.done ? undefined : first.value;
  };
}

/** The result of a query for one row. Columns without a name are `$1`, `$2` … in order. */
export function projection(query: SelectQuery, scope: Scope): Eval {
  if (query.columns === '*') {
    const only = [...scope.slots.values()].at(-1);
    if (query.from.length !== 1 || only === undefined) {
      throw new SqlError('SC2040', "'SELECT *' is only valid with a single input set.", 0, 6);
    }
    return (row) => row[only];
  }
  if (query.bare) return compile(query.columns[0]!.expr, scope);
  let unnamed = 0;
  const nameOf = ({ expr, alias }: SelectColumn): string => {
    const name = alias ?? lastName(expr);
    return name === '' ? `$${++unnamed}` : name;
  };
  return compile(
    { kind: 'object', members: query.columns.map((column) => [nameOf(column), column.expr] as const) },
    scope,
  );
}
