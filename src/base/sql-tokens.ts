// Splits the text of a Cosmos DB query into tokens.

/** A piece of a query's text. Strings keep their quotes. */
export interface Token {
  readonly kind: 'name' | 'parameter' | 'string' | 'number' | 'sign';
  readonly text: string;
  /** Of a name that may be a keyword, in upper case; else empty. A name after a dot or after `AS` isn't one. */
  readonly word: string;
  readonly start: number;
  readonly end: number;
  /** How many brackets are open around it. A bracket itself counts as outside. */
  readonly depth: number;
}

/** A query's text without comments, and its tokens. */
export interface Tokens {
  readonly text: string;
  readonly tokens: readonly Token[];
}

const strings = (end: string): string =>
  String.raw`"[^"\\]*(?:\\[^][^"\\]*)*(?:"${end})|'[^'\\]*(?:\\[^][^'\\]*)*(?:'${end})`;
// A string without an end is one to the end of the text here, so that no other quote is tried as its beginning.
const COMMENT = new RegExp(`(${strings('|$')})|--[^\\n]*`, 'g');
const PIECE = new RegExp(
  [
    String.raw`\s*(?:`,
    String.raw`(?<name>[\p{L}_$][\p{L}\p{N}_$]*)`,
    String.raw`|(?<parameter>@[\p{L}\p{N}_]+)`,
    `|(?<string>${strings('')})`,
    String.raw`|(?<number>0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)`,
    String.raw`|(?<sign>[-=<>+*/%|&^~?:.,!()[\]{}])`,
    ')',
  ].join(''),
  'uy',
);
const KINDS = ['name', 'parameter', 'string', 'number', 'sign'] as const;
const CLOSING: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

/** Why a text has no certain reading, as the end of a sentence. */
export interface Unreadable {
  readonly why: string;
}

/**
 * Reads the text of a query. Comments are removed, so that no reader of the text can take them for anything else. What
 * isn't certain isn't read: another reading of a quote or a bracket could move a condition out of its place.
 */
export function readTokens(query: string): Tokens | Unreadable {
  const text = query.replace(COMMENT, (_, string?: string) => string ?? ' ').trimEnd();
  const tokens: Token[] = [];
  const open: string[] = [];
  for (let at = 0; at < text.length;) {
    PIECE.lastIndex = at;
    const found = PIECE.exec(text);
    const kind = found && KINDS.find((each) => found.groups?.[each] !== undefined);
    if (!kind) return { why: `at character ${at + 1}, ${JSON.stringify(text.slice(at, at + 12))}` };
    at = PIECE.lastIndex;
    const piece = found.groups![kind]!;
    const before = tokens.at(-1);
    if (piece === '*' && before?.text === '/') return { why: 'it has a comment of the form /* … */' };
    if (kind === 'sign' && Object.values(CLOSING).includes(piece) && open.pop() !== piece)
      return { why: `it has a ${piece} too many` };
    const isName = kind === 'name' && before?.text !== '.' && before?.word !== 'AS';
    const word = isName ? piece.toUpperCase() : '';
    tokens.push({ kind, text: piece, word, start: at - piece.length, end: at, depth: open.length });
    if (kind === 'sign' && piece in CLOSING) open.push(CLOSING[piece]!);
  }
  return open.length > 0 ? { why: `it lacks a ${open.at(-1)}` } : { text, tokens };
}
