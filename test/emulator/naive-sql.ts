/**
 * Random queries, each made together with what it means: the text never goes through a parser here, and nothing is
 * shared with the engine under test. `undefined` is the language's undefined.
 */

export type Doc = Record<string, unknown>;
export type Pick = (n: number) => number;

export interface Term {
  readonly sql: string;
  readonly of: (doc: Doc) => unknown;
}

export interface Case {
  readonly sql: string;
  /** The results; their order counts only where `ordered`. */
  readonly run: (docs: readonly Doc[]) => unknown[];
  readonly ordered: boolean;
}

const FIELDS = ['a', 'b', 'n', 's'];
const CONSTANTS: readonly unknown[] = [null, true, false, 0, 1, 2, 3, -1, 2.5, '', 'a', 'b', 'ab', 'B'];

export function randomDoc(id: number, pick: Pick): Doc {
  const doc: Doc = { id: `${id}`, pk: `k${pick(7)}`, n: pick(10), s: 'abAB'.slice(pick(4), 1 + pick(4)) };
  if (pick(3) > 0) doc['a'] = CONSTANTS[pick(CONSTANTS.length)];
  if (pick(3) > 0) doc['b'] = pick(4) === 0 ? { x: pick(3) } : CONSTANTS[pick(CONSTANTS.length)];
  doc['t'] = Array.from({ length: pick(4) }, () => (pick(3) === 0 ? { x: pick(3) } : pick(3)));
  return doc;
}

const typeName = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);
const hasParts = (value: unknown): boolean => typeof value === 'object' && value !== null;

/** What comes first where types are mixed, and within one type. */
const TYPES = ['null', 'boolean', 'number', 'string'];
function before(a: unknown, b: unknown): boolean {
  const [x, y] = [TYPES.indexOf(typeName(a)), TYPES.indexOf(typeName(b))];
  return x === y ? (a as number) < (b as number) : x < y;
}

const deep = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  ) ?? 'undefined';

/** A scalar: a field, a constant, or a small sum or function of such. */
export function term(pick: Pick, depth = 2): Term {
  const kind = pick(depth > 0 ? 11 : 4);
  if (kind < 2) {
    const field = FIELDS[pick(FIELDS.length)]!;
    return { sql: `c.${field}`, of: (doc) => (Object.hasOwn(doc, field) ? doc[field] : undefined) };
  }
  if (kind === 2) {
    return {
      sql: 'c.b.x',
      of: ({ b }) => (typeof b === 'object' && b !== null ? (b as Doc)['x'] : undefined),
    };
  }
  if (kind === 3) {
    const value = CONSTANTS[pick(CONSTANTS.length)];
    return { sql: JSON.stringify(value), of: () => value };
  }
  const [one, two] = [term(pick, depth - 1), term(pick, depth - 1)];
  if (kind < 6) return arithmetic(one, two, pick);
  if (kind === 6) {
    return {
      sql: `(${one.sql} ?? ${two.sql})`,
      of: (doc) => (one.of(doc) === undefined ? two.of(doc) : one.of(doc)),
    };
  }
  if (kind === 7) {
    const test = condition(pick, depth - 1);
    return {
      sql: `(${test.sql} ? ${one.sql} : ${two.sql})`,
      of: (doc) => (test.of(doc) === true ? one.of(doc) : two.of(doc)),
    };
  }
  return kind === 8 ? piece(one, two, pick) : call(one, two, pick);
}

