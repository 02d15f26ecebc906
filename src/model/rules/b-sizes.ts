// B1 to B9: sizes, RU of one operation, partitions. Figures of Cosmos DB are in `estimate.ts`.
import { chargeOf } from '../estimate.ts';
import type { Operation } from '../documents.ts';
import { type Access, type Facts } from './facts.ts';
import { type Rule, type Verdict, DESIGN, SOURCES, missing, n } from './rule.ts';

const RU = SOURCES.microsoft('Request Units in Azure Cosmos DB');
const LIMITS = SOURCES.microsoft('Azure Cosmos DB service quotas');
const noRu = missing('RU in the mapping’s notes');
const kb = (bytes: number): string => `${n(bytes / 1000)} KB`;

/** Accesses of one operation that state their RU. */
const stated = (facts: Facts, operation: Operation): Access[] =>
  facts.accesses.filter(
    (access) => access.stated && access.row.operations[0] === operation && !access.row.operations.includes('batch'),
  );

/** Fails where less than half of the estimate is stated. */
function* tooCheap(facts: Facts, operation: Operation, share = 0.5): Iterable<Verdict> {
  const accesses = stated(facts, operation);
  if (accesses.length === 0) {
    yield noRu;
    return;
  }
  for (const { row, ru, detail } of accesses) {
    const bytes = detail.size.average;
    // The index's part is a guess; the size alone must be paid in any case.
    const least = chargeOf(operation, { bytes, partitions: 1, indexed: 0 }, facts.settings, facts.profile) * row.times;
    if (ru < share * least) {
      yield {
        message: `Row ${row.printed}: ${operation.replace('-', ' ')} of ${kb(bytes)} is given as ${n(ru)} RU; expect about ${n(least)}`,
        at: row.at,
        evidence: `${row.times > 1 ? `${row.times} × ` : ''}${n(least / row.times)} RU for ${kb(bytes)} by the profile ${facts.profile.name}${row.times > 1 ? ` = ${n(least)}` : ''}; ${n(ru)} < ${n(share)} × ${n(least)}`,
        related: [detail.size.at],
      };
    }
  }
}

