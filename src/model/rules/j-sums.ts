// J14 and J15: figures that belong together, and limits of the service.
import { type Annotation, type Annotations, same } from '../annotations/annotations.ts';
import { linesOf } from '../annotations/described.ts';
import { listed } from '../annotations/merged.ts';
import type { Place } from '../model.ts';
import { bytesOf, quantities } from '../reader/quantity.ts';
import { type Found, type Rule, type RuleResult, ANNOTATIONS, SOURCES, missing, n, quoted, together } from './rule.ts';

/** A rounded total may be off by so much. */
const ROUNDED = 0.15;
const EXACT = 0.005;

const KIB = 1024;
type Limit = Annotation<'limit'>['limit'];

/** What the service has, each value that a page gives; the first is said. */
const LIMITS: Readonly<Record<Limit, { readonly values: readonly number[]; readonly said: string }>> = {
  'item-size': { values: [2 * KIB ** 2, 2e6], said: 'an item has at most 2 MB' },
  'logical-partition-size': { values: [20e9, 20 * KIB ** 3], said: 'a logical partition holds 20 GB' },
  'logical-partition-ru': { values: [10_000], said: 'a logical partition gives 10,000 RU/s' },
  'physical-partition-size': { values: [50e9, 50 * KIB ** 3], said: 'a physical partition holds 50 GB' },
  'physical-partition-ru': { values: [10_000], said: 'a physical partition gives 10,000 RU/s' },
  'batch-operations': { values: [100], said: 'a transactional batch has at most 100 operations' },
  'batch-size': { values: [2 * KIB ** 2, 2e6], said: 'a transactional batch has at most 2 MB' },
  'id-length': { values: [1023, 1024, 255], said: 'an id has at most 1,023 bytes' },
  'key-length': { values: [2048, 101], said: 'a partition key value has at most 2,048 bytes' },
  'unique-keys': { values: [10, 16], said: 'a container has at most 10 unique keys, of 16 paths each' },
  'query-response-size': { values: [4 * KIB ** 2, 4e6], said: 'a page of a query has at most 4 MB' },
  'point-read-1kb-ru': { values: [1], said: 'a point read of 1 KB takes 1 RU' },
  'minimum-autoscale-ru': {
    values: [1000, 100],
    said: 'the maximum of autoscale is at least 1,000 RU/s, and it scales down to a tenth of it',
  },
  'minimum-manual-ru': { values: [400], said: 'manual throughput begins at 400 RU/s' },
  'containers-shared-throughput': { values: [25], said: 'at most 25 containers share the throughput of a database' },
  'hierarchical-key-levels': { values: [3], said: 'a hierarchical key has at most 3 levels' },
};

/** A logical partition holds so many bytes. */
const PARTITION = 20e9;

interface Amount {
  readonly high: number;
  readonly text: string;
  readonly at: Place;
}

const said = ({ value, unit }: Annotation<'fact'>): string => `${String(value)}${unit === undefined ? '' : ` ${unit}`}`;

/** The largest number of documents in a partition, times the size of the largest type that lies there. */
function* partitions(annotations: Annotations): Iterable<Found> {
  const facts = annotations.of('fact');
  const counts = facts.flatMap((fact): Amount[] => {
    const about = `${fact.of} ${fact.property}`;
    if (!/\b(?:documents?|items?|records?)\b/i.test(about) || !/\bpartition/i.test(about)) return [];
    const [found] = quantities(said(fact));
    return found && found.unit === '' ? [{ high: found.high, text: said(fact), at: fact.at }] : [];
  });
  const sizes = facts.flatMap((fact): (Amount & { readonly type: string })[] => {
    const type = annotations.types.find((name) => same(name, fact.of));
    const [found] = /\bsize\b/i.test(fact.property) && !/max/i.test(fact.property) ? quantities(said(fact)) : [];
    const bytes = found && bytesOf(found);
    return type !== undefined && bytes !== undefined ? [{ type, high: bytes, text: said(fact), at: fact.at }] : [];
  });
  const [count] = counts.toSorted((a, b) => b.high - a.high);
  const [size] = sizes.toSorted((a, b) => b.high - a.high);
  if (!count || !size || count.high * size.high <= PARTITION) return;
  yield {
    message: `${count.text} documents of a partition (line ${count.at.line}), if they are ${size.type} of ${size.text} (line ${size.at.line}), are up to ${n((count.high * size.high) / 1e9)} GB. A logical partition holds 20 GB, so the targets can’t be kept together, and writes are refused before the number is reached`,
    at: count.at,
    related: [size.at],
    evidence: `${n(count.high)} × ${n(size.high)} bytes = ${n((count.high * size.high) / 1e9)} GB`,
    hint: 'Lower the number of documents of a partition, or put a part of the time into the key.',
  };
}

