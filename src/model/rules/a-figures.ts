// A28 to A31: figures that the documents state twice, as parts and a sum, as a maximum, by day and second, or as a limit.
import type { Pair, Prose, Relationship } from '../documents.ts';
import type { Place } from '../model.ts';
import { words } from '../relations.ts';
import type { Access, Facts } from './facts.ts';
import { type Rule, type RuleResult, SOURCES, missing, n, quoted } from './rule.ts';
import { rowsStated } from './stated.ts';

const number = (text: string): number => Number(text.replaceAll(',', ''));

const TOGETHER =
  /;\s*(?:together|in total|altogether),? (?:about |~)?(?<sum>\d+(?:,\d{3})*(?:\.\d+)?)(?:, (?<share>\d+) %)?/i;

/** The text from the bracket or sentence in which a position lies. */
function clauseBefore(text: string, end: number): string {
  let open = 0;
  for (let at = end - 1; at >= 0; at--) {
    if (text[at] === ')') open++;
    else if (text[at] === '(' && open-- === 0) return text.slice(at + 1, end);
    else if (text[at] === '.' && text[at + 1] === ' ') return text.slice(at + 1, end);
  }
  return text.slice(0, end);
}

interface Range {
  readonly low: number;
  readonly high: number;
}

/** `667 × 26 RU = 17,342`, several such after commas, `spread over minutes: 40`, or `0.1 × 0.3 RU, under 1`. */
function part(text: string): Range | undefined {
  const results = text.split('=').slice(1);
  if (results.length > 0) {
    // `= 30 + 10`, `= 1.2k` and `= 120 half of it at night` go on with what isn't read.
    const values = results.map(
      (right) => /^\s*[~≈]?(\d+(?:,\d{3})*(?:\.\d+)?)(?:\s?RU)?(?:\/s)?\s*(?:,(?!\d)|$)/.exec(right)?.[1],
    );
    const known = values.filter((value) => value !== undefined);
    // `a = b = 40` states one result twice.
    if (known.length < values.length || /=\s*[\d,.]+\s*=/.test(text)) return undefined;
    const total = known.reduce((sum, value) => sum + number(value), 0);
    return { low: total, high: total };
  }
  const alone = /:\s*(\d[\d,]*(?:\.\d+)?)(?: RU(?:\/s)?)?\s*$/.exec(text)?.[1];
  if (alone !== undefined) return { low: number(alone), high: number(alone) };
  const under = /,\s*(?:under|below|less than) (\d[\d,]*(?:\.\d+)?)(?: RU(?:\/s)?)?\s*$/.exec(text)?.[1];
  return under === undefined ? undefined : { low: 0, high: number(under) };
}

interface Total {
  readonly sum: number;
  readonly share: number | undefined;
  readonly parts: readonly Range[];
}

function totalIn(text: string): Total | undefined {
  if (!/together|total/i.test(text)) return undefined;
  const found = TOGETHER.exec(text);
  const { sum, share } = found?.groups ?? {};
  if (!found || sum === undefined) return undefined;
  const parts = clauseBefore(text, found.index).split(';').map(part);
  const known = parts.filter((one) => one !== undefined);
  return {
    sum: number(sum),
    share: share === undefined ? undefined : Number(share),
    parts: known.length === parts.length && known.length > 1 ? known : [],
  };
}

/** Each part may be rounded. */
const fits = (sum: number, parts: readonly Range[]): boolean => {
  const slack = Math.max(0.5 * parts.length, 0.01 * sum);
  const [low, high] = [parts.reduce((all, one) => all + one.low, 0), parts.reduce((all, one) => all + one.high, 0)];
  return sum >= low - slack && sum <= high + slack;
};

