// What a measure is of, as documents write it: `totalCents`, `quantity × priceCents`, `delay ≥ 15`.

export interface Expression {
  /** The names in it, as written. */
  readonly fields: readonly string[];
  /** It compares for equality: a name may then be a value, as in `status = paid`. */
  readonly compares: boolean;
  /** It calculates: all its operands must be numbers. */
  readonly numeric: boolean;
  /** Its numbers: on both sides of each, a comparison may change. */
  readonly numbers: readonly number[];
  /** A comparison is 1 or 0. Undefined: an operand isn't a number. */
  valueOf(of: (field: string) => unknown): unknown;
}

type Node = (of: (field: string) => unknown) => unknown;

const SIGNS: Readonly<Record<string, string>> = {
  '×': '*',
  '·': '*',
  '÷': '/',
  '−': '-',
  '≥': '>=',
  '≤': '<=',
  '≠': '!=',
  '==': '=',
};
const LEVELS: readonly ReadonlySet<string>[] = [
  new Set(['>=', '<=', '!=', '>', '<', '=']),
  new Set(['+', '-']),
  new Set(['*', '/']),
];
const OPERATIONS: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '>=': (a, b) => Number(a >= b),
  '<=': (a, b) => Number(a <= b),
  '!=': (a, b) => Number(a !== b),
  '>': (a, b) => Number(a > b),
  '<': (a, b) => Number(a < b),
  '=': (a, b) => Number(a === b),
};

/** Undefined: the text is prose, or of another form. */
export function expressionOf(text: string): Expression | undefined {
  const tokens = text.match(/\d[\d,]*(?:\.\d+)?|[\p{L}_][\p{L}\p{N}_.]*|>=|<=|!=|==|\S/gu) ?? [];
  const fields: string[] = [];
  const numbers: number[] = [];
  let at = 0;
  const operand = (): Node | undefined => {
    const token = tokens[at++] ?? '';
    if (/^\d/.test(token)) {
      const number = Number(token.replaceAll(',', ''));
      numbers.push(number);
      return () => number;
    }
    if (!/^[\p{L}_]/u.test(token)) return undefined;
    fields.push(token);
    return (of) => of(token);
  };
  const level = (depth: number): Node | undefined => {
    const operators = LEVELS[depth];
    if (!operators) return operand();
    let left = level(depth + 1);
    for (;;) {
      const token = tokens[at] ?? '';
      const sign = SIGNS[token] ?? token;
      const operation = OPERATIONS[sign];
      if (!left || !operation || !operators.has(sign)) return left;
      at++;
      const [a, b] = [left, level(depth + 1)];
      left = b && ((of) => both(operation, a(of), b(of)));
    }
  };
  const root = level(0);
  return root && at === tokens.length && fields.length > 0
    ? {
        fields,
        numbers,
        valueOf: root,
        numeric: tokens.some((token) => /^[×·*÷/+-]$/.test(token)),
        compares: tokens.some((token) => /^(=|==|≠|!=)$/.test(token)),
      }
    : undefined;
}

const both = (operation: (a: number, b: number) => number, a: unknown, b: unknown): number | undefined =>
  typeof a === 'number' && typeof b === 'number' ? operation(a, b) : undefined;