const BOUND = /[<≤]\s*~?\d|\b(?:at most|up to|no more than|less than|under|below|within|max(?:imum)?)\b[^|\d]{0,12}\d/i;

/** Parts and total are upper bounds: their sum may be smaller. */
function isOfBounds({ lines }: Annotations, line: number, parts: number): boolean {
  const figures = lines.slice(line - 1, line + parts).filter((text) => /\d/.test(text));
  return figures.length > 0 && figures.filter((text) => BOUND.test(text)).length * 2 > figures.length;
}

const PAGE = SOURCES.microsoft('Azure Cosmos DB service quotas');

/** Writes that are said to cost less than any does. */
const cheapWrites = (annotations: Annotations): readonly Annotation<'fact'>[] =>
  annotations
    .of('fact')
    .filter(
      ({ of, property, value, unit = '' }) =>
        /^RUs?$/i.test(unit) &&
        /\b(?:cost|charge|price|RUs?)\b/i.test(property) &&
        !/\bindex|\b(?:each|per)\b/i.test(`${of} ${property}`) &&
        /\b(?:creat|insert|updat|delet|replac|upsert|writ|sav|patch)\w*/i.test(of) &&
        Number(value) > 0 &&
        Number(value) < 5,
    );

export const ANNOTATED_FIGURES: readonly Rule[] = [
  {
    id: 'J14',
    title: 'Figures that belong together agree',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'Sizes, costs and throughput are planned by sums and products. An example whose parts don’t add up to its total shows that the two are written apart, and readers take the example for the rule. The rule adds up and multiplies the figures that an annotation puts together. It also multiplies the number of documents that a partition is said to have by the size that a type is said to have, and compares that with 20 GB. A total that is called approximate may be off by 15 %, and parts that are upper bounds may be below the bound of their total.',
    hint: 'Correct the figure that is wrong, and what was planned by it.',
    instead: ['A17', 'A26', 'D7'],
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      const all = annotations.of('sum');
      if (all.length === 0) yield missing('a sum in an annotation');
      yield* partitions(annotations);
      for (const { what, operation, parts, total, about, at } of all) {
        const isSum = operation === 'sum';
        const made = parts.reduce((result, part) => (isSum ? result + part : result * part), isSum ? 0 : 1);
        const off = Math.abs(made - total) / Math.max(Math.abs(total), Math.abs(made), 1e-9);
        // A figure of one digit is rounded, whatever it is called.
        const digits = String(total).replaceAll(/[^0-9]|0+$/g, '').length;
        if (isSum && made <= total && isOfBounds(annotations, at.line, parts.length)) continue;
        if (off <= (about === true ? ROUNDED : digits < 2 && !isSum ? 0.05 : EXACT)) continue;
        yield {
          message: `${quoted(what, 80)}: the parts make ${n(made)}, and the document says ${n(total)}. One of them is wrong, and what is counted or planned by it`,
          at,
          evidence: `${parts.map(n).join(isSum ? ' + ' : ' × ')} = ${n(made)}, not ${n(total)}`,
        };
      }
    },
  },
  {
    id: 'J15',
    title: 'Limits of Azure Cosmos DB are stated right',
    severity: 'warning',
    source: PAGE,
    why: 'A design rests on the limits that it names: 20 GB and 10,000 RU/s for a logical partition, 2 MB for an item, 100 operations for a batch (ASM-E13, ASM-E97, ASM-E98, ASM-E121, ASM-E136). The rule compares the figures of annotations with them; decimal and binary units are both right. It also reports writes that are said to cost less than 5 RU ("Request Units in Azure Cosmos DB").',
    hint: 'Correct the figure, and check what was decided by it.',
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      const all = annotations.of('limit');
      const cheap = cheapWrites(annotations);
      if (all.length + cheap.length === 0) yield missing('a limit of the service in an annotation');
      yield* together(
        cheap,
        `${listed(cheap.map(({ of, value }) => `"${quoted(of)}" for ${String(value)} RU`))}: a write of 1 KB takes 5 RU or more, a replace about twice that, and each indexed path adds to it. The throughput that is planned by these figures is too low`,
      );
      const wrong = all.filter(
        ({ limit, value }) => !LIMITS[limit].values.some((right) => Math.abs(right - value) <= 0.03 * right),
      );
      for (const group of Map.groupBy(wrong, ({ limit, value }) => `${limit} ${value}`).values()) {
        const [first] = group;
        if (first)
          yield* together(
            group,
            `The document says ${n(first.value)} for ${first.limit.replaceAll('-', ' ')} (${linesOf(group)}), but ${LIMITS[first.limit].said}`,
          );
      }
    },
  },
];