export const SIZES: readonly Rule[] = [
  {
    id: 'B1',
    title: 'A document is at most 2 MB',
    severity: 'error',
    source: `${SOURCES.seed}; ${LIMITS}`,
    why: 'An item may have 2 MB as UTF-8 JSON; above 1 MB the prompt’s upstream asks to split it, since every write costs RU for the whole.',
    mend: 'Move the part that grows into documents of its own under the same partition key, or into Blob Storage.',
    needs: [DESIGN],
    *check(facts) {
      for (const { container, size } of facts.containers) {
        if (size.max > 1e6)
          yield {
            severity: size.max > 2e6 ? 'error' : 'warning',
            message: `${container.name}: a document has up to ${n(size.max / 1e6)} MB; an item may have 2 MB${size.max > 2e6 ? '' : ', and is split above 1'}`,
            at: size.at,
            evidence: `${n(size.max)} B ${size.stated ? 'stated' : 'measured on the examples'} > ${size.max > 2e6 ? '2,000,000' : '1,000,000'} B`,
          };
      }
    },
  },
  {
    id: 'B2',
    title: 'A point read costs 1 RU a KB, and less for large documents',
    severity: 'warning',
    source: `${SOURCES.seed}; ${RU}: 1 KB 1 RU, 100 KB 10 RU`,
    why: 'A point read of 1 KB costs 1 RU, of 100 KB 10. It fails where less than half of the estimate for the document’s size is stated.',
    mend: 'Correct the RU, or the document’s size.',
    needs: [DESIGN],
    check: (facts) => tooCheap(facts, 'point-read'),
  },
  {
    id: 'B3',
    title: 'A create costs about 5 RU a KB, and indexing on top',
    severity: 'warning',
    source: `${SOURCES.seed}; ${RU}: 1 KB 5 RU, 100 KB 50 RU without indexing`,
    why: 'Each indexed property adds to it. It fails where less than half of the estimate is stated.',
    mend: 'Correct the RU; measure it by the request charge of one create.',
    needs: [DESIGN],
    check: (facts) => tooCheap(facts, 'create'),
  },
  {
    id: 'B4',
    title: 'An update costs more than a create',
    severity: 'warning',
    source: `${SOURCES.seed} (7 RU); ${SOURCES.microsoft('Optimize request cost in Azure Cosmos DB')}: twice the insert`,
    why: 'A replace takes the old index entries out and puts new ones in: Microsoft says twice the insert, so 10 to 11 RU at 1 KB, where the prompt says 7. A patch costs about the same. It fails below half of the estimate.',
    mend: 'Correct the RU.',
    *check(facts) {
      const all = (['replace', 'upsert', 'patch'] as const).flatMap((operation) => [...tooCheap(facts, operation)]);
      const found = all.filter((verdict) => 'message' in verdict);
      if (found.length > 0) yield* found;
      else if (all.every((verdict) => 'missing' in verdict) && all.length === 3) yield noRu;
    },
  },
  {
    id: 'B5',
    title: 'A delete costs about as much as a create',
    severity: 'warning',
    source: `${SOURCES.seed} (5 RU); Microsoft gives no number`,
    why: 'It fails where less than half of the estimate is stated.',
    mend: 'Correct the RU.',
    needs: [DESIGN],
    check: (facts) => tooCheap(facts, 'delete'),
  },
  {
    id: 'B6',
    title: 'A query costs at least 2 RU',
    severity: 'warning',
    source: `${SOURCES.seed} (2 to 5 RU); Microsoft’s capacity planner assumes 10`,
    why: 'A query that returns one document costs more than a point read of the same document.',
    mend: 'Correct the RU, or make it a point read by id and key.',
    needs: [DESIGN],
    *check(facts) {
      const queries = stated(facts, 'query');
      if (queries.length === 0) {
        yield noRu;
        return;
      }
      for (const { row, ru } of queries) {
        if (ru < 2)
          yield {
            message: `Row ${row.printed}: a query is given as ${n(ru)} RU; it costs 2 at least`,
            at: row.at,
            evidence: `${n(ru)} < 2`,
          };
      }
    },
  },
  {
    id: 'B7',
    title: 'Above 10 KB the RU grow with the size',
    severity: 'warning',
    source: SOURCES.seed,
    why: 'The figures for 1 KB are no constants. It fails where exactly those are stated for documents above 10 KB.',
    mend: 'Estimate with the real size.',
    needs: [DESIGN],
    *check(facts) {
      if (!facts.accesses.some((access) => access.stated)) {
        yield noRu;
        return;
      }
      const constants: Partial<Record<Operation, readonly number[]>> = {
        'point-read': [1],
        create: [5],
        replace: [7, 10],
        delete: [5],
        upsert: [7, 10],
      };
      for (const { row, ru, detail, stated: said } of facts.accesses) {
        const [operation] = row.operations;
        if (said && operation && detail.size.average > 10_000 && constants[operation]?.includes(ru / row.times)) {
          yield {
            message: `Row ${row.printed}: ${n(ru)} RU is the figure for 1 KB; ${detail.container.name} has documents of ${kb(detail.size.average)}`,
            at: row.at,
            evidence: `about ${n(facts.estimate(operation, detail))} RU at ${kb(detail.size.average)}`,
          };
        }
      }
    },
  },
  {
    id: 'B8',
    title: 'A cross-partition query pays 2.5 RU for each physical partition',
    severity: 'error',
    source: `${SOURCES.seed}; ${SOURCES.microsoft('Query a container in Azure Cosmos DB')}`,
    why: 'Each physical partition has an index of its own that must be asked, found or not.',
    mend: 'Add 2.5 RU × partitions, or give the query a container whose key it knows.',
    needs: [DESIGN],
    *check(facts) {
      const accesses = facts.crossing.filter((access) => access.stated);
      if (accesses.length === 0) {
        yield missing('a cross-partition query with its RU');
        return;
      }
      for (const { row, ru, detail } of accesses) {
        const partitions = facts.partitions(detail);
        const least = 2.5 * partitions;
        if (ru < least)
          yield {
            message: `Row ${row.printed}: ${n(partitions)} partitions add ${n(least)} RU; ${n(ru)} are given`,
            at: row.at,
            evidence: `2.5 × ${n(partitions)} = ${n(least)} > ${n(ru)}`,
          };
      }
    },
  },
  {
    id: 'B9',
    title: 'Physical partitions follow from data and throughput',
    severity: 'warning',
    source: `${SOURCES.seed} (data alone); ${SOURCES.microsoft('Partitioning and horizontal scaling')}: data and throughput`,
    why: 'A physical partition holds 50 GB and serves 10,000 RU/s: max(⌈GB ÷ 50⌉, ⌈RU/s ÷ 10,000⌉, 1). The prompt counts data alone.',
    mend: 'Correct the count, or state the size and the throughput it follows from.',
    needs: [DESIGN],
    *check(facts) {
      const said = facts.containers.flatMap((detail) => {
        for (const { text, at } of [...detail.prose, ...detail.hot]) {
          const count = /(\d[\d,]*)\s+physical partitions?/i.exec(text)?.[1];
          if (count !== undefined) return [{ detail, count: Number(count.replaceAll(',', '')), at }];
        }
        return [];
      });
      if (said.length === 0) {
        yield missing('a stated number of physical partitions');
        return;
      }
      for (const { detail, count, at } of said) {
        const [gb, max] = [detail.data?.gb, detail.container.throughput?.max];
        if (gb === undefined && max === undefined) {
          yield missing(`the size and throughput of ${detail.container.name}`);
          continue;
        }
        const partitions = facts.partitions(detail);
        if (partitions !== count)
          yield {
            message: `${detail.container.name}: ${n(count)} physical partitions are stated, ${n(partitions)} follow`,
            at,
            evidence: `max(⌈${n(gb ?? 0)} ÷ 50⌉, ⌈${n(max ?? 0)} ÷ 10,000⌉, 1) = ${n(partitions)}`,
          };
      }
    },
  },
];
