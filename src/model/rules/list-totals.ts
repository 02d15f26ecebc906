// Totals of lists of sizes (for A17): `- Events: 50 MB a month, TTL 90 days` above `- Total: 60 MB`.
import type { Place } from '../model.ts';

export interface ListTotal {
  readonly at: Place;
  /** Bytes. */
  readonly stated: number;
  readonly sum: number;
  readonly parts: readonly number[];
}

const SIZE = /(\d[\d,]*(?:\.\d+)?)\s?(KB|MB|GB|TB)\b/gi;
const UNITS: Readonly<Record<string, number>> = { KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 };
const MONTHLY = /(?:\/|\b(?:per|a|por|al|each)\s)\s?(?:month|mes|mo)\b/i;
const KEPT =
  /\b(?:TTL|retention|retained|kept|keep|retenci[oó]n)\b[^\d]{0,20}(\d+)[- ]?(days?|d[ií]as|months?|meses|years?|años)/i;
const TOTAL = /^\s*[-*+]\s+\W*total\b/i;
const ITEM = /^\s*[-*+]\s/;

/** How many months of a monthly amount are there. */
function monthsOf(text: string): number {
  const [, count = '', unit = ''] = KEPT.exec(text) ?? [];
  if (!MONTHLY.test(text) || count === '') return 1;
  return /^d/i.test(unit) ? Number(count) / 30 : /^m/i.test(unit) ? Number(count) : 12 * Number(count);
}

/** The last size of an item is what its product comes to. */
function sizeIn(text: string): number | undefined {
  const [, digits = '', unit = ''] = [...text.matchAll(SIZE)].at(-1) ?? [];
  return digits === ''
    ? undefined
    : Number(digits.replaceAll(',', '')) * (UNITS[unit.toUpperCase()] ?? 0) * monthsOf(text);
}

export function listTotals(lines: readonly string[], file: string): ListTotal[] {
  return lines.flatMap((line, index): ListTotal[] => {
    const stated = TOTAL.test(line) ? sizeIn(line) : undefined;
    if (stated === undefined) return [];
    let first = index;
    while (first > 0 && ITEM.test(lines[first - 1] ?? '')) first--;
    const parts = lines.slice(first, index).map(sizeIn);
    const known = parts.filter((part) => part !== undefined);
    return known.length < 2 || known.length < parts.length
      ? []
      : [{ at: { file, line: index + 1 }, stated, sum: known.reduce((all, one) => all + one, 0), parts: known }];
  });
}
