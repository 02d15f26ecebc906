// B10 to B18: throughput and money.
import { HOURS_PER_MONTH } from '../estimate.ts';
import type { ContainerDetail, Text } from '../documents.ts';
import { quantities } from '../reader/quantity.ts';
import { type Facts, figures, sum, written } from './facts.ts';
import { type Rule, DESIGN, MAPPING, SOURCES, missing, n } from './rule.ts';

const RU = SOURCES.microsoft('Request Units in Azure Cosmos DB');
const LIMITS = SOURCES.microsoft('Azure Cosmos DB service quotas');

/** The number of regions in the distribution section. */
function regions({ design }: Facts): { count: number; at: Text['at'] } | undefined {
  const setup = design?.prose.find(
    ({ section, label }) => section === 'distribution' && /region|setup|区域/i.test(label ?? ''),
  );
  if (!setup) return undefined;
  const count = /\b(one|single|1) region|no multi-region|单区域/i.test(setup.text)
    ? 1
    : (/(\d+) regions/i.exec(setup.text)?.[1] ??
      ({ two: 2, three: 3, four: 4, five: 5 } as Record<string, number>)[
        /\b(two|three|four|five) regions/i.exec(setup.text)?.[1]?.toLowerCase() ?? ''
      ]);
  return count === undefined ? undefined : { count: Number(count), at: setup.at };
}

const serverless = (facts: Facts): { detail: ContainerDetail; text: string; at: Text['at'] }[] =>
  facts.containers.flatMap((detail) => {
    const mode = facts.labelled(detail, /throughput|capacity|ru planning|吞吐量/i);
    return mode && /serverless/i.test(mode.text) ? [{ detail, text: mode.text, at: mode.at }] : [];
  });

/** Monthly costs such as `$12.50/month` or `€ 1,200/month`, if the same piece of prose states their RU/s. */
function costs(facts: Facts): { amount: number; ru: number; at: Text['at']; text: string }[] {
  return (facts.design?.prose ?? []).flatMap(({ text, at }) => {
    const money = /[$€£]\s?(\d[\d,]*(?:\.\d+)?)\s*(?:\/|per |a )\s*month/i.exec(text);
    if (money?.[1] === undefined) return [];
    const ru = quantities(text).find(({ unit }) => unit === 'ru/s')?.high;
    return ru === undefined ? [] : [{ amount: Number(money[1].replaceAll(',', '')), ru, at, text }];
  });
}

/** `$0.008 per 100 RU/s per hour`, from the settings or the documents. */
function priceOf(facts: Facts): number | undefined {
  if (facts.settings.price !== undefined) return facts.settings.price;
  for (const { text } of facts.prose) {
    const found = /[$€£]\s?(\d*\.\d+)\s*(?:\/|per )\s*100 RU\/?s?/i.exec(text);
    if (found) return Number(found[1]);
  }
  return undefined;
}

/** The range as it is written, and with the floor of its maximum in the same form. */
function floorOf(
  line: string,
  { low, high }: { readonly low: number; readonly high: number },
): { from: string; to: string }[] {
  const figure = (value: number): string => `(?:${n(value)}|${value})`;
  const match = new RegExp(`(?<![\\d.,])${figure(low)}(?=\\s*(?:-|–|—|to)\\s*${figure(high)}(?![\\d.,]*\\d))`).exec(
    line,
  );
  const rest = match ? /^\D+[\d,]+/.exec(line.slice(match.index + match[0].length))?.[0] : undefined;
  return match && rest !== undefined ? [{ from: `${match[0]}${rest}`, to: `${n(high / 10)}${rest}` }] : [];
}