const DAILY =
  /(?<![\d.,])(?<count>\d[\d,]*(?:\.\d+)?)\s?(?<scale>k|K|M|million|thousand)? (?<what>[a-z][a-z-]*(?: [a-z-]+)?) (?:a|per|each) day \((?:about |~|≈ ?)?(?<rate>\d[\d,]*(?:\.\d+)?)\s?(?:\/s|per second|a second)\b(?<average> (?:on average|in the average|average|avg))?/g;
/** An average over the open hours is above that of the day. */
const HOURS = /^[^.;]{0,20}?\b(?:over|in|during|within)\b[^.;]{0,30}\bhours?\b/i;
const SCALES: Readonly<Record<string, number>> = { k: 1e3, thousand: 1e3, m: 1e6, million: 1e6 };
const DAY_S = 86_400;
/** Figures in prose are rounded. */
const ROUGH = 1.5;

/** A peak may be any number above the average, so a rate that isn't called an average is wrong only below it. */
const contradicts = (average: number, rate: number, isAverage: boolean): boolean =>
  average > ROUGH * rate || (isAverage && rate > ROUGH * average);

const LIMIT = /^[\s(]*(?<of>[\p{L}_][\w.]*)\s*(?:>=?|<=?|≥|≤)\s*(?<limit>-?\d[\d,]*(?:\.\d+)?)[\s)]*$/u;
const COMPARED =
  /(?<before>(?:[\p{L}_]+ ){0,3})\b(?:above|over|more than|higher than|below|under|less than|lower than|at least|at most|from)\s+(?<limit>-?\d+(?:,\d{3})*(?:\.\d+)?)\s*(?<unit>°C|%|[\p{L}_]+)?/giu;
/** Units that fields have another word for. */
const UNITS: Readonly<Record<string, RegExp>> = { '°c': /celsius|temperature/i, '%': /percent/i };

/** Whether the words beside a number name the field that the measure compares, or its unit. */
function isOfField(field: string, { before = '', unit = '' }: Readonly<Record<string, string | undefined>>): boolean {
  const names = (field.split('.').at(-1) ?? '').split(/_|(?<=[a-z\d])(?=[A-Z])/).map(stem);
  return (
    UNITS[unit.toLowerCase()]?.test(field) === true ||
    [...before.trim().split(' '), unit].some((word) => word !== '' && names.includes(stem(word)))
  );
}

const stem = (word: string): string => word.toLowerCase().replace(/s$/, '');

/** The clauses that say from which value on something counts as what a measure counts. */
function* limits(facts: Facts): Iterable<{ field: string; limit: number; said: number[]; at: Place; row: Place }> {
  for (const { measures, at: row } of facts.rows)
    for (const { field, of } of measures) {
      const { of: compared, limit } = LIMIT.exec(of)?.groups ?? {};
      if (compared === undefined || limit === undefined) continue;
      const defined = new RegExp(String.raw`\b(?:counts? as|means|is|are|is called)(?: an?)? ${stem(field)}s?\b`, 'i');
      for (const { text, at } of facts.prose)
        for (const clause of text.split(/[;.,](?!\d)/)) {
          if (!defined.test(clause)) continue;
          const said = [...clause.matchAll(COMPARED)].flatMap(({ groups = {} }) =>
            isOfField(compared, groups) ? [number(groups['limit'] ?? '')] : [],
          );
          if (said.length > 0) yield { field, limit: number(limit), said, at, row };
        }
    }
}

const childOf = ({ child }: Relationship): string => words(child.split(/\s+as\s+/)[0] ?? '');
const largest = (all: readonly Relationship[]): number[] => all.flatMap(({ max }) => max ?? []);

/** `max 200 lines × 0.2 KB`: how many there are at most; `max 2 KB × 100 lines` begins with a size. */
const countIn = (text: string): number | undefined => {
  const count = /\bmax(?:imum)?\.? (?<count>\d[\d,]*)(?! ?(?:[kmgt]?i?b|bytes?|ru)\b)(?: [a-z]+)?(?: [a-z]+)? ?×/i.exec(
    text,
  )?.groups?.['count'];
  return count === undefined ? undefined : number(count);
};

/** Relationships of a pair that is kept in one document or partition. */
function ofPair({ relationships }: NonNullable<Facts['requirements']>, { parent, child }: Pair): Relationship[] {
  return relationships.filter((one) => words(one.parent) === words(parent) && childOf(one) === words(child));
}

/** The relationships whose children a row lists: all of the type under the parent that its description names. */
function listed(facts: Facts, { pattern, row, detail }: Access): Relationship[] {
  const [query, ...others] = row.queries;
  const { partitionKey, types } = detail.container;
  const key = partitionKey.map((path) => path.slice(1).replaceAll('/', '.'));
  const whole =
    query &&
    others.length === 0 &&
    key.every((field) => query.equal.includes(field)) &&
    query.filters.every((field) => key.includes(field) || field === 'type') &&
    !/\b(?:top|limit|join|group by|distinct|count)\b/i.test(query.text);
  if (!whole || types.length !== 1) return [];
  const names = new Set([words(detail.container.name), words(types[0]?.name ?? '')]);
  const said = `${pattern?.description ?? ''} ${row.operationText}`.toLowerCase();
  return (facts.requirements?.relationships ?? []).filter(
    (one) => one.many && names.has(childOf(one)) && said.includes(words(one.parent)),
  );
}

/** The line of a pair's sizes. */
const sizeText = (facts: Facts, { places }: Pair): Prose | undefined =>
  facts.requirements?.prose.find(({ at }) => at.line === places.size?.line);

export const FIGURES: readonly Rule[] = [
  {
    id: 'A28',
    title: 'The parts of a load add up to the sum that is stated behind them',
    severity: 'warning',
    source: 'arithmetic',
    why: 'A throughput is chosen by the sum. If two digits changed places in it, or a part was changed later, the plan is for another load. The rule reads parts between semicolons that each end in a result, and the sum behind them: `import 667 × 26 RU = 17,342; portal 10 × 17 = 170; together 17,512, 58 %`. It compares the share with the maximum of the container, too. If it can’t read a part, it doesn’t add up.',
    hint: 'Correct the sum, or the part.',
    *check(facts): Iterable<RuleResult> {
      let any = false;
      for (const { text, at } of facts.prose) {
        const total = totalIn(text);
        if (!total) continue;
        any = true;
        const { sum, share, parts } = total;
        const evidence = parts.map(({ low, high }) => (low === high ? n(low) : `under ${n(high)}`)).join(' + ');
        if (parts.length > 0 && !fits(sum, parts))
          yield {
            message: `The parts add up to ${n(parts.reduce((all, { high }) => all + high, 0))}, but the text says together ${n(sum)}`,
            at,
            words: n(sum),
            evidence,
          };
        const detail = facts.containers.find(({ prose }) =>
          prose.some((piece) => piece.at.line === at.line && piece.at.file === at.file),
        );
        const max = detail?.container.throughput?.max;
        if (share !== undefined && max !== undefined && Math.abs(share - (100 * sum) / max) > 1)
          yield {
            message: `${n(sum)} of ${n(max)} RU/s are ${n((100 * sum) / max)} %, not ${share} %`,
            at,
            words: `${share} %`,
          };
      }
      if (!any) yield missing('a sum behind its parts ("together 300")');
    },
  },
  {
    id: 'A29',
    title: 'The largest number of a relationship is the same in the analysis and in the rows',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'The size of a document with embedded children, and the RU of a query that lists all children of a parent, follow from the largest number. If the relationships say "max 20,000 lines" and the analysis calculates with 200, the lines don’t fit the document. The rule compares `max 113` of a relationship with `max 113 lines × 0.2 KB` in the analysis of the same two entities, and with the rows that a query of the whole key may return ("at most 113 rows").',
    hint: 'Find out which number is right, and calculate again with it.',
    *check(facts): Iterable<RuleResult> {
      const { requirements } = facts;
      if (!requirements || largest(requirements.relationships).length === 0) {
        yield missing('the largest numbers of relationships');
        return;
      }
      for (const pair of requirements.pairs) {
        const text = sizeText(facts, pair);
        const count = countIn(text?.text ?? '');
        const all = ofPair(requirements, pair);
        const [first] = all;
        if (!text || !first || count === undefined || largest(all).length < all.length) continue;
        if (!largest(all).includes(count))
          yield {
            message: `${first.parent} → ${first.child} has at most ${n(first.max ?? 0)}, but its sizes are calculated with ${n(count)}`,
            at: first.at,
            related: [text.at],
          };
      }
      for (const access of facts.accesses) {
        // A page of them isn't all.
        const { notes } = access.row;
        const isAll = /\bat most [\d,]+ \w/i.test(notes) && !/\bpages?\b|\bpaged\b|\bcontinuation/i.test(notes);
        const rows = isAll ? rowsStated(access.row) : undefined;
        const all = listed(facts, access);
        const [first] = all;
        if (rows === undefined || !first || largest(all).length < all.length) continue;
        if (largest(all).every((max) => max > rows))
          yield {
            message: `${first.parent} → ${first.child} has at most ${n(first.max ?? 0)}, but row ${access.row.printed} lists at most ${n(rows)}`,
            at: first.at,
            related: [access.row.at],
          };
      }
    },
  },
  {
    id: 'A30',
    title: 'A number a day and the rate a second beside it agree',
    severity: 'warning',
    source: 'arithmetic',
    why: 'The rates of the patterns are derived from what happens in a day. "600,000 orders a day (0.7/s on average)" is wrong in one of its figures: 600,000 a day are 6.9 a second. The rule reads a number a day with a rate in brackets behind it. A rate that isn’t called an average may be a peak, so it is wrong only if it is below the average.',
    hint: 'Correct the number or the rate: a number a day ÷ 86,400 is the average a second.',
    *check(facts): Iterable<RuleResult> {
      let any = false;
      for (const { text, at } of facts.prose)
        for (const { 0: said, index, groups = {} } of text.matchAll(DAILY)) {
          any = true;
          const { count = '', scale = '', rate = '', average } = groups;
          const mean = (number(count) * (SCALES[scale.toLowerCase()] ?? 1)) / DAY_S;
          const isAverage = average !== undefined && !HOURS.test(text.slice(index + said.length));
          if (contradicts(mean, number(rate), isAverage))
            yield {
              message: `${quoted(said)}: that many a day are ${n(mean)}/s on average`,
              at,
              words: count,
              evidence: `${count}${scale} ÷ 86,400 s = ${n(mean)}/s`,
            };
        }
      if (!any) yield missing('a number a day with its rate ("60,000 orders a day (0.7/s)")');
    },
  },
  {
    id: 'A31',
    title: 'A limit in a sentence is the limit of the measure that counts by it',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'Readers take from the text what a number means. If the text says that a reading above 10 °C counts as an alarm, and the measure is `alarms = sum(celsius > 8)`, they take 9 °C for no alarm, and the total contradicts them. The rule compares sentences such as "counts as an alarm" and "is delayed" with the measure of that name, if the word before or behind the number is the field that the measure compares, or its unit.',
    hint: 'Correct the sentence or the measure.',
    *check(facts): Iterable<RuleResult> {
      const all = [...limits(facts)];
      if (all.length === 0) yield missing('a sentence with the limit of a measure');
      for (const { field, limit, said, at, row } of all)
        if (!said.includes(limit))
          yield {
            message: `The text says ${said.map(n).join(' and ')}, but ${field} counts by ${n(limit)}`,
            at,
            words: n(said[0] ?? 0),
            related: [row],
          };
    },
  },
];
