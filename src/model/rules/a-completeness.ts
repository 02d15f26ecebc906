// A1 to A8: the documents are complete, and agree with each other and with themselves.
import type { Pattern } from '../documents.ts';
import { near } from '../../base/near.ts';
import { quantities } from '../reader/quantity.ts';
import { sum } from './facts.ts';
import { saidSizes } from './said-sizes.ts';
import { type Rule, DESIGN, MAPPING, PATTERNS, SOURCES, missing, n, noDesign, quoted, say } from './rule.ts';

const isWrite = ({ type }: Pattern): boolean => type === 'write';
const peaks = (patterns: readonly Pattern[]): number => sum(patterns.map(({ rate }) => rate?.peak ?? 0));

export const AGREEMENT: readonly Rule[] = [
  {
    id: 'A1',
    title: 'Every access pattern states its RPS',
    severity: 'error',
    source: SOURCES.seed,
    why: 'Throughput, hot keys and costs are sums of rates, and every sum leaves out a pattern without a rate. The rule fails if the cell is empty, has no number, or has a placeholder such as `TBD` or `[…]`. It warns if the average is above the peak.',
    hint: 'Write peak and average as `50/20`, or one figure as `500 RPS`. Ask the owner of the feature for an estimate.',
    needs: [PATTERNS],
    *check({ patterns }) {
      for (const pattern of patterns) {
        const { peak, average } = pattern.rate ?? {};
        if (peak !== undefined && average !== undefined && average > peak)
          yield {
            severity: 'warning',
            message: `Pattern ${say(pattern)} has an average above its peak`,
            at: pattern.at,
            evidence: `${n(average)} > ${n(peak)}`,
          };
        if (peak !== undefined || average !== undefined) continue;
        yield {
          message: `Pattern ${say(pattern)} has no RPS`,
          at: pattern.at,
          evidence: pattern.rateText === '' ? 'the cell is empty' : `the cell says "${quoted(pattern.rateText)}"`,
          hint: 'Write peak and average as `50/20`, or one figure as `500 RPS`.',
        };
      }
    },
  },
  {
    id: 'A2',
    title: 'Pattern ids are unique, every pattern is mapped, and every reference names a pattern',
    severity: 'error',
    source: `${SOURCES.seed}; its upstream template`,
    why: 'A pattern without a row in the mapping was probably forgotten. The rule fails if two patterns have the same id, if a pattern has no row in the mapping, and if a reference names a pattern that doesn’t exist.',
    hint: 'Number every pattern once, in the requirements. Add a row for it under "Access Pattern Mapping".',
    needs: [PATTERNS],
    *check(facts) {
      const { design, patterns } = facts;
      const seen = new Map<string, Pattern>();
      for (const pattern of patterns) {
        const before = seen.get(pattern.id);
        if (before)
          yield { message: `Pattern ${pattern.printed} occurs twice: also in line ${before.at.line}`, at: pattern.at };
        else seen.set(pattern.id, pattern);
      }
      if (!design) {
        yield noDesign;
        return;
      }
      const mapped = new Set(design.mapping.flatMap(({ ids }) => ids));
      for (const pattern of seen.values()) {
        if (!mapped.has(pattern.id)) {
          yield {
            message: `Pattern ${say(pattern)} has no row in the mapping of ${quoted(design.file.split('/').at(-1) ?? '')}`,
            at: pattern.at,
            hint: 'Add a row with its container and operation. A blank line ends a table.',
          };
        }
      }
      const references = [
        ...design.mapping.map(({ ids, at }) => ({ ids, at, where: 'the mapping' })),
        ...facts.containers.flatMap(({ serves, container }) => (serves ? [{ ...serves, where: container.name }] : [])),
        ...facts.rows.map(({ serves, at, name }) => ({ ids: serves, at, where: `projection ${name}` })),
      ];
      for (const { ids, at, where } of references) {
        for (const id of ids) {
          if (!seen.has(id)) yield { message: `Pattern ${id} is used in ${where}, but no pattern ${id} exists`, at };
        }
      }
      // The mapping and the containers' lists state the same fact, so they must agree.
      for (const { container, serves } of facts.containers) {
        if (!serves) continue;
        const rows = design.mapping.filter(({ containers }) => containers.includes(container.name));
        const lacking = rows.flatMap(({ ids }) => ids).filter((id) => !serves.ids.includes(id));
        if (lacking.length > 0) {
          yield {
            severity: 'warning',
            message: `${container.name} doesn't list pattern ${lacking.join(', ')}, but the mapping serves it from this container`,
            at: serves.at,
          };
        }
      }
    },
  },
  {
    id: 'A3',
    title: 'Every row of the mapping names a designed container',
    severity: 'error',
    source: 'the modelling prompt’s upstream template',
    why: 'A pattern can’t be built on a container without a design. The rule ignores case and backticks in names.',
    hint: 'Correct the name, or design the container.',
    needs: [DESIGN],
    *check(facts) {
      if (facts.mapping.length === 0) {
        yield missing('the access pattern mapping');
        return;
      }
      for (const row of facts.mapping) {
        for (const name of row.unknown)
          yield {
            message: `Row ${row.printed} uses container ${name}, which has no design`,
            at: row.at,
            hint: facts.suggest(name),
          };
        if (row.containers.length + row.unknown.length === 0 && row.operations.length > 0)
          yield { message: `Row ${row.printed} names no container`, at: row.at };
      }
      const names = facts.containers.map(({ container }) => container.name);
      for (const { text, at } of facts.design?.headings ?? []) {
        const head = /^([\p{L}_][\w-]*) container\b/iu.exec(text)?.[1];
        if (head === undefined || names.some((name) => name.toLowerCase() === head.toLowerCase())) continue;
        const best = near(head, names);
        if (best !== undefined)
          yield {
            severity: 'warning',
            message: `The heading names container ${head}, which has no design`,
            at,
            hint: `Did you mean ${best}?`,
          };
      }
    },
  },
  {
    id: 'A4',
    title: 'Every container is both written and read',
    severity: 'warning',
    source: `${SOURCES.seed}; its upstream template`,
    why: 'A container that is only read stays empty, and a container that is only written has no use. Usually a pattern was forgotten. Projections count too: a projection writes its sink and reads its sources.',
    hint: 'Add the missing pattern, or remove the container.',
    needs: [DESIGN, MAPPING],
    *check(facts) {
      for (const detail of facts.containers) {
        const own = facts.accesses.filter((access) => access.detail === detail);
        const [reads, writes] = [own.filter(({ write }) => !write), own.filter(({ write }) => write)];
        const read = facts.rows.some(({ source, joins }) =>
          [source, ...joins].some((of) => facts.detail(of?.container) === detail),
        );
        const at = facts.place(detail);
        const printed = (list: typeof own): string => list.map(({ row }) => row.printed).join(', ');
        if (reads.length > 0 && writes.length === 0 && !detail.derived)
          yield { message: `${detail.container.name} is read (${printed(reads)}) but nothing writes it`, at };
        if (writes.length > 0 && reads.length === 0 && !read)
          yield { message: `${detail.container.name} is written (${printed(writes)}) but nothing reads it`, at };
        if (own.length === 0 && !read && !detail.derived)
          yield { message: `No pattern and no projection uses ${detail.container.name}`, at };
      }
    },
  },
  {
    id: 'A5',
    title: 'The documents contain no text of the template',
    severity: 'error',
    source: 'the modelling prompt’s upstream template',
    why: 'A placeholder in brackets is a decision that is still open.',
    hint: 'Replace the placeholder, or delete the line.',
    *check({ prose }) {
      const template =
        /\[(?:e\.g\.|explain|list|describe|reasoning|what|which|why|how|expected|specific|containername|entity ?\d|field|pattern #|parent|child|overlap|analysis of|attribute|cost vs|per-operation|policy|regions|automatic|independent|single document|session|critical business|multi-property|paths excluded|properties|show how|todo|fill)(?!\w)[^\]]*\]/i;
      // An item that is ticked with a capital X is no placeholder.
      for (const { text, at } of prose) {
        const plain = text.replaceAll(/`[^`]*`|\[[^\]]*\]\([^)]*\)/g, '').replace(/^\[[xX ]\]\s/, '');
        const found = /\[(?:X|Y|N)\]/.exec(plain) ?? template.exec(plain);
        if (found) yield { message: `This is text of the template: ${quoted(found[0])}`, at };
      }
    },
  },
  {
    id: 'A6',
    title: 'Percentages and cardinalities don’t contradict each other',
    severity: 'warning',
    source: `${SOURCES.seed}, whose own example adds up to 120 %`,
    why: 'Every query needs one entity, the other, or both. So the three parts add up to 100 %, and "both" equals the correlation. The rule fails if the sum is outside 95 to 105 %, or if "both" and the correlation differ by more than 2. It also fails if the average number of children is above the largest.',
    hint: 'Count the patterns again, and weight them by RPS.',
    *check({ requirements }) {
      for (const { parent, child, average, max, at } of requirements?.relationships ?? []) {
        if (average !== undefined && max !== undefined && average > max)
          yield {
            message: `${parent} → ${child}: the average number is above the largest`,
            at,
            evidence: `${n(average)} > ${n(max)}`,
          };
      }
      const pairs = requirements?.pairs.filter(({ only, both }) => only !== undefined && both !== undefined) ?? [];
      if (pairs.length === 0) {
        yield missing('the query patterns of an aggregate analysis');
        return;
      }
      for (const { parent, child, only = [], both = 0, correlation, at, places } of pairs) {
        const parts = [...only, both];
        const total = sum(parts);
        const place = places.correlation ?? at;
        if (total < 95 || total > 105)
          yield {
            message: `${parent} + ${child}: the parts add up to ${n(total)} %`,
            at: place,
            evidence: `${parts.map(n).join(' + ')} = ${n(total)}`,
          };
        if (correlation !== undefined && Math.abs(correlation - both) > 2)
          yield {
            message: `${parent} + ${child}: the correlation is ${n(correlation)} %, but the share of "both" is ${n(both)} %`,
            at: place,
          };
      }
    },
  },
  {
    id: 'A7',
    title: 'The scale agrees with the pattern table',
    severity: 'warning',
    source: SOURCES.seed,
    why: 'The total in "Scale" must match the sum of the pattern table. If they differ by more than 20 %, a pattern is missing or a figure is wrong.',
    hint: 'Correct the wrong figure, or add the missing pattern.',
    *check({ scale, patterns }) {
      if (!scale) {
        yield missing('Scale in the application overview');
        return;
      }
      const stated = (units: RegExp): number | undefined =>
        quantities(scale.text).find(({ unit }) => units.test(unit))?.high;
      const totals = [
        { what: 'requests', said: stated(/^(requests|operations|ops)\/s$|^[rqt]ps$/), of: patterns },
        { what: 'reads', said: stated(/^reads\/s$/), of: patterns.filter((pattern) => !isWrite(pattern)) },
        { what: 'writes', said: stated(/^writes\/s$/), of: patterns.filter(isWrite) },
      ].filter(({ said }) => said !== undefined);
      if (totals.length === 0) {
        yield missing('a rate in Scale');
        return;
      }
      for (const { what, said = 0, of } of totals) {
        const total = peaks(of);
        if (Math.abs(said - total) > 0.2 * Math.max(said, total)) {
          const terms = of
            .filter(({ rate }) => (rate?.peak ?? 0) > 0)
            .map(({ printed, rate }) => `${printed}: ${n(rate?.peak ?? 0)}`);
          yield {
            message: `Scale says ${n(said)} ${what}/s; the patterns add up to ${n(total)}`,
            at: scale.at,
            related: of
              .toSorted((a, b) => (b.rate?.peak ?? 0) - (a.rate?.peak ?? 0))
              .slice(0, 1)
              .map((pattern) => pattern.at),
            evidence: terms.join(' + '),
          };
        }
      }
    },
  },
  {
    id: 'A8',
    title: 'Data sizes agree across the documents',
    severity: 'warning',
    source: SOURCES.seed,
    why: 'The number of partitions follows from the size, and with it the cost of every cross-partition query. The rule fails if one of these is more than twice the other: the total in the requirements, and the sum of the containers’ sizes. With an archive, the containers may hold less. It also compares the sizes of one document of a type that the texts state: "a reading 0.2 KB", "432,000 readings a day, 0.2 KB each".',
    hint: 'Write the size of each container as `- **Size**: 12 GB`, and the total under Scale.',
    *check(facts) {
      for (const all of Map.groupBy(saidSizes(facts), ({ name }) => name).values()) {
        const [least, ...others] = all.toSorted((a, b) => a.bytes - b.bytes);
        const most = others.at(-1);
        if (least && most && most.bytes > 2 * least.bytes)
          yield {
            message: `One ${most.name} has ${n(most.bytes / 1000)} KB here, and ${n(least.bytes / 1000)} KB in line ${least.at.line} of ${least.at.file.split('/').at(-1) ?? ''}`,
            at: most.at,
            related: [least.at],
          };
      }
      const { scale } = facts;
      const total = quantities(scale?.text ?? '').find(({ unit }) => unit === 'gb' || unit === 'tb');
      if (!scale || !total) {
        yield missing('a total size under Scale');
        return;
      }
      const sized = facts.containers.filter(({ data }) => data !== undefined);
      if (sized.length === 0) {
        yield missing('the containers’ sizes');
        return;
      }
      const stated = total.high * (total.unit === 'tb' ? 1000 : 1);
      const containers = sum(sized.map(({ data }) => data?.gb ?? 0));
      const archived = facts.rows.some(({ kind }) => kind === 'archive');
      if (
        containers > 2 * stated ||
        (stated > 2 * containers && !archived && sized.length === facts.containers.length)
      ) {
        yield {
          message: `The requirements state ${n(stated)} GB, and the containers add up to ${n(containers)} GB`,
          at: sized[0]?.data?.at ?? scale.at,
          evidence: sized.map(({ container, data }) => `${container.name} ${n(data?.gb ?? 0)} GB`).join(' + '),
          related: [scale.at],
        };
      }
    },
  },
];
