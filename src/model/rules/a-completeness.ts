// A2 to A9: the documents are complete, and agree with each other and with themselves.
import type { Pattern } from '../documents.ts';
import { near } from '../../base/near.ts';
import { TEMPLATE, type Facts, sum } from './facts.ts';
import {
  type Rule,
  type RuleResult,
  DESIGN,
  MAPPING,
  PATTERNS,
  SOURCES,
  more,
  n,
  noDesign,
  quoted,
  say,
} from './rule.ts';

/** Throughput, hot keys and costs are sums of rates. */
function* unrated({ patterns }: Facts): Iterable<RuleResult> {
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
      hint: 'Write peak and average as `50/20`, or one figure as `500 RPS`. Ask the owner of the feature for an estimate.',
    };
  }
}

export const AGREEMENT: readonly Rule[] = [
  {
    id: 'A2',
    title: 'Every pattern has a rate and a row of the mapping, and every reference names a pattern',
    source: `${SOURCES.seed}; its upstream template`,
    why: 'Throughput, hot keys and costs are sums of rates, and every sum leaves out a pattern without one. A pattern without a row in the mapping was probably forgotten. The rule fails if the cell of the rate is empty or has no number, if two patterns have the same id, if a pattern has no row in the mapping, and if a reference names a pattern that doesn’t exist.',
    hint: 'Number every pattern once, in the requirements. Add a row for it under "Access Pattern Mapping".',
    needs: [PATTERNS],
    *check(facts) {
      const { design, patterns } = facts;
      yield* unrated(facts);
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
    source: 'the modelling prompt’s upstream template',
    why: 'A pattern can’t be built on a container without a design. The rule ignores case and backticks in names.',
    hint: 'Correct the name, or design the container.',
    needs: [DESIGN],
    *check(facts) {
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
    id: 'A9',
    title: 'The sections on hot partitions, trade-offs, distribution and validation exist, and every item is ticked',
    severity: 'warning',
    source: `${SOURCES.seed}; its upstream template`,
    why: 'These last sections check a design. The rule warns about a missing section and about an item that isn’t ticked. It doesn’t check that a ticked item is true: the other rules do, each for its own subject.',
    hint: 'Write the section. Do what the item asks, then tick it.',
    *check({ design, requirements }) {
      if (!design) {
        yield noDesign;
        return;
      }
      const sections = new Set(design.headings.map(({ section }) => section));
      const wanted = {
        hotPartitions: 'Hot Partition Analysis',
        tradeOffs: 'Trade-offs and Optimizations',
        distribution: 'Global Distribution Strategy',
        validation: 'Validation Results',
      };
      const lacking = Object.entries(wanted).flatMap(([name, title]) => (sections.has(name) ? [] : [`"${title}"`]));
      // A document that follows no part of the template owes none of its sections.
      const follows = [...TEMPLATE].some((name) => sections.has(name)) || lacking.length < 3;
      if (lacking.length > 0 && follows)
        yield {
          message: `${lacking.length === 1 ? 'The section' : 'The sections'} ${lacking.join(', ')} ${lacking.length === 1 ? 'is' : 'are'} missing`,
          at: { file: design.file, line: 1 },
        };
      // Boxes of a plan or of acceptance criteria aren't the template's.
      const owed = follows || sections.has('validation') || sections.has('checklist') ? design.checks : [];
      const [first, ...others] = [...owed, ...(requirements?.checks ?? [])].filter(({ ticked }) => !ticked);
      if (first)
        yield {
          message: `The item "${quoted(first.text)}"${more(others.length)} isn't ticked`,
          at: first.at,
          related: others.map(({ at }) => at),
        };
    },
  },
];
