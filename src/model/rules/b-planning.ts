// B20: the load of *Throughput Planning*, against the patterns and projections, and against its own parts.
import { type Facts, writtenFacts } from './facts.ts';
import { type Found, type Rule, DESIGN, n } from './rule.ts';

const PLANNING = /throughput|ru planning|吞吐量/i;
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

/** The parts that *Throughput Planning* states, against the sum behind them, and the sum against the maximum. */
function* unequal(facts: Facts): Iterable<Found> {
  for (const detail of facts.containers) {
    const planning = facts.labelled(detail, PLANNING);
    const total = planning && totalIn(planning.text);
    if (!total) continue;
    const { at } = planning;
    const { sum, share, parts } = total;
    if (parts.length > 0 && !fits(sum, parts))
      yield {
        message: `The parts add up to ${n(parts.reduce((all, { high }) => all + high, 0))}, but the text says together ${n(sum)}`,
        at,
        words: n(sum),
        evidence: parts.map(({ low, high }) => (low === high ? n(low) : `under ${n(high)}`)).join(' + '),
      };
    const max = detail.container.throughput?.max;
    if (share !== undefined && max !== undefined && Math.abs(share - (100 * sum) / max) > 1)
      yield {
        message: `${n(sum)} of ${n(max)} RU/s are ${n((100 * sum) / max)} %, not ${share} %`,
        at,
        words: `${share} %`,
      };
  }
}

export const STATED: readonly Rule[] = [
  {
    id: 'B20',
    title: 'The load that a container’s design states is what its patterns and projections give',
    severity: 'warning',
    why: 'The rule adds up the load: rate × RU of each pattern, the writes of projections (each element of a list, the groups of an aggregate of an aggregate, the copies of a joined document that changes), the reads of joined documents and of the feed. It compares the sum with the figure that the text states ("together 1,388 RU/s"). It fails if one is more than twice the other. It also adds up the parts that the text states between semicolons: `import 667 × 26 RU = 17,342; portal 10 × 17 = 170; together 17,512, 58 %`, and compares the share with the container’s maximum. If it can’t read a part, it doesn’t add up.',
    hint: 'Correct the figure, or the rates and RU that it is made of. `millrace model cost --terms` shows the terms.',
    needs: [DESIGN],
    *check(facts) {
      const all = facts.containers.flatMap((detail) => {
        const prose = facts.labelled(detail, PLANNING);
        const [, text] =
          /\b(?:together|in total|total of|altogether),? (?:about |~)?(\d[\d,]*)/i.exec(prose?.text ?? '') ?? [];
        return text === undefined || !prose ? [] : [{ detail, stated: Number(text.replaceAll(',', '')), at: prose.at }];
      });
      yield* unequal(facts);
      for (const { detail, stated, at } of all) {
        const computed = facts.peak(detail);
        if (computed === 0 || (computed <= 2 * stated && stated <= 2 * computed)) continue;
        yield {
          message: `${detail.container.name} states a load of ${n(stated)} RU/s; its patterns and projections give ${n(computed)}`,
          at,
          evidence: writtenFacts(facts.load(detail), n),
        };
      }
    },
  },
];
