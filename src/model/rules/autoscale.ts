// What sentences and tables say of autoscale beside manual throughput (for B22).
import type { Design } from '../documents.ts';
import type { Place } from '../model.ts';
import { linesSaying } from './said.ts';

const AUTOSCALE = /auto-?scale|オートスケール|自動スケーリング/i;
const MANUAL = /\bmanual\b|\bprovisioned\b|\bstandard\b|\bfixed\b|手動|プロビジョニング/i;
const RANGE = /(?<low>\d[\d,]*)\s*[-–~]\s*(?<high>\d[\d,]*)/;
const RATE = /(?<rate>\d[\d,]*) ?RU\/s/i;
/** `¥3,000-30,000`, `$24`. */
const MONEY = /[$€£¥￥]\s?(?<low>\d[\d,.]*)(?:\s*[-–~]\s*[$€£¥￥]?\s?(?<high>\d[\d,.]*))?/;

const number = (text: string | undefined): number => Number((text ?? '').replaceAll(',', ''));

interface Price {
  /** RU/s at which it is asked. */
  readonly rate: number;
  readonly money: number;
  readonly at: Place;
}

function priceIn(text: string, at: Place): (Price & { readonly scaled: boolean }) | undefined {
  const money = MONEY.exec(text);
  if (!money) return undefined;
  const rest = text.replace(money[0], ' ');
  const scaled = AUTOSCALE.test(text);
  const rate = scaled ? RANGE.exec(rest)?.groups?.['low'] : RATE.exec(rest)?.groups?.['rate'];
  return rate === undefined || (!scaled && !MANUAL.test(text))
    ? undefined
    : { rate: number(rate), money: number(money.groups?.['low']), at, scaled };
}

/** Below this factor autoscale isn't 1.5 times the manual rate, whatever was rounded. */
const DEARER = 1.25;

export interface Cheap {
  readonly scaled: Price;
  readonly manual: Price;
}

/** Autoscale at its lowest, which costs as little as the same manual throughput beside it. */
export function cheapIn(design: Design): Cheap[] {
  const prices = linesSaying(design, MONEY).flatMap(([line, text]) => priceIn(text, { file: design.file, line }) ?? []);
  const manual = prices.filter(({ scaled }) => !scaled);
  return prices
    .filter(({ scaled }) => scaled)
    .flatMap((scaled): Cheap[] => {
      const same = manual.find(({ rate, money }) => rate === scaled.rate && money > 0);
      return same && scaled.money < DEARER * same.money ? [{ scaled, manual: same }] : [];
    });
}

/** `Manual or Autoscale (minimum 400 RU/s)`: one figure for both, which only manual throughput may have. */
const EITHER = /\bmanual\b\W{0,6}\bor\b\W{0,6}\bautoscale\b[^\d|]{0,20}(?<rate>\d[\d,]*) ?RU\/s(?![^.|]*\d)/i;

export const eitherIn = (design: Design): { readonly at: Place }[] =>
  linesSaying(design, EITHER).flatMap(([line, text]) => {
    const rate = number(EITHER.exec(text)?.groups?.['rate']);
    return rate < 1000 ? [{ at: { file: design.file, line } }] : [];
  });