/** A piece of a text, where the numbers may be fractions, negative, or none at all. */
function piece(one: Term, two: Term, pick: Pick): Term {
  const number = ([0, 1, 2, -1, 1.5, '1', 9] as const)[pick(7)]!;
  const literal = JSON.stringify(number).replaceAll('"', "'");
  const count = (value: unknown): value is number => typeof value === 'number' && value % 1 === 0;
  switch (pick(4)) {
    case 0:
      return {
        sql: `LEFT(${one.sql}, ${literal})`,
        of: (doc) => {
          const text = one.of(doc);
          if (typeof text !== 'string' || typeof number !== 'number') return undefined;
          if (text.length === 0) return '';
          return count(number) ? Array.from(text).slice(0, Math.max(0, number)).join('') : undefined;
        },
      };
    case 1:
      return {
        sql: `RIGHT(${one.sql}, ${literal})`,
        of: (doc) => {
          const text = one.of(doc);
          if (typeof text !== 'string' || !count(number)) return undefined;
          return Array.from(text)
            .filter((_, i) => text.length - i <= number)
            .join('');
        },
      };
    case 2:
      return {
        sql: `REPLACE(${one.sql}, ${two.sql}, 'z')`,
        of: (doc) => {
          const [text, part] = [one.of(doc), two.of(doc)];
          if (typeof text !== 'string' || typeof part !== 'string' || part.length === 0) return undefined;
          return text.replaceAll(part, () => 'z');
        },
      };
    default: {
      const third = ([true, false, 1, null] as const)[pick(4)]!;
      return {
        sql: `ARRAY_CONTAINS(c.t, ${one.sql}, ${JSON.stringify(third)})`,
        of: (doc) => {
          const wanted = one.of(doc);
          if (wanted === undefined || typeof third !== 'boolean') return undefined;
          // Objects here have one property at most, and the same one: to be a part is to be equal.
          return (doc['t'] as unknown[]).some((each) => deep(each) === deep(wanted));
        },
      };
    }
  }
}

function arithmetic(one: Term, two: Term, pick: Pick): Term {
  const [op, apply] = (
    [
      ['+', (a: number, b: number) => a + b],
      ['-', (a: number, b: number) => a - b],
      ['*', (a: number, b: number) => a * b],
    ] as const
  )[pick(3)]!;
  return {
    sql: `(${one.sql} ${op} ${two.sql})`,
    of: (doc) => {
      const [a, b] = [one.of(doc), two.of(doc)];
      return typeof a === 'number' && typeof b === 'number' ? apply(a, b) : undefined;
    },
  };
}

function call(one: Term, two: Term, pick: Pick): Term {
  const text = (name: string, apply: (value: string) => unknown): Term => ({
    sql: `${name}(${one.sql})`,
    of: (doc) => {
      const value = one.of(doc);
      return typeof value === 'string' ? apply(value) : undefined;
    },
  });
  switch (pick(6)) {
    case 0:
      return text('UPPER', (value) => value.toUpperCase());
    case 1:
      return text('LENGTH', (value) => value.length);
    case 2:
      return { sql: `IS_DEFINED(${one.sql})`, of: (doc) => one.of(doc) !== undefined };
    case 3:
      return { sql: `IS_NUMBER(${one.sql})`, of: (doc) => typeof one.of(doc) === 'number' };
    case 4:
      return {
        sql: `ABS(${one.sql})`,
        of: (doc) => {
          const value = one.of(doc);
          return typeof value === 'number' ? Math.abs(value) : undefined;
        },
      };
    default:
      return {
        sql: `CONCAT(${one.sql}, ${two.sql})`,
        of: (doc) => {
          const [a, b] = [one.of(doc), two.of(doc)];
          return typeof a === 'string' && typeof b === 'string' ? a + b : undefined;
        },
      };
  }
}

/** Something that is true, false or undefined. */
export function condition(pick: Pick, depth = 2): Term {
  const kind = pick(depth > 0 ? 9 : 5);
  if (kind === 1 && depth > 0) return between(pick);
  if (kind < 2) {
    return comparison(term(pick, depth - 1), term(pick, depth - 1), OPERATORS[pick(OPERATORS.length)]!);
  }
  if (kind === 2) {
    const field = { sql: 'c.n', of: ({ n }: Doc) => n };
    const low = pick(6);
    const high = low + pick(4);
    return {
      sql: `c.n BETWEEN ${low} AND ${high}`,
      of: (doc) => (field.of(doc) as number) >= low && (field.of(doc) as number) <= high,
    };
  }
  if (kind === 3) {
    const one = term(pick, 0);
    const list = Array.from({ length: 1 + pick(3) }, () => CONSTANTS[pick(CONSTANTS.length)]);
    return {
      sql: `${one.sql} IN (${list.map((value) => JSON.stringify(value)).join(', ')})`,
      of: (doc) => {
        const value = one.of(doc);
        return value === undefined ? undefined : list.some((each) => deep(each) === deep(value));
      },
    };
  }
  if (kind === 4) {
    const prefix = ['', 'a', 'b', 'ab', 'B'][pick(5)]!;
    const field = ['s', 'a'][pick(2)]!;
    return {
      sql: pick(2) === 0 ? `STARTSWITH(c.${field}, '${prefix}')` : `c.${field} LIKE '${prefix}%'`,
      of: (doc) => (typeof doc[field] === 'string' ? doc[field].startsWith(prefix) : undefined),
    };
  }
  const one = condition(pick, depth - 1);
  if (kind === 5) {
    return {
      sql: `NOT (${one.sql})`,
      of: (doc) => {
        const value = one.of(doc);
        return typeof value === 'boolean' ? !value : undefined;
      },
    };
  }
  const two = condition(pick, depth - 1);
  const and = kind < 8;
  return {
    sql: `(${one.sql} ${and ? 'AND' : 'OR'} ${two.sql})`,
    of: (doc) => {
      const both = [one.of(doc), two.of(doc)];
      if (both.includes(!and)) return !and;
      return both.every((each) => each === and) ? and : undefined;
    },
  };
}

