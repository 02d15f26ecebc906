// A17: tables that add up.
import type { Place } from '../model.ts';
import { listTotals } from './list-totals.ts';
import { type Rule, type RuleResult, n } from './rule.ts';

interface Amount {
  readonly low: number;
  readonly high: number;
  readonly unit: string;
}

/** `$25`, `~$25-50/month`, `1,388 RU/s`: one amount alone; undefined for all else. */
function amount(cell: string): Amount | undefined {
  const text = cell.replaceAll(/[*_`~≈]|\babout\b|\bapprox\.?/gi, '').trim();
  const [, sign = '', low = '', high, factor = '', unit = ''] =
    /^([$€£]?)\s*(\d[\d,]*(?:\.\d+)?)(?:\s*[-–]\s*[$€£]?(\d[\d,]*(?:\.\d+)?))?\s*([kM]?)\b\s*([A-Za-z/ ]*)$/.exec(
      text,
    ) ?? [];
  if (low === '') return undefined;
  const value = (digits: string): number =>
    Number(digits.replaceAll(',', '')) * (factor === 'k' ? 1e3 : factor === 'M' ? 1e6 : 1);
  return {
    low: value(low),
    high: value(high ?? low),
    unit: `${sign}${unit
      .trim()
      .toLowerCase()
      .replace(/^\/?(per )?/, '')}`,
  };
}

const cells = (row: string): string[] =>
  row
    .trim()
    .replace(/^\||\|$/g, '')
    .split('|')
    .map((cell) => cell.trim());
const TOTAL = /^\W*(grand )?(total|sum|gesamt|合计|合計)\b/i;

/** A sum is wrong if it is more than this part away; prices in documents are rounded. */
const TOLERANCE = 0.1;

/** The amounts of a column above its total, if they are all of the total's unit. */
function parts(rows: readonly string[][], column: number, total: Amount): Amount[] | undefined {
  const all = rows.map((row) => amount(row[column] ?? ''));
  const known = all.filter((one) => one !== undefined && one.unit === total.unit);
  return known.length === all.length && known.length > 1 ? known.filter((one) => one !== undefined) : undefined;
}

/** Sizes in lists are rough. */
const LOOSE = 0.25;
const megabytes = (bytes: number): string => `${n(bytes / 1e6)} MB`;

export const TOTALS: readonly Rule[] = [
  {
    id: 'A17',
    title: 'A total is the sum of the rows above it',
    severity: 'warning',
    source: 'arithmetic',
    why: 'A total that isn’t the sum of its table shows that a row was changed or forgotten, and decisions are taken by the total. The rule reads tables with a last row Total whose cells above are amounts of one unit, and allows a tenth for rounding. It also adds up lists of sizes with an item Total: an amount a month counts as often as its TTL keeps months.',
    hint: 'Correct the total, or the row.',
    *check({ design, requirements }): Iterable<RuleResult> {
      for (const document of [requirements, design]) {
        if (!document) continue;
        const { lines, file } = document;
        for (const { at, stated, sum, parts: sizes } of listTotals(lines, file))
          if (Math.abs(stated - sum) > LOOSE * sum)
            yield {
              message: `The total is ${megabytes(stated)}, but the items above add up to ${megabytes(sum)}`,
              at,
              evidence: sizes.map(megabytes).join(' + '),
            };
        for (const [index, line] of lines.entries()) {
          if (!line.startsWith('|') || lines[index + 1]?.startsWith('|') || !TOTAL.test(line)) continue;
          const at: Place = { file, line: index + 1 };
          let first = index;
          while (first > 0 && lines[first - 1]?.startsWith('|')) first--;
          const rule = lines.findIndex((text, row) => row > first && row < index && /^\|[\s:|-]+$/.test(text));
          const rows = rule < 0 ? [] : lines.slice(rule + 1, index).map(cells);
          for (const [column, cell] of cells(line).entries()) {
            const total = amount(cell);
            const above = total && parts(rows, column, total);
            if (!total || !above) continue;
            const low = above.reduce((sum, one) => sum + one.low, 0);
            const high = above.reduce((sum, one) => sum + one.high, 0);
            if (total.high < low * (1 - TOLERANCE) || total.low > high * (1 + TOLERANCE))
              yield {
                message: `The total is ${cell.replaceAll('*', '')}, but the rows above add up to ${n(low)}${high === low ? '' : `–${n(high)}`}`,
                at,
                evidence: above.map((one) => n(one.high)).join(' + '),
              };
          }
        }
      }
    },
  },
];
