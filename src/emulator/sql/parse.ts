import { holdsAggregate } from './aggregate.ts';
import type { SelectColumn, Expr, SelectQuery, Source } from './ast.ts';
import { SqlError, tokenize } from './tokens.ts';
import type { QueryToken } from './tokens.ts';

const RESERVED = new Set(
  'SELECT FROM WHERE AND OR NOT IN JOIN ORDER GROUP BY TOP VALUE AS DISTINCT BETWEEN LIKE ESCAPE EXISTS ARRAY OFFSET LIMIT ASC DESC'.split(
    ' ',
  ),
);
/** Binary operators by ascending precedence. AND is also a word of BETWEEN, so comparisons bind stronger than AND. */
const LEVELS: readonly (readonly string[])[] = [
  ['|'],
  ['^'],
  ['&'],
  ['<<', '>>', '>>>'],
  ['+', '-', '||'],
  ['*', '/', '%'],
];
const COMPARISONS = ['=', '!=', '<>', '<', '<=', '>', '>='];
const MAX_DEPTH = 200;

/** Parses one query; throws SqlError with the place of the error. */
export function parseQuery(text: string): SelectQuery {
  return new Parser(tokenize(text)).whole();
}

class Parser {
  readonly #tokens: readonly QueryToken[];
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly QueryToken[]) {
    this.#tokens = tokens;
  }

  whole(): SelectQuery {
    const query = this.#query();
    if (this.#now.kind !== 'end') this.#fail();
    return query;
  }

  get #now(): QueryToken {
    return this.#tokens[this.#at]!;
  }

  #fail(): never {
    const { kind, text, start, end } = this.#now;
    const near = kind === 'end' ? 'the end of the query' : `'${text}'`;
    throw new SqlError('SC1001', `Syntax error, incorrect syntax near ${near}.`, start, end);
  }

  #is(word: string): boolean {
    return this.#now.word === word && this.#now.kind !== 'string';
  }

  #eat(word: string): boolean {
    if (!this.#is(word)) return false;
    this.#at++;
    return true;
  }

  #need(word: string): void {
    if (!this.#eat(word)) this.#fail();
  }

  #name(): string {
    const token = this.#now;
    if (token.kind !== 'name' || RESERVED.has(token.word)) this.#fail();
    this.#at++;
    return token.text;
  }

  #query(): SelectQuery {
    this.#need('SELECT');
    const distinct = this.#eat('DISTINCT');
    const top = this.#eat('TOP') ? this.#primary() : undefined;
    // `value` can be a property name only after a dot, so here it is always the keyword.
    const bare = this.#eat('VALUE');
    const columns = !bare && this.#eat('*') ? '*' : this.#columns(bare);
    const from: Source[] = [];
    if (this.#eat('FROM')) {
      from.push(this.#source());
      while (this.#eat('JOIN')) from.push(this.#source());
    }
    const where = this.#eat('WHERE') ? this.#expr() : undefined;
    const groupBy = this.#eat('GROUP') ? this.#by(() => this.#expr()) : undefined;
    const orderBy = this.#eat('ORDER') ? this.#by(() => this.#sortKey()) : undefined;
    const offset = this.#eat('OFFSET') ? this.#primary() : undefined;
    const limit = offset && (this.#need('LIMIT'), this.#primary());
    // One row has no order, and no index has to serve it.
    const single = !groupBy && columns !== '*' && columns.some(({ expr }) => holdsAggregate(expr));
    return {
      kind: 'select',
      distinct,
      bare,
      columns,
      from,
      ...(top && { top }),
      ...(where && { where }),
      ...(groupBy && { groupBy }),
      ...(orderBy && !single && { orderBy }),
      ...(offset && { offset }),
      ...(limit && { limit }),
    };
  }

  #by<T>(read: () => T): T[] {
    this.#need('BY');
    return this.#list(read);
  }

  #sortKey(): { expr: Expr; descending: boolean } {
    const expr = this.#expr();
    const descending = this.#eat('DESC');
    if (!descending) this.#eat('ASC');
    if (
      expr.kind === 'name' &&
      /^rank$/i.test(expr.name) &&
      this.#now.kind === 'name' &&
      !RESERVED.has(this.#now.word)
    ) {
      const message = "'ORDER BY RANK' is not supported here: there is no full-text or vector search.";
      throw new SqlError('SC2005', message, expr.at, expr.at + expr.name.length);
    }
    return { expr, descending };
  }

  #list<T>(read: () => T): T[] {
    const items = [read()];
    while (this.#eat(',')) items.push(read());
    return items;
  }

  #columns(single: boolean): SelectColumn[] {
    const one = (): SelectColumn => {
      const expr = this.#expr();
      const named = this.#eat('AS') || (this.#now.kind === 'name' && !RESERVED.has(this.#now.word));
      return named ? { expr, alias: this.#name() } : { expr };
    };
    return single ? [{ expr: this.#expr() }] : this.#list(one);
  }

  #source(): Source {
    const next = this.#tokens[this.#at + 1];
    if (this.#now.kind === 'name' && next?.word === 'IN' && next.kind === 'name') {
      const alias = this.#name();
      this.#need('IN');
      return { alias, of: this.#collection(), each: true };
    }
    const of = this.#collection();
    if (this.#eat('AS') || (this.#now.kind === 'name' && !RESERVED.has(this.#now.word))) {
      return { alias: this.#name(), of, each: false };
    }
    return { alias: 'kind' in of && of.kind !== 'select' ? lastName(of) : '', of, each: false };
  }

  #collection(): Expr | SelectQuery {
    const expr = this.#postfix();
    return expr.kind === 'query' && expr.use === 'scalar' ? expr.query : expr;
  }

  #expr(): Expr {
    if (++this.#depth > MAX_DEPTH) {
      throw new SqlError('SC2022', 'The query is nested too deeply.', this.#now.start, this.#now.end);
    }
    const test = this.#coalesce();
    let result = test;
    if (this.#eat('?')) {
      const yes = this.#expr();
      this.#need(':');
      result = { kind: 'choice', test, yes, no: this.#expr() };
    }
    this.#depth--;
    return result;
  }

  #coalesce(): Expr {
    const left = this.#or();
    return this.#eat('??') ? { kind: 'binary', op: '??', left, right: this.#coalesce() } : left;
  }

  #or(): Expr {
    let left = this.#and();
    while (this.#eat('OR')) left = { kind: 'binary', op: 'OR', left, right: this.#and() };
    return left;
  }

  #and(): Expr {
    let left = this.#not();
    while (this.#eat('AND')) left = { kind: 'binary', op: 'AND', left, right: this.#not() };
    return left;
  }

  #not(): Expr {
    let negations = 0;
    while (this.#eat('NOT')) negations++;
    let expr = this.#comparison();
    for (; negations > 0; negations--) expr = { kind: 'unary', op: 'NOT', of: expr };
    return expr;
  }

  #comparison(): Expr {
    let left = this.#level(0);
    for (;;) {
      const op = this.#now.kind === 'sign' && COMPARISONS.includes(this.#now.text) ? this.#now.text : undefined;
      if (op !== undefined) {
        this.#at++;
        left = { kind: 'binary', op: op === '<>' ? '!=' : op, left, right: this.#level(0) };
        continue;
      }
      const start = this.#at;
      const negated = this.#eat('NOT');
      const found = this.#membership(left);
      if (!found) {
        this.#at = start;
        return left;
      }
      left = negated ? { kind: 'unary', op: 'NOT', of: found } : found;
    }
  }

  #membership(of: Expr): Expr | undefined {
    if (this.#eat('IN')) {
      this.#need('(');
      const list = this.#list(() => this.#expr());
      this.#need(')');
      return { kind: 'in', of, list };
    }
    if (this.#eat('BETWEEN')) {
      const low = this.#level(0);
      this.#need('AND');
      return { kind: 'between', of, low, high: this.#level(0) };
    }
    if (!this.#eat('LIKE')) return undefined;
    const pattern = this.#level(0);
    if (!this.#eat('ESCAPE')) return { kind: 'like', of, pattern };
    const escape = this.#now;
    if (escape.kind !== 'string' || escape.text.length !== 1) this.#fail();
    this.#at++;
    return { kind: 'like', of, pattern, escape: escape.text };
  }

  #level(level: number): Expr {
    const operators = LEVELS[level];
    if (!operators) return this.#unary();
    let left = this.#level(level + 1);
    while (this.#now.kind === 'sign' && operators.includes(this.#now.text)) {
      const op = this.#now.text;
      this.#at++;
      left = { kind: 'binary', op, left, right: this.#level(level + 1) };
    }
    return left;
  }

  #unary(): Expr {
    const { kind, text } = this.#now;
    if (kind === 'sign' && (text === '-' || text === '+' || text === '~')) {
      this.#at++;
      if (++this.#depth > MAX_DEPTH) this.#fail();
      const of = this.#unary();
      this.#depth--;
      return of.kind === 'constant' && typeof of.value === 'number' && text === '-'
        ? { kind: 'constant', value: -of.value }
        : { kind: 'unary', op: text, of };
    }
    return this.#postfix();
  }

  #postfix(): Expr {
    let expr = this.#primary();
    for (;;) {
      if (this.#eat('.')) {
        const token = this.#now;
        if (token.kind !== 'name') this.#fail();
        this.#at++;
        expr = { kind: 'member', of: expr, key: { kind: 'constant', value: token.text } };
        if (expr.of.kind === 'name' && expr.of.name.toUpperCase() === 'UDF' && this.#is('(')) {
          throw new SqlError(
            'SC2004',
            `'udf.${token.text}': user-defined functions are not supported here.`,
            token.start,
            token.end,
          );
        }
      } else if (this.#eat('[')) {
        const key = this.#expr();
        this.#need(']');
        expr = { kind: 'member', of: expr, key };
      } else return expr;
    }
  }

  #primary(): Expr {
    const token = this.#now;
    if (token.kind === 'string' || token.kind === 'number') {
      this.#at++;
      return { kind: 'constant', value: token.kind === 'number' ? token.value : token.text };
    }
    if (token.kind === 'param') {
      this.#at++;
      return { kind: 'param', name: token.text, at: token.start };
    }
    if (token.kind === 'sign') return this.#bracketed();
    if (token.kind === 'end') this.#fail();
    if (this.#eat('EXISTS')) return this.#subquery('exists');
    if (this.#is('ARRAY') && this.#tokens[this.#at + 1]?.text === '(') {
      this.#at++;
      return this.#subquery('array');
    }
    const literal = { TRUE: true, FALSE: false, NULL: null, UNDEFINED: undefined };
    if (Object.hasOwn(literal, token.word)) {
      this.#at++;
      return { kind: 'constant', value: literal[token.word as keyof typeof literal] };
    }
    const called = this.#tokens[this.#at + 1];
    if (called?.kind === 'sign' && called.text === '(' && (!RESERVED.has(token.word) || token.word === 'LEFT')) {
      this.#at += 2;
      const args = this.#is(')') ? [] : this.#list(() => this.#expr());
      this.#need(')');
      return { kind: 'call', name: token.word, args, at: token.start };
    }
    return { kind: 'name', name: this.#name(), at: token.start };
  }

  #subquery(use: 'exists' | 'array'): Expr {
    this.#need('(');
    const query = this.#query();
    this.#need(')');
    return { kind: 'query', use, query };
  }

  #bracketed(): Expr {
    if (this.#eat('(')) {
      const inner: Expr = this.#is('SELECT') ? { kind: 'query', use: 'scalar', query: this.#query() } : this.#expr();
      this.#need(')');
      return inner;
    }
    if (this.#eat('[')) {
      const items = this.#is(']') ? [] : this.#list(() => this.#expr());
      this.#need(']');
      return { kind: 'array', items };
    }
    this.#need('{');
    const members = this.#is('}') ? [] : this.#list(() => this.#member());
    this.#need('}');
    return { kind: 'object', members };
  }

  #member(): readonly [string, Expr] {
    const token = this.#now;
    if (token.kind !== 'string' && token.kind !== 'name') this.#fail();
    this.#at++;
    this.#need(':');
    return [token.text, this.#expr()];
  }
}

/** The last step of a path: the name of a source or a column without alias. */
export function lastName(expr: Expr): string {
  if (expr.kind === 'name') return expr.name;
  return expr.kind === 'member' && expr.key.kind === 'constant' && typeof expr.key.value === 'string'
    ? expr.key.value
    : '';
}