function between(pick: Pick): Term {
  const [of, low, high] = [term(pick, 0), term(pick, 0), term(pick, 0)];
  const atLeast = comparison(of, low, '>=');
  const atMost = comparison(of, high, '<=');
  return {
    sql: `${of.sql} BETWEEN ${low.sql} AND ${high.sql}`,
    of: (doc) => {
      const both = [atLeast.of(doc), atMost.of(doc)];
      return both.includes(false) ? false : both.includes(undefined) ? undefined : true;
    },
  };
}

const OPERATORS = ['=', '!=', '<', '<=', '>', '>='] as const;

function comparison(one: Term, two: Term, op: (typeof OPERATORS)[number]): Term {
  return {
    sql: `${one.sql} ${op} ${two.sql}`,
    of: (doc) => {
      const [a, b] = [one.of(doc), two.of(doc)];
      if (a === undefined || b === undefined) return undefined;
      if (op === '=') return deep(a) === deep(b);
      if (op === '!=') return deep(a) !== deep(b);
      if (typeName(a) !== typeName(b) || hasParts(a)) return undefined;
      return { '<': before(a, b), '<=': !before(b, a), '>': before(b, a), '>=': !before(a, b) }[op];
    },
  };
}

/** A whole query over `c`. */
export function query(pick: Pick): Case {
  const where = pick(4) === 0 ? { sql: 'true', of: () => true } : condition(pick);
  const found = (docs: readonly Doc[]): Doc[] => docs.filter((doc) => where.of(doc) === true);
  switch (pick(7)) {
    case 0:
      return {
        sql: `SELECT * FROM c WHERE ${where.sql}`,
        ordered: false,
        run: found,
      };
    case 1: {
      const value = term(pick);
      return {
        sql: `SELECT VALUE ${value.sql} FROM c WHERE ${where.sql}`,
        ordered: false,
        run: (docs) =>
          found(docs)
            .map((doc) => value.of(doc))
            .filter((each) => each !== undefined),
      };
    }
    case 2: {
      const value = term(pick);
      return {
        sql: `SELECT DISTINCT VALUE ${value.sql} FROM c WHERE ${where.sql}`,
        ordered: false,
        run: (docs) => {
          const all = found(docs).map((doc) => value.of(doc));
          return [...new Map(all.filter((each) => each !== undefined).map((each) => [deep(each), each])).values()];
        },
      };
    }
    case 3:
      return ordered(where.sql, found, pick);
    case 4:
      return aggregate(where.sql, found, pick);
    case 5:
      return grouped(where.sql, found, pick);
    default:
      return joined(where.sql, found, pick);
  }
}

function ordered(where: string, found: (docs: readonly Doc[]) => Doc[], pick: Pick): Case {
  const [sign, descending] = pick(2) === 0 ? [1, ''] : [-1, ' DESC'];
  const window = pick(2) === 0 ? undefined : [pick(5), 1 + pick(5)];
  return {
    // Numbers only, and the id where two are equal isn't told: values, so that ties can't show.
    sql: `SELECT VALUE c.n FROM c WHERE ${where} ORDER BY c.n${descending}${window ? ` OFFSET ${window[0]} LIMIT ${window[1]}` : ''}`,
    ordered: true,
    run: (docs) => {
      const all = found(docs)
        .map(({ n }) => n as number)
        .toSorted((a, b) => sign * (a - b));
      return window ? all.slice(window[0], window[0]! + window[1]!) : all;
    },
  };
}

