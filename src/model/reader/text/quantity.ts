// The grammar of numbers in one cell or bullet: `~10KB`, `5–15 KB`, `200–800k`, `19.2M`, `1 / <0.1`, `**2,000**`.
import type { Rate } from '../../documents.ts';

export interface Quantity {
  readonly low: number;
  /** Equal to `low` if the text has no range. */
  readonly high: number;
  /** In lower case: `kb`, `ru/s`, `%`; empty: none. */
  readonly unit: string;
  /** `<`, `>`, `~`, or empty. */
  readonly comparator: string;
  readonly index: number;
  readonly end: number;
}

const NUMBER = String.raw`\d[\d,_]*(?:\.\d+|\. \d+(?=\s*(?:[KMGT]?B|[kKM]\b|%|RU)))?|\.\d+`;
const SCALE = String.raw`(?:\s?(?:k|K|M|Mio|million|billion|thousand|万|亿)(?![\p{L}/]))?`;
const UNIT = String.raw`TB|GB|MB|KB|kB|KiB|MiB|GiB|bytes?|B(?![\p{L}])|RU\/s(?:ec(?:ond)?)?|RUs?\b|RPS|QPS|TPS|(?:requests|reads|writes|operations|ops|creates|updates|events|changes)\s?(?:\/|per )\s?s(?:ec(?:ond)?)?|\/s(?:ec)?\b|%|percent|ms\b|milliseconds?|s\b|secs?\b|seconds?|min\b|minutes?|h\b|hours?|d\b|days?|weeks?|months?|years?`;
const QUANTITY = new RegExp(
  String.raw`(?<cmp><<|<|>|≤|≥|~|≈|about |approx\.? |up to |under |over )?\s?(?<low>${NUMBER})(?<lowScale>${SCALE})\s?(?<lowUnit>${UNIT})?(?:\s?(?:-|–|—|−|\.\.|to)\s?(?<high>${NUMBER})(?<highScale>${SCALE})\s?(?<unit>${UNIT})?)?\+?`,
  'giu',
);

const SCALES: Readonly<Record<string, number>> = {
  k: 1e3,
  thousand: 1e3,
  m: 1e6,
  mio: 1e6,
  million: 1e6,
  billion: 1e9,
  万: 1e4,
  亿: 1e8,
};

