// What `pg_dump` writes beside SQL: commands of `psql`, and the rows of COPY.

/** A piece of SQL in which a backslash or a semicolon may mean something else. */
const PIECE =
  /\s+|--[^\n]*|\/\*|'[^']*(?:''[^']*)*'|"[^"]*(?:""[^"]*)*"|\$([\p{L}_]\w*)?\$|[\p{L}_][\p{L}\p{N}_$]*|[^]/guy;
const COPY = /^\s*COPY\s(?:[^;]*\s)?FROM\s+stdin\b/i;
/** Since August 2025 they stand around each dump, so that its text can give `psql` no other command. */
const RESTRICT = /^\\(?:un)?restrict\b/;

/** The text with spaces in place of what isn't SQL, so that all places stay. */
export function withoutData(text: string): string {
  if (!/^\\/m.test(text)) return text;
  const parts: string[] = [];
  let [copied, at, begins, inside] = [0, 0, 0, false];
  const blank = (to: number): void => {
    parts.push(text.slice(copied, at), text.slice(at, to).replaceAll(/[^\n]/g, ' '));
    [copied, at, begins, inside] = [to, to, to, false];
  };
  while (at < text.length) {
    const line = text[at] === '\\' && (at === 0 || text[at - 1] === '\n');
    if (line && !inside && RESTRICT.test(text.slice(at, at + 12))) {
      blank(endOfLine(text, at));
      continue;
    }
    PIECE.lastIndex = at;
    const [piece = '', tag = ''] = PIECE.exec(text) ?? [text.slice(at)];
    const from = at;
    at += piece.length;
    if (piece === '/*') at = endOfComment(text, at);
    else if (/^\$\w*\$$/.test(piece)) at = after(text, `$${tag}$`, at);
    else if (/^e$/i.test(piece) && text[at] === "'") at = endOfEscaped(text, at + 1);
    else if (piece === ';') {
      const isCopy = COPY.test(text.slice(begins, Math.min(at, begins + 20_000)));
      [begins, inside] = [at, false];
      if (isCopy) {
        at = endOfLine(text, at);
        blank(endOfRows(text, at));
      }
      continue;
    }
    if (!/^(?:\s|--|\/\*)/.test(piece)) inside = true;
    if (!inside) begins = from + piece.length;
  }
  return parts.join('') + text.slice(copied);
}

const endOfLine = (text: string, at: number): number => {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end;
};

const after = (text: string, what: string, at: number): number => {
  const found = text.indexOf(what, at);
  return found === -1 ? text.length : found + what.length;
};

/** Behind the line `\.`. */
function endOfRows(text: string, at: number): number {
  const found = /\n\\\.\r?(?=\n|$)/g;
  found.lastIndex = at;
  return found.exec(text) ? found.lastIndex : text.length;
}

/** Comments may be nested. */
function endOfComment(text: string, from: number): number {
  const sign = /\/\*|\*\//g;
  sign.lastIndex = from;
  for (let depth = 1; depth > 0;) {
    const [found] = sign.exec(text) ?? [];
    if (found === undefined) return text.length;
    depth += found === '/*' ? 1 : -1;
  }
  return sign.lastIndex;
}

/** `E'it\'s'`. */
function endOfEscaped(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === "'") return at + 1;
  }
  return text.length;
}
