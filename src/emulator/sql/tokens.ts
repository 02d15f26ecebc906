/** An error in the query text, with its place. */
export class SqlError extends Error {
  override readonly name = 'SqlError';
  readonly code: string;
  readonly start: number;
  readonly end: number;

  constructor(code: string, message: string, start: number, end: number) {
    super(message);
    this.code = code;
    this.start = start;
    this.end = end;
  }
}

export interface QueryToken {
  readonly kind: 'name' | 'param' | 'string' | 'number' | 'sign' | 'end';
  /** The original text; for strings the value. */
  readonly text: string;
  /** In upper case, to recognise keywords. */
  readonly word: string;
  readonly value?: number;
  readonly start: number;
  readonly end: number;
}

const SPACE = /(?:\s|--[^\n]*)*/y;
const NAME = /[\p{L}_$][\p{L}\p{N}_$]*/uy;
const PARAM = /@[\p{L}\p{N}_]+/uy;
const NUMBER = /0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;
const SIGN = />>>|\?\?|\|\||<<|>>|<=|>=|<>|!=|[-=<>+*/%|&^~?:.,()[\]{}]/y;
const ESCAPES: Record<string, string> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' };

/** Splits the text into tokens; the last one has the kind `end`. */
export function tokenize(text: string): QueryToken[] {
  const tokens: QueryToken[] = [];
  let at = 0;
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0];
  };
  for (;;) {
    at += take(SPACE)?.length ?? 0;
    const start = at;
    if (at >= text.length) {
      tokens.push({ kind: 'end', text: '', word: '', start, end: start });
      return tokens;
    }
    const first = text[at]!;
    if (first === '"' || first === "'") {
      const { value, end } = readString(text, at);
      at = end;
      tokens.push({ kind: 'string', text: value, word: '', start, end });
      continue;
    }
    const number = take(NUMBER);
    if (number !== undefined) {
      at += number.length;
      tokens.push({ kind: 'number', text: number, word: '', value: Number(number), start, end: at });
      continue;
    }
    const [kind, found] = lexeme(take);
    if (found === undefined) {
      throw new SqlError('SC1010', `Syntax error, invalid token '${first}'.`, start, start + 1);
    }
    at += found.length;
    tokens.push({ kind, text: found, word: kind === 'name' ? found.toUpperCase() : found, start, end: at });
  }
}

function lexeme(take: (pattern: RegExp) => string | undefined): [QueryToken['kind'], string | undefined] {
  const name = take(NAME);
  if (name !== undefined) return ['name', name];
  const param = take(PARAM);
  if (param !== undefined) return ['param', param];
  return ['sign', take(SIGN)];
}

function readString(text: string, start: number): { value: string; end: number } {
  const quote = text[start]!;
  let value = '';
  for (let at = start + 1; at < text.length; at++) {
    const char = text[at]!;
    if (char === quote) return { value, end: at + 1 };
    if (char !== '\\') {
      value += char;
      continue;
    }
    const escaped = text[++at] ?? '';
    const code = escaped === 'u' ? /^[0-9a-fA-F]{4}/.exec(text.slice(at + 1, at + 5))?.[0] : undefined;
    if (code === undefined) value += ESCAPES[escaped] ?? escaped;
    else {
      value += String.fromCharCode(Number.parseInt(code, 16));
      at += 4;
    }
  }
  throw new SqlError('SC1012', 'Syntax error, invalid string literal token: it is not closed.', start, text.length);
}
