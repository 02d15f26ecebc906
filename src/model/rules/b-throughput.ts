// B10 to B18: throughput.
import type { ContainerDetail, Text } from '../documents.ts';
import type { Fix } from '../fix.ts';
import type { SourceLine } from '../model.ts';
import { FREQUENT, HEADROOM } from '../estimate.ts';
import { type Facts, sum, writtenFacts } from './facts.ts';
import { type Rule, type RuleResult, DESIGN, MAPPING, SOURCES, missing, more, n } from './rule.ts';

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

/** `- **Capacity mode**: serverless`, of the account: then no container has throughput. */
function* ofAccount({ design, containers }: Facts): Iterable<RuleResult> {
  const own = new Set(containers.flatMap(({ prose }) => prose.map(({ at }) => at.line)));
  const mode = design?.prose.find(
    ({ label, text, at }) =>
      /\b(?:capacity|account|billing) (?:mode|type)\b/i.test(label ?? '') &&
      /^\W*serverless\b(?!.*\bor\b)/i.test(text) &&
      !own.has(at.line),
  );
  const set = mode && containers.filter(({ container }) => container.throughput !== undefined);
  const [first, ...others] = set ?? [];
  if (mode && first)
    yield {
      message: `${first.container.name}${more(others.length)} ${others.length === 0 ? 'has' : 'have'} a throughput, which a serverless account doesn't take`,
      at: first.container.places.throughput ?? first.container.at,
      related: [mode.at, ...others.map(({ container }) => container.places.throughput ?? container.at)],
    };
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

interface Refused {
  readonly what: string;
  readonly at: SourceLine;
  readonly evidence?: string;
  readonly fixes?: readonly Fix[];
}

/** The throughput of a container’s own section. */
function refusedOf(facts: Facts, detail: ContainerDetail): Refused[] {
  const { range, data, container } = detail;
  const { name, throughput } = container;
  if (!throughput) return [];
  const { kind, max } = throughput;
  const at = facts.place(detail, 'throughput');
  const gb = data?.gb ?? 0;
  if (kind === 'manual') {
    const least = Math.max(400, gb);
    return max < least || max % 100 !== 0
      ? [
          {
            what: `${name}: the service refuses ${n(max)} RU/s; it accepts ${n(least)} or more, in steps of 100`,
            at,
            evidence: `max(400, ${n(gb)} GB × 1) = ${n(least)}`,
          },
        ]
      : [];
  }
  const found: Refused[] = [];
  if (range && range.high === max && Math.abs(range.low - max / 10) > 0.5)
    found.push({
      what: `${name}: autoscale ${n(range.low)}–${n(max)} isn't possible; with a maximum of ${n(max)} the lowest value is ${n(max / 10)}`,
      at: range.at,
      evidence: `0.1 × ${n(max)} = ${n(max / 10)}`,
      fixes: floorOf(facts.design?.lines[range.at.line - 1] ?? '', range).map((fix) => ({ at: range.at, ...fix })),
    });
  if (max < 1000 || max % 1000 !== 0)
    found.push({
      what: `${name}: an autoscale maximum of ${n(max)} isn't possible; the service accepts 1,000 or more, in steps of 1,000`,
      at,
    });
  if (gb > max / 10)
    found.push({
      what: `${name}: ${n(gb)} GB need an autoscale maximum of at least ${n(gb * 10)} RU/s`,
      at,
      evidence: `${n(gb)} GB > 0.1 × ${n(max)}`,
    });
  return found;
}

/** A table of what requests take, or of what containers share. */
const TAKEN =
  /\b(?:use[sd]?|usage|consum\w*|load|peak|average|avg|estimated?|actual|shared?|cost|per (?:operation|request)|query|operation|reads?|writes?|provisioned by)\b/i;
const RATE = /^\D{0,4}(?<ru>\d[\d,]*) ?RU\/s\b[^\d]*$/i;
const LEAST = 400;

const cellsOf = (line: string): string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.replaceAll(/[*`]/g, '').trim());

/** `| orders | 150 RU/s |` below a head that plans throughput. */
function refusedInTables({ containers, design }: Facts): Refused[] {
  const { lines = [], file = '' } = design ?? {};
  const names = new Set(containers.map(({ container }) => container.name));
  return lines.flatMap((line, index): Refused[] => {
    const [name = '', ...cells] = line.startsWith('|') && line.includes('RU') ? cellsOf(line) : [];
    if (!names.has(name)) return [];
    const begin = lines.slice(0, index).findLastIndex((text) => !text.startsWith('|')) + 1;
    const head = cellsOf(lines[begin] ?? '');
    return cells.flatMap((cell, at): Refused[] => {
      const ru = Number(RATE.exec(cell)?.groups?.['ru']?.replaceAll(',', ''));
      const over = head[at + 1] ?? '';
      return ru < LEAST && /RU|throughput|吞吐量/i.test(over) && !TAKEN.test(over)
        ? [
            {
              what: `${name}: a container with throughput of its own has at least ${LEAST} RU/s, not ${n(ru)}`,
              at: { file, line: index + 1 },
            },
          ]
        : [];
    });
  });
}

export const COST: readonly Rule[] = [
  {
    id: 'B10',
    title: 'No query across partitions is frequent or reads many partitions',
    source: `${SOURCES.seed}; ${SOURCES.microsoft('Query a container in Azure Cosmos DB')}: avoid above 30,000 RU/s or 100 GB`,
    why: 'Such a query costs RU in every physical partition. The rule warns if a query reads more than one partition and runs 10 times a second or more (a setting). It also warns about such a query if the document doesn’t state the container’s size. It fails from 100 partitions on.',
    hint: 'Derive a copy by the change feed, in a container whose partition key the query knows.',
    needs: [DESIGN, MAPPING],
    *check(facts) {
      for (const { row, detail, peak } of facts.crossing) {
        // Of a query that doesn't say so, C13 or C8 speaks.
        if (!row.operations.includes('cross-partition')) continue;
        const partitions = facts.partitions(detail);
        if (partitions < 2 && peak !== undefined && peak >= FREQUENT && !detail.data)
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
        else if (peak >= FREQUENT)
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
        if (!over && need <= HEADROOM * max) continue;
        yield {
          severity: over ? 'error' : 'warning',
          message: `${detail.container.name} needs ${n(need)} RU/s at the peak${over ? '' : `, ${n((100 * need) / max)} % of the maximum`}; the design allows ${n(max)}`,
          at: facts.place(detail, 'throughput'),
          evidence: writtenFacts(terms, n),
        };
      }
    },
  },
  {
    id: 'B12',
    title: 'The throughput of each container is one that the service accepts',
    source: `${SOURCES.seed}; ${SOURCES.microsoft('Provision autoscale throughput')}; ${LIMITS}`,
    why: 'Autoscale never goes below a tenth of its maximum. The maximum is at least 1,000 RU/s and at least 10 RU/s for each stored GB, in steps of 1,000. Manual throughput is at least 400 RU/s and 1 RU/s for each GB, in steps of 100. The service refuses other values (ASM-E98). The rule reads the section of a container, and rows of tables that plan throughput.',
    hint: 'Write values that the service accepts.',
    needs: [DESIGN],
    *check(facts) {
      const all = [...facts.containers.flatMap((detail) => refusedOf(facts, detail)), ...refusedInTables(facts)];
      const [first, ...others] = all;
      if (!first) return;
      const fixes = all.flatMap((one) => one.fixes ?? []);
      yield {
        message: `${first.what}${more(others.length)}`,
        at: first.at,
        ...(others.length > 0 && { related: others.map(({ at }) => at) }),
        ...(first.evidence !== undefined && { evidence: first.evidence }),
        ...(fixes.length > 0 && { fixes }),
      };
    },
  },
  {
    id: 'B18',
    title: 'A serverless container stays within the limits of serverless',
    source: SOURCES.microsoft('Azure Cosmos DB serverless account type'),
    why: 'A serverless account has one region, at most 1 TB a container and no provisioned RU/s. The mode stands at a container, or once for the account (`- **Capacity mode**: serverless`). A partition has 5,000 RU/s, down to 1,000 as data grows.',
    hint: 'Provision throughput, or change the design to fit the limits.',
    needs: [DESIGN],
    *check(facts) {
      yield* ofAccount(facts);
      for (const { detail, text, at } of serverless(facts)) {
        const { name, partitionKey } = detail.container;
        if (partitionKey.length > 1)
          yield {
            severity: 'warning',
            message: `${name} has a hierarchical key and is serverless`,
            at,
            hint: 'The modelling prompt says that this isn’t possible, and Microsoft’s list of limitations doesn’t mention it. Test it in a serverless account, or provision throughput.',
          };
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
            evidence: writtenFacts(facts.load(detail), n),
          };
      }
    },
  },
];