export const COST: readonly Rule[] = [
  {
    id: 'B10',
    title: 'No query across partitions is frequent or reads many partitions',
    severity: 'error',
    source: `${SOURCES.seed}; ${SOURCES.microsoft('Query a container in Azure Cosmos DB')}: avoid above 30,000 RU/s or 100 GB`,
    why: 'Such a query costs RU in every physical partition. The rule warns if a query reads more than one partition and runs 10 times a second or more (a setting). It also warns about such a query if the document doesn’t state the container’s size. It fails from 100 partitions on.',
    hint: 'Derive a copy by the change feed, in a container whose partition key the query knows.',
    needs: [DESIGN, MAPPING],
    *check(facts) {
      for (const { row, detail, peak } of facts.crossing) {
        const partitions = facts.partitions(detail);
        if (partitions < 2 && peak !== undefined && peak >= facts.settings.frequent && !detail.data)
          yield {
            severity: 'warning',
            message: `Row ${row.printed} reads every partition of ${detail.container.name} ${n(peak)} times a second, and the document doesn't state the container's size`,
            at: row.at,
            hint: 'Derive a copy whose key the query knows. If the container stays below 50 GB, write its size.',
          };
        if (partitions < 2) continue;
        if (partitions >= 100)
          yield {
            message: `Row ${row.printed} queries ${n(partitions)} partitions`,
            at: row.at,
            evidence: `2.5 × ${n(partitions)} = ${n(2.5 * partitions)} RU a query`,
          };
        else if (peak === undefined) yield missing(`the RPS of pattern ${row.printed}`);
        else if (peak >= facts.settings.frequent)
          yield {
            severity: 'warning',
            message: `Row ${row.printed} queries ${n(partitions)} partitions ${n(peak)} times a second`,
            at: row.at,
            evidence: `${n(peak)}/s × 2.5 × ${n(partitions)} = ${n(peak * 2.5 * partitions)} RU/s for visiting the partitions alone`,
          };
      }
    },
  },
  {
    id: 'B11',
    title: 'A container’s load fits its throughput',
    severity: 'error',
    source: SOURCES.seed,
    why: 'The load is the sum of peak RPS × RU over the patterns of the mapping, plus the writes of projections and the reads of the feed. The rule fails if the load is above the declared maximum. It warns above 70 % of it (a setting), because bursts are then throttled.',
    hint: 'Raise the maximum, or reduce the load.',
    needs: [DESIGN],
    *check(facts) {
      for (const detail of facts.containers) {
        const max = detail.container.throughput?.max;
        const terms = facts.load(detail);
        if (max === undefined) {
          if (terms.length > 0 && !serverless(facts).some((of) => of.detail === detail))
            yield missing(`the throughput of ${detail.container.name}`);
          continue;
        }
        const need = sum(terms.map(({ perSecond, ru }) => perSecond * ru));
        const over = need > max;
        if (!over && need <= facts.settings.headroom * max) continue;
        yield {
          severity: over ? 'error' : 'warning',
          message: `${detail.container.name} needs ${n(need)} RU/s at the peak${over ? '' : `, ${n((100 * need) / max)} % of the maximum`}; the design allows ${n(max)}`,
          at: facts.place(detail, 'throughput'),
          evidence: written(terms, n),
        };
      }
    },
  },
  {
    id: 'B12',
    title: 'An autoscale range goes from a tenth of its maximum to its maximum',
    severity: 'error',
    source: `${SOURCES.seed}; ${SOURCES.microsoft('Provision autoscale throughput')}`,
    why: 'Autoscale never goes below a tenth of its maximum. The maximum is at least 1,000 RU/s and at least 10 RU/s for each stored GB, in steps of 1,000.',
    hint: 'Write a range that the service allows.',
    needs: [DESIGN],
    *check(facts) {
      const scaled = facts.containers.filter(({ container }) => container.throughput?.kind === 'autoscale');
      if (scaled.length === 0) {
        yield missing('a container with autoscale');
        return;
      }
      for (const detail of scaled) {
        const max = detail.container.throughput?.max ?? 0;
        const at = facts.place(detail, 'throughput');
        const {
          range,
          data,
          container: { name },
        } = detail;
        if (range && range.high === max && Math.abs(range.low - max / 10) > 0.5)
          yield {
            message: `${name}: autoscale ${n(range.low)}–${n(max)} isn't possible; with a maximum of ${n(max)} the lowest value is ${n(max / 10)}`,
            at: range.at,
            evidence: `0.1 × ${n(max)} = ${n(max / 10)}`,
            fixes: floorOf(facts.design?.lines[range.at.line - 1] ?? '', range).map((found) => ({
              at: range.at,
              ...found,
            })),
          };
        if (max < 1000 || max % 1000 !== 0)
          yield {
            message: `${name}: an autoscale maximum of ${n(max)} isn't possible; the service accepts 1,000 or more, in steps of 1,000`,
            at,
          };
        if (data && data.gb > max / 10)
          yield {
            message: `${name}: ${n(data.gb)} GB need an autoscale maximum of at least ${n(data.gb * 10)} RU/s`,
            at,
            evidence: `${n(data.gb)} GB > 0.1 × ${n(max)}`,
          };
      }
    },
  },
  {
    id: 'B13',
    title: 'Manual throughput is at least 400 RU/s and 1 RU/s a GB, in steps of 100',
    severity: 'error',
    source: LIMITS,
    why: 'The service refuses other values.',
    hint: 'Write a value that the service accepts.',
    needs: [DESIGN],
    *check(facts) {
      const manual = facts.containers.filter(({ container }) => container.throughput?.kind === 'manual');
      if (manual.length === 0) {
        yield missing('a container with manual throughput');
        return;
      }
      for (const detail of manual) {
        const max = detail.container.throughput?.max ?? 0;
        const least = Math.max(400, detail.data?.gb ?? 0);
        if (max < least || max % 100 !== 0)
          yield {
            message: `${detail.container.name}: the service refuses ${n(max)} RU/s; it accepts ${n(least)} or more, in steps of 100`,
            at: facts.place(detail, 'throughput'),
            evidence: `max(400, ${n(detail.data?.gb ?? 0)} GB × 1) = ${n(least)}`,
          };
      }
    },
  },
  {
    id: 'B14',
    title: 'Monthly costs equal RU/s × price',
    severity: 'warning',
    source: `${SOURCES.seed}: 2,592,000 s a month; ${SOURCES.microsoft('Understand your Azure Cosmos DB bill')}: by the hour`,
    why: 'A month has 720 hours, and each 100 RU/s is billed by the hour. The price is a setting, or the documents state it; Millrace has no built-in price. The "$0.008/RU per hour" of the upstream prompt is a hundred times too high: it is the price of 100 RU/s.',
    hint: 'Compute the cost again. `millrace model cost --price` shows each term.',
    needs: [DESIGN],
    *check(facts) {
      for (const { text, at } of facts.prose) {
        if (/[$€£]\s?0\.0\d*\s*(\/|per )\s*RU\b(?!\/s)/i.test(text))
          yield {
            severity: 'error',
            message: 'This price for one RU an hour is a hundred times too high: it is the price of 100 RU/s an hour',
            at,
          };
      }
      const said = costs(facts);
      if (said.length === 0) {
        yield missing('a monthly cost with its RU/s');
        return;
      }
      const price = priceOf(facts);
      if (price === undefined) {
        yield missing('the price of 100 RU/s an hour (--price, or in the documents)');
        return;
      }
      const times = regions(facts)?.count ?? 1;
      for (const { amount, ru, at } of said) {
        const right = (ru / 100) * price * HOURS_PER_MONTH * times;
        if (Math.abs(amount - right) > 0.1 * right)
          yield {
            message: `${n(ru)} RU/s cost ${n(right)} a month; the document states ${n(amount)}`,
            at,
            evidence: `${n(ru)} ÷ 100 × ${price} × ${HOURS_PER_MONTH} h${times > 1 ? ` × ${times} regions` : ''} = ${n(right)}`,
          };
      }
    },
  },
  {
    id: 'B15',
    title: 'RU/s and costs are multiplied by the number of regions',
    severity: 'error',
    source: RU,
    why: 'Throughput is provisioned and billed in every region: R RU/s in N regions cost R × N.',
    hint: 'Multiply by the number of regions.',
    *check(facts) {
      const where = regions(facts);
      if (!where) {
        yield missing('the number of regions');
        return;
      }
      if (where.count < 2) return;
      const money = (facts.design?.prose ?? []).filter(
        ({ text, section }) => /[$€£]\s?\d|no additional RU|RU.*(replica|region)/i.test(text) && section !== undefined,
      );
      const counted = new RegExp(
        String.raw`[×x*]\s*${where.count}\b|\b${where.count}\s*[×x*]|(in|for|over) (each|all|every|${where.count}) regions?|per region`,
        'i',
      );
      if (!money.some(({ text }) => counted.test(text)))
        yield {
          message: `The design has ${where.count} regions, but doesn't multiply RU/s or costs by ${where.count}`,
          at: where.at,
        };
      for (const { text, at } of money) {
        if (/no additional (RU|cost)/i.test(text))
          yield { message: 'Replicas do cost RU/s: every region costs as many as the first', at };
      }
    },
  },
  {
    id: 'B16',
    title: 'Reads with strong or bounded staleness consistency cost twice the RU',
    severity: 'warning',
    source: SOURCES.microsoft('Consistency levels in Azure Cosmos DB'),
    why: 'Such a read reads from two replicas.',
    hint: 'Double the RU of the reads, or read with session consistency.',
    needs: [DESIGN],
    *check(facts) {
      const strong = facts.containers.flatMap((detail) => {
        const level = facts.labelled(detail, /consistency|一致性/i);
        return level && /^\W*(strong|bounded)/i.test(level.text) ? [{ detail, at: level.at }] : [];
      });
      if (!facts.containers.some((detail) => facts.labelled(detail, /consistency|一致性/i))) {
        yield missing('a consistency level');
        return;
      }
      for (const { detail, at } of strong) {
        for (const { row, ru, stated: said } of facts.accesses.filter(
          (access) => access.detail === detail && access.row.operations[0] === 'point-read',
        )) {
          const twice = 2 * facts.profile.read(detail.size.average) * row.times;
          if (said && ru < 0.9 * twice)
            yield {
              message: `Row ${row.printed} states ${n(ru)} RU; with this consistency level the read costs ${n(twice)}`,
              at: row.at,
              evidence: `2 × ${n(twice / 2)} = ${n(twice)}`,
              related: [at],
            };
        }
      }
    },
  },
  {
    id: 'B17',
    title: 'Options are compared by the cost of reads and writes',
    severity: 'warning',
    source: SOURCES.seed,
    why: 'An option with cheaper reads usually has more expensive writes. The rule warns if an option’s text states the cost of only one of them.',
    hint: 'State the cost of reads and of writes for every option.',
    *check({ prose }) {
      const options = prose.filter(({ label, text }) => /^option\b|^方案/i.test(label ?? text));
      if (options.length < 2) {
        yield missing('two options to compare');
        return;
      }
      for (const { text, label, at } of options) {
        if (figures(text, 'ru').length + figures(text, 'ru/s').length === 0) continue;
        const [reads, writes] = [/\bread|quer|读|查询/i.test(text), /\bwrit|create|update|写/i.test(text)];
        if (reads !== writes)
          yield { message: `${label ?? 'The option'} states only the cost of its ${reads ? 'reads' : 'writes'}`, at };
      }
    },
  },
  {
    id: 'B18',
    title: 'A serverless container stays within the limits of serverless',
    severity: 'error',
    source: SOURCES.microsoft('Azure Cosmos DB serverless account type'),
    why: 'Serverless has one region, at most 1 TB a container and no provisioned RU/s. A partition has 5,000 RU/s, down to 1,000 as data grows.',
    hint: 'Provision throughput, or change the design to fit the limits.',
    needs: [DESIGN],
    *check(facts) {
      const found = serverless(facts);
      if (found.length === 0) {
        yield missing('a serverless container');
        return;
      }
      for (const { detail, text, at } of found) {
        const { name } = detail.container;
        if ((detail.data?.gb ?? 0) > 1000)
          yield { message: `${name} has ${n(detail.data?.gb ?? 0)} GB; a serverless container holds at most 1 TB`, at };
        if ((regions(facts)?.count ?? 1) > 1)
          yield { message: `${name} is serverless, but the design has several regions`, at };
        // "400 RU/s or serverless" leaves the choice open.
        if (
          /\d\s*RU\/s (max|provisioned)|autoscale|max(imum)? [\d,]+ RU\/s/i.test(text) &&
          !/\bor serverless|serverless\b[^.;]{0,30}\bor\b/i.test(text)
        )
          yield { message: `${name} is serverless, so its RU/s can't be provisioned`, at };
        const budget = 5000 - 4000 * Math.min(1, (detail.data?.gb ?? 0) / 250);
        const need = facts.peak(detail);
        if (need > budget)
          yield {
            message: `${name} needs ${n(need)} RU/s; a serverless partition has ${n(budget)}`,
            at,
            evidence: written(facts.load(detail), n),
          };
      }
    },
  },
];