function aggregate(where: string, found: (docs: readonly Doc[]) => Doc[], pick: Pick): Case {
  const value = term(pick, 1);
  const defined = (docs: readonly Doc[]): unknown[] =>
    found(docs)
      .map((doc) => value.of(doc))
      .filter((each) => each !== undefined);
  if (pick(2) === 0) {
    return {
      sql: `SELECT VALUE COUNT(${value.sql}) FROM c WHERE ${where}`,
      ordered: true,
      run: (docs) => [defined(docs).length],
    };
  }
  const name = (['MIN', 'MAX', 'SUM', 'AVG'] as const)[pick(4)]!;
  return {
    sql: `SELECT VALUE ${name}(${value.sql}) FROM c WHERE ${where}`,
    ordered: true,
    run: (docs) => {
      const result = AGGREGATES[name](defined(docs));
      return result === undefined ? [] : [result];
    },
  };
}

const sum = (values: readonly unknown[]): number | undefined =>
  values.every((each) => typeof each === 'number') ? values.reduce((all, each) => all + each, 0) : undefined;
const last = (values: readonly unknown[], behind: (a: unknown, b: unknown) => boolean): unknown =>
  values.some(hasParts) ? undefined : values.find((each) => values.every((other) => !behind(other, each)));

/** Of the values that are defined. */
const AGGREGATES = {
  MIN: (values: readonly unknown[]) => last(values, before),
  MAX: (values: readonly unknown[]) => last(values, (a, b) => before(b, a)),
  SUM: sum,
  AVG: (values: readonly unknown[]) => {
    const all = sum(values);
    return all === undefined || values.length === 0 ? undefined : all / values.length;
  },
};

function grouped(where: string, found: (docs: readonly Doc[]) => Doc[], pick: Pick): Case {
  const keys = [['pk'], ['n'], ['a'], ['b'], ['a', 'b']][pick(5)]!;
  const columns = keys.map((key) => `c.${key}`).join(', ');
  return {
    sql: `SELECT ${columns}, COUNT(1) AS count, SUM(c.n) AS sum, MIN(c.n) AS min FROM c WHERE ${where} GROUP BY ${columns}`,
    ordered: false,
    run: (docs) => {
      const groups: Doc[][] = [];
      for (const doc of found(docs)) {
        const group = groups.find(([first]) => keys.every((key) => deep(first?.[key]) === deep(doc[key])));
        if (group) group.push(doc);
        else groups.push([doc]);
      }
      return groups.map((group) => {
        const numbers = group.map(({ n }) => n);
        const key = Object.fromEntries(keys.map((name) => [name, group[0]![name]]));
        return { ...key, count: group.length, sum: AGGREGATES.SUM(numbers), min: AGGREGATES.MIN(numbers) };
      });
    },
  };
}

function joined(where: string, found: (docs: readonly Doc[]) => Doc[], pick: Pick): Case {
  const rows = (docs: readonly Doc[]): [Doc, unknown][] =>
    found(docs).flatMap((doc) => (doc['t'] as unknown[]).map((each) => [doc, each] as [Doc, unknown]));
  switch (pick(3)) {
    case 0:
      return {
        sql: `SELECT c.id, t AS t FROM c JOIN t IN c.t WHERE ${where}`,
        ordered: false,
        run: (docs) => rows(docs).map(([{ id }, t]) => ({ id, t })),
      };
    case 1:
      return {
        sql: `SELECT VALUE c.id FROM c WHERE (${where}) AND EXISTS (SELECT VALUE t FROM t IN c.t WHERE t.x = 1)`,
        ordered: false,
        run: (docs) =>
          found(docs)
            .filter(({ t }) => (t as unknown[]).some((each) => deep(each) === '{"x":1}'))
            .map(({ id }) => id),
      };
    default:
      return {
        sql: `SELECT VALUE ARRAY (SELECT VALUE t FROM t IN c.t WHERE t > 0) FROM c WHERE ${where}`,
        ordered: false,
        run: (docs) =>
          found(docs).map(({ t }) => (t as unknown[]).filter((each) => typeof each === 'number' && each > 0)),
      };
  }
}

/** Results in a form that can be compared: system properties gone, and sorted where their order means nothing. */
export function comparable(results: readonly unknown[], inOrder: boolean): string[] {
  const texts = results.map((value) =>
    deep(
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).filter(([name]) => !name.startsWith('_')))
        : value,
    ),
  );
  return inOrder ? texts : texts.toSorted();
}