/** All numbers of a text in order, including ids and dates: callers check units and the words before them. */
export function quantities(source: string): Quantity[] {
  if (!/\d/.test(source)) return [];
  const text = source.replaceAll(/[*`]/g, ' ');
  const found: Quantity[] = [];
  for (const match of text.matchAll(QUANTITY)) {
    const { cmp = '', low = '', lowScale = '', lowUnit, high, highScale = '', unit } = match.groups ?? {};
    // The middle of a word or of a longer number, such as the 2 of `SHA2`.
    const before = text[match.index + match[0].indexOf(low) - 1] ?? ' ';
    if (/[\p{L}_]/u.test(before) && cmp === '') continue;
    const scale = highScale.trim() || lowScale.trim();
    const first = number(low) * scaleOf(high === undefined ? lowScale : lowScale.trim() || scale);
    const last = high === undefined ? first : number(high) * scaleOf(scale);
    found.push({
      low: Math.min(first, last),
      high: Math.max(first, last),
      unit: unitOf(unit ?? lowUnit ?? ''),
      comparator: /^(<|≤|under|up)/.test(cmp) ? '<' : /^(>|≥|over)/.test(cmp) ? '>' : cmp === '' ? '' : '~',
      index: match.index,
      end: match.index + match[0].length,
    });
  }
  return found;
}

const number = (text: string): number => Number(text.replaceAll(/[,_ ]/g, ''));
const scaleOf = (word: string): number => SCALES[word.trim().toLowerCase()] ?? 1;

function unitOf(word: string): string {
  const unit = word.toLowerCase().replaceAll(/\s/g, '').replace('per', '/');
  if (unit.startsWith('ru/s')) return 'ru/s';
  if (/^rus?$/.test(unit)) return 'ru';
  if (/^bytes?$/.test(unit)) return 'b';
  if (unit === 'percent') return '%';
  return unit.replace('ib', 'b').replace(/\/sec(ond)?$/, '/s');
}

const BYTES: Readonly<Record<string, number>> = { b: 1, kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12 };

/** Bytes of a quantity that is a size. Decimal units, as in the service's RU model. */
export const bytesOf = ({ high, unit }: Quantity): number | undefined => {
  const scale = BYTES[unit];
  return scale === undefined ? undefined : high * scale;
};

/** `124KB avg, 304KB max`, `~10KB`, `5–15KB`: average and maximum in bytes. */
export function sizeOf(text: string): { average: number; max: number } | undefined {
  const sizes = quantities(text).filter((quantity) => quantity.unit in BYTES);
  const [first] = sizes;
  if (!first) return undefined;
  const labelled = (word: RegExp): number | undefined => {
    const found = sizes.find(({ index, end }) => word.test(around(text, index, end)));
    return found && bytesOf(found);
  };
  const max = labelled(/\bmax/i) ?? Math.max(...sizes.map((size) => bytesOf(size) ?? 0));
  const scale = BYTES[first.unit] ?? 1;
  return { average: labelled(/\b(avg|average|typical)/i) ?? ((first.low + first.high) / 2) * scale, max };
}

/** The words directly before and after, up to the next separator. */
const around = (text: string, index: number, end: number): string =>
  `${/[^,;.(/]*$/.exec(text.slice(0, index))?.[0] ?? ''} ${/^[^,;.)/]*/.exec(text.slice(end))?.[0] ?? ''}`;

/** Seconds of each unit of time that a text may have. */
const SECONDS: Readonly<Record<string, number>> = {
  ms: 0.001,
  millisecond: 0.001,
  s: 1,
  sec: 1,
  second: 1,
  min: 60,
  minute: 60,
  h: 3600,
  hour: 3600,
  d: 86_400,
  day: 86_400,
  week: 604_800,
  month: 2_592_000,
  year: 31_536_000,
};

/** Milliseconds of the first duration in a text. */
export function duration(text: string): number | undefined {
  for (const { high, unit } of quantities(text)) {
    const seconds = SECONDS[unit] ?? SECONDS[unit.replace(/s$/, '')];
    if (seconds !== undefined) return high * seconds * 1000;
  }
  return undefined;
}

const PLACEHOLDER = /\[[^\]]*\]|\b(tbd|tbc|unknown|todo|n\/a|待定|未知)\b|\?\?/i;

/** How far before a number its label begins, characters. */
const LABEL = 200;

/**
 * `500 RPS`, `50/20`, `1 / <0.1`, `Peak: 0.05 RPS per practice<br>Avg: 0.01`, or only a peak. Undefined if the text has no
 * number, or has a placeholder.
 */
export function rate(text: string): Rate | undefined {
  if (PLACEHOLDER.test(text)) return undefined;
  // A slash between two numbers separates them; the slash of `/s` belongs to the unit.
  const parted = text.replaceAll(/(?<=[\d.kKM%]|RPS)\s*\/\s*(?=[<>~≈≤]|\d|avg|average|\.)/gi, ' ; ');
  const numbers = quantities(parted);
  if (numbers.length === 0) return undefined;
  const labelled = (word: RegExp): Quantity | undefined =>
    numbers.find(({ index }) =>
      word.test(
        /[^;,<\d]*$/.exec(parted.slice(Math.max(0, index - LABEL), index).replace(/[<~≈]+\s*$/, ''))?.[0] ?? '',
      ),
    ) ?? numbers.find(({ end }) => word.test(/^\s*(RPS)?\s*\(?\w*/.exec(parted.slice(end))?.[0] ?? ''));
  const average =
    labelled(/\b(avg|average|mean)|平均/i) ?? (labelled(/\bpeak|峰值/i) === undefined ? numbers[1] : undefined);
  const peak = labelled(/\b(peak|max)|峰值/i) ?? numbers.find((quantity) => quantity !== average);
  const per = /\bper (?!sec|s\b)([\p{L}]+)/u.exec(text)?.[1];
  return {
    ...(peak && { peak: peak.high }),
    ...(average && { average: average.high }),
    ...(per !== undefined && { per }),
  };
}

/** The number after one of the given words, such as `max 1,103`. */
export function numberAt(text: string, word: RegExp): number | undefined {
  for (const { index, high, comparator } of quantities(text)) {
    if (comparator !== '>' && word.test(/[^,;.(]*$/.exec(text.slice(0, index))?.[0] ?? '')) return high;
  }
  return undefined;
}
