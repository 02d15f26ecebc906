// Texts on which a pattern is slow, if it is: made from the pattern itself.
/** A part of a pattern. `text` is its source. */
type Part =
  | { readonly kind: 'one'; readonly text: string }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'group'; readonly of: readonly (readonly Part[])[] }
  | { readonly kind: 'many'; readonly of: Part; readonly least: number; readonly most: number };

/** From so many repetitions on, a quantifier can be made to work. */
const MANY = 20;
const USUAL = ['a', 'A', '0', ' ', '\t', '\n', '_', '-', '.', '/', '"', "'", '(', ',', ':', '*', '|', '`', '\\', 'é'];

/** Reads the source of a pattern. It knows what JavaScript's patterns have, and takes what it doesn't know for one character. */
function parse(source: string): Part[][] {
  let at = 0;
  const alternatives = (): Part[][] => {
    const all: Part[][] = [[]];
    while (at < source.length && source[at] !== ')') {
      if (source[at] === '|') {
        all.push([]);
        at += 1;
      } else all.at(-1)?.push(quantified(one()));
    }
    return all;
  };
  const one = (): Part => {
    const begin = at;
    const first = source[at];
    at += 1;
    if (first === '(') {
      const looks = /^\?(?:=|!|<=|<!|:|<\w+>|[a-z-]+:)/.exec(source.slice(at))?.[0] ?? '';
      at += looks.length;
      const of = alternatives();
      at += 1;
      return /^\?<?!/.test(looks) ? { kind: 'nothing' } : { kind: 'group', of };
    }
    if (first === '[') {
      let depth = 1;
      while (depth > 0 && at < source.length) {
        if (source[at] === '\\') at += 1;
        else if (source[at] === '[') depth += source.includes('&&') || source.includes('--') ? 1 : 0;
        else if (source[at] === ']') depth -= 1;
        at += 1;
      }
    } else if (first === '\\') {
      const long = /^(?:[pPu]\{[^}]*\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|k<\w+>|.)/s.exec(source.slice(at))?.[0] ?? '';
      at += long.length;
      if (/^(?:[bB]|k<|[1-9])/.test(long)) return { kind: 'nothing' };
    } else if (first === '^' || first === '$') return { kind: 'nothing' };
    return { kind: 'one', text: source.slice(begin, at) };
  };
  const quantified = (of: Part): Part => {
    const [found, low, comma, high] = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/.exec(source.slice(at)) ?? [];
    if (found === undefined) return of;
    at += found.length;
    if (low !== undefined) {
      const least = Number(low);
      return { kind: 'many', of, least, most: comma === '' ? least : high === '' ? Infinity : Number(high) };
    }
    return { kind: 'many', of, least: found.startsWith('+') ? 1 : 0, most: found.startsWith('?') ? 1 : Infinity };
  };
  return alternatives();
}

/** Texts that are slow for `pattern`, if any is: at most about `length` characters each. */
export function* hostileTo(pattern: RegExp, length: number): Generator<string> {
  const flags = pattern.flags.replaceAll(/[gy]/g, '');
  const own = [...new Set(pattern.source.replaceAll(/\\[a-zA-Z]/g, ''))];
  const alphabet = [...new Set([...USUAL, ...own])];
  const chars = new Map<string, string[]>();
  const charsOf = (text: string): string[] => {
    const known = chars.get(text);
    if (known) return known;
    const matcher = new RegExp(`^${text}$`, flags);
    const found = alphabet.filter((char) => matcher.test(char));
    // A letter beyond the alphabet: \u2028, \x60, \p{…}.
    if (found.length === 0)
      for (let code = 0; code < 0x3000 && found.length === 0; code += 1)
        if (matcher.test(String.fromCodePoint(code))) found.push(String.fromCodePoint(code));
    chars.set(text, found);
    return found;
  };
  const sample = (part: Part): string => {
    if (part.kind === 'nothing') return '';
    if (part.kind === 'one') return charsOf(part.text)[0] ?? '';
    if (part.kind === 'group') return samples(part.of[0] ?? []);
    return sample(part.of).repeat(Math.min(part.least, 200));
  };
  const samples = (parts: readonly Part[]): string => parts.map(sample).join('');

  const pairs: [string, string][] = [];
  const visit = (parts: readonly Part[], before: string): void => {
    let prefix = before;
    for (const part of parts) {
      if (part.kind === 'group') for (const alternative of part.of) visit(alternative, prefix);
      if (part.kind === 'many') {
        const inner = part.of;
        if (inner.kind === 'group') for (const alternative of inner.of) visit(alternative, prefix);
        if (part.most >= MANY) {
          const pumps =
            inner.kind === 'one'
              ? charsOf(inner.text)
              : inner.kind === 'group'
                ? inner.of.flatMap((alternative) => [
                    samples(alternative),
                    ...alternative.flatMap((one) =>
                      one.kind === 'many' && one.of.kind === 'one' ? charsOf(one.of.text) : [],
                    ),
                  ])
                : [];
          for (const pump of pumps) if (pump !== '') pairs.push([prefix, pump]);
        }
      }
      prefix += part.kind === 'many' && part.least === 0 && part.most > 1 ? '' : sample(part);
    }
  };
  const tree = parse(pattern.source);
  for (const alternative of tree) visit(alternative, '');
  if (pairs.length === 0) return;
  // What an escape may hide.
  for (const char of own.slice(0, 12)) pairs.push(['', `\\${char}`]);
  const seen = new Set<string>();
  for (const [prefix, pump] of pairs) {
    for (const [before, repeated] of [
      [prefix, pump],
      ['', pump],
      ['', prefix + pump],
      ['', prefix],
    ] as const) {
      const name = `${before}\u0000${repeated}`;
      if (repeated === '' || seen.has(name)) continue;
      seen.add(name);
      const body = before + repeated.repeat(Math.ceil(length / repeated.length));
      yield `${body}\u0001`;
      yield `${body}\n\u0001`;
    }
  }
}
