// Object literals of Bicep, Terraform and JSON as values. Members are divided by lines or commas, named by words or
// strings, and a block of Terraform has no sign before its bracket.

/** What a name or an expression stands for; undefined: it isn't known. */
export type Resolve = (expression: string) => unknown;

const TOKEN =
  /(?<space>[ \t\r]+|\/\/[^\n]*|#[^\n]*|\/\*[^]*?\*\/)|'(?<single>(?:[^'\\\n]|\\.)*)'|"(?<double>(?:[^"\\\n]|\\.)*)"|(?<mark>[{}[\]:=,\n])|(?<word>[^\s{}[\]:=,'"]+)/g;

interface Token {
  readonly mark?: string;
  readonly text?: string;
  readonly word?: string;
}

/** The object or list at the beginning of a text. Undefined: there is none. */
export function literalOf(text: string, resolve: Resolve): unknown {
  const tokens: Token[] = [];
  for (const { groups = {} } of text.matchAll(TOKEN)) {
    const { single, double, mark, word } = groups;
    if (mark !== undefined) tokens.push({ mark });
    else if (word !== undefined) tokens.push({ word });
    else if (single !== undefined || double !== undefined) tokens.push({ text: single ?? double ?? '' });
  }
  return new LiteralReader(tokens, resolve).value();
}

const CLOSES: Readonly<Record<string, string>> = { '{': '}', '[': ']' };

class LiteralReader {
  readonly #tokens: readonly Token[];
  readonly #resolve: Resolve;
  #at = 0;

  constructor(tokens: readonly Token[], resolve: Resolve) {
    this.#tokens = tokens;
    this.#resolve = resolve;
  }

  get #mark(): string | undefined {
    return this.#tokens[this.#at]?.mark;
  }

  value(): unknown {
    if (this.#mark === '{') return this.#object();
    if (this.#mark === '[') return this.#list();
    const { text, word } = this.#tokens[this.#at] ?? {};
    if (text === undefined && word === undefined) return undefined;
    this.#at += 1;
    // A string in brackets is an expression of ARM.
    if (text !== undefined) return text.startsWith('[') ? (this.#resolve(text) ?? text) : text;
    const rest = this.#skip();
    if (rest || word === undefined) return undefined;
    if (word === 'true' || word === 'false') return word === 'true';
    return /^-?\d+(?:\.\d+)?$/.test(word) ? Number(word) : this.#resolve(word);
  }

  /** To the end of an expression; true: it had more parts. */
  #skip(): boolean {
    let skipped = false;
    for (; this.#at < this.#tokens.length; this.#at++) {
      const mark = this.#mark;
      if (mark === '\n' || mark === ',' || mark === '}' || mark === ']') return skipped;
      skipped = true;
      if (mark === '{' || mark === '[') {
        this.value();
        this.#at -= 1;
      }
    }
    return skipped;
  }

  /** Calls `member` for each member, until the bracket closes. */
  #each(member: () => void): void {
    const closes = CLOSES[this.#mark ?? ''];
    this.#at += 1;
    while (this.#at < this.#tokens.length && this.#mark !== closes) {
      const from = this.#at;
      if (this.#mark !== '\n' && this.#mark !== ',') member();
      if (this.#at === from) this.#at += 1;
    }
    this.#at += 1;
  }

  #object(): Record<string, unknown> {
    const members: [string, unknown][] = [];
    this.#each(() => {
      const { text, word } = this.#tokens[this.#at] ?? {};
      const name = text ?? word;
      if (name === undefined) return;
      this.#at += 1;
      if (this.#mark === ':' || this.#mark === '=') {
        this.#at += 1;
        members.push([name, this.value()]);
      } else if (this.#mark === '{') {
        // A block may occur several times.
        const before = members.find(([known, value]) => known === name && Array.isArray(value))?.[1];
        const block = this.#object();
        if (Array.isArray(before)) before.push(block);
        else members.push([name, [block]]);
      } else this.#skip();
    });
    return Object.fromEntries(members);
  }

  #list(): unknown[] {
    const elements: unknown[] = [];
    this.#each(() => elements.push(this.value()));
    return elements;
  }
}
