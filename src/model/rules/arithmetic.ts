// Arithmetic in prose: `90 × 1 + 20 × 9 = 270 RU`, `5.5 % of 6,222 RU/s = 342 RU/s`.

export interface Sum {
  readonly written: string;
  readonly value: number;
  readonly stated: number;
}

type Token =
  | { readonly kind: 'number'; readonly value: number; readonly step: number; readonly percent: boolean }
  | { readonly kind: 'op'; readonly op: string };

const TOKEN =
  /(?<number>\d[\d,]*(?:\.\d+)?)\s?(?<scale>(?:million|billion|k|K|M)(?!\w))?(?<percent>\s?%)?(?:\s?(?<unit>[KMGT]B)\b)?|(?<op>[×x*÷/+()=]|\bof\b|\btimes\b|[-−](?=\s?\d))/giu;

/** Every wrong `expression = number` whose left side has only numbers, operators, and words between them. */
export function sums(text: string): Sum[] {
  const found: Sum[] = [];
  if (!/[=⇒]|\s(?:is|makes|together)\s/i.test(text)) return found;
  // Semicolons, commas, full stops and the like separate expressions; brackets inside a sum are part of it.
  const equations = text
    .replaceAll(/`[^`]*`/g, ' ')
    .replaceAll(/=>|⇒|,?\s(?:is|makes|together)\s(?=[~≈]?[$€£]?\d)/g, ' = ');
  for (const clause of equations.split(/;|,(?!\d)|\.(?!\d)|:|\band\b|->|→/)) {
    const sides = clause.split('=');
    for (const [index, right] of sides.entries()) {
      const left = sides[index - 1];
      if (left === undefined || sides.length > 3 || !/\d/.test(left) || !/\d/.test(right)) continue;
      // `200-500 items per partition = 10-25 KB` has a range on the left, and no sum.
      if (/\d[-–−]\d/.test(left) && !/[×x*÷/+]/.test(left)) continue;
      const stated = tokens(right, true)[0];
      const bare = tokens(right, false)[0];
      const value = evaluate(tokens(left, true));
      const unscaled = evaluate(tokens(left, false));
      if (value === undefined || unscaled === undefined || stated?.kind !== 'number' || bare?.kind !== 'number')
        continue;
      // The right side is a bound, or its number comes after other words and means something else.
      if (/^[^\d]*[<>]/.test(right) || /^\D{6,}\d/.test(right.trim())) continue;
      const perSecond = /\/s\b/.test(right) ? (PERIODS.find(([words]) => words.test(left))?.[1] ?? 1) : 1;
      // If only the left side has a size, the result has another unit: `192 GB ÷ 50 = 4 partitions`.
      const sized = stated.value !== bare.value;
      const about = /^[^\d]*[~≈]/.test(right) ? 0.2 : 0.011;
      // A size may be counted in steps of 1,024.
      const fits = [value, value / perSecond, value === unscaled ? value : 1.024 * value].some((result) =>
        close(result, stated.value, stated, about),
      );
      if (
        !fits &&
        (sized || ![unscaled, unscaled / perSecond].some((result) => close(result, bare.value, bare, about)))
      )
        found.push({ written: `${left.trim()} =${right.trimEnd()}`, value: unscaled, stated: bare.value });
    }
  }
  return found;
}

/** Accepts rounding of the last written digit, or a share of the value, because terms are rounded too. */
const close = (value: number, stated: number, { step }: { readonly step: number }, share: number): boolean =>
  Math.abs(value - stated) <= Math.max(0.51 * step, share * Math.abs(value));

/** Seconds of the period on the left side, if the result is a rate a second. */
const PERIODS: readonly (readonly [RegExp, number])[] = [
  [/\b(a|per|each) minute|\/min\b/i, 60],
  [/\b(an|per|each) hour|\/h\b/i, 3600],
  [/\b(a|per|each) day|\/d\b/i, 86_400],
];
const UNITS: Readonly<Record<string, number>> = { kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12 };

/** `scaled`: sizes are in bytes, so that KB times a number may be MB. */
function tokens(text: string, scaled: boolean): Token[] {
  const list: Token[] = [];
  for (const match of text.matchAll(TOKEN)) {
    const { number, scale, percent, unit, op } = match.groups ?? {};
    const before = text[match.index - 1] ?? ' ';
    const after = text[match.index + match[0].length] ?? ' ';
    if (number !== undefined) {
      if (/[\p{L}_]/u.test(before)) continue;
      // In `$0.25/GB` the size divides.
      const per = scaled
        ? (UNITS[/^\/([KMGT]B)\b/i.exec(text.slice(match.index + match[0].length))?.[1]?.toLowerCase() ?? ''] ?? 1)
        : 1;
      const times =
        ({ k: 1e3, m: 1e6, million: 1e6, billion: 1e9 }[scale?.toLowerCase() ?? ''] ?? 1) *
        (percent === undefined ? 1 : 0.01) *
        ((scaled ? (UNITS[unit?.toLowerCase() ?? ''] ?? 1) : 1) / per);
      list.push({
        kind: 'number',
        value: Number(number.replaceAll(',', '')) * times,
        step: times * 10 ** -(number.split('.')[1]?.length ?? 0),
        percent: percent !== undefined,
      });
    } else if (op !== undefined) {
      // The slash of `RU/s` or `creates/s`, and the x of a word, aren't operators.
      if (
        (op === '/' && (/\p{L}/u.test(before) || /\p{L}/u.test(after))) ||
        (/^[a-z]+$/i.test(op) && /\p{L}/u.test(before + after))
      )
        continue;
      // "2 of 5 stores" isn't a product; "5 % of 40" is one.
      const last = list.at(-1);
      const product = op.toLowerCase() !== 'of' || (last?.kind === 'number' && last.percent);
      list.push({ kind: 'op', op: product ? op.toLowerCase() : 'words' });
    }
  }
  return list;
}

/** The value of the tokens; undefined if they don't form an expression with at least one operator. */
function evaluate(all: readonly Token[]): number | undefined {
  const list = balanced(all);
  let at = 0;
  let operators = 0;
  const peek = (): string | undefined => {
    const token = list[at];
    return token?.kind === 'op' ? token.op : undefined;
  };
  const factor = (): number | undefined => {
    const token = list[at];
    if (token?.kind === 'number') {
      at++;
      return token.value;
    }
    if (peek() !== '(') return undefined;
    at++;
    const value = expression();
    if (peek() !== ')') return undefined;
    at++;
    return value;
  };
  const term = (): number | undefined => {
    let value = factor();
    for (let op = peek(); value !== undefined && op !== undefined && /^([×x*÷/]|of|times)$/.test(op); op = peek()) {
      at++;
      operators++;
      const next = factor();
      if (next === undefined) return undefined;
      value = op === '÷' || op === '/' ? value / next : value * next;
    }
    return value;
  };
  const expression = (): number | undefined => {
    let value = term();
    for (let op = peek(); value !== undefined && (op === '+' || op === '-' || op === '−'); op = peek()) {
      at++;
      operators++;
      const next = term();
      if (next === undefined) return undefined;
      value += op === '+' ? next : -next;
    }
    return value;
  };
  const value = expression();
  return at === list.length && operators > 0 ? value : undefined;
}

/** Removes brackets that open before the expression or close after it. */
function balanced(all: readonly Token[]): Token[] {
  const list = [...all];
  for (;;) {
    let depth = 0;
    let unopened = -1;
    const open: number[] = [];
    for (const [index, token] of list.entries()) {
      if (token.kind !== 'op') continue;
      if (token.op === '(') open.push(index);
      if (token.op === ')' && open.pop() === undefined) unopened = index;
      depth = open.length;
    }
    if (unopened >= 0) list.splice(0, unopened + 1);
    else if (depth > 0) list.splice(0, (open.at(-1) ?? 0) + 1);
    else return list;
  }
}
