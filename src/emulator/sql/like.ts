const cache = new Map<string, RegExp>();

/** LIKE's pattern as a regular expression: `%` any text, `_` one character, `[a-f]` and `[^a-f]` sets. */
export function likePattern(pattern: string, escape: string | undefined): RegExp {
  const key = `${escape ?? ''}\u0000${pattern}`;
  const known = cache.get(key);
  if (known) return known;
  let source = '';
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at]!;
    const close = char === '[' ? pattern.indexOf(']', at + 2) : -1;
    if (char === escape && at + 1 < pattern.length) source += literal(pattern[++at]!);
    else if (char === '%') source += '.*';
    else if (char === '_') source += '.';
    else if (close > 0) {
      const set = pattern.slice(at + 1, close);
      source += `[${set.startsWith('^') ? '^' : ''}${set.replace(/^\^/, '').replaceAll(/[\\\]^]/g, String.raw`\$&`)}]`;
      at = close;
    } else source += literal(char);
  }
  let expression: RegExp;
  try {
    expression = new RegExp(`^${source}$`, 's');
  } catch {
    // A set such as [z-a] matches nothing.
    expression = /(?!)/;
  }
  if (cache.size > 1000) cache.clear();
  cache.set(key, expression);
  return expression;
}

const literal = (char: string): string => char.replace(/[.*+?^${}()|[\]\\]/, String.raw`\$&`);
