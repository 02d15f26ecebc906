// B1 to B9: sizes, RU of one operation, partitions. Cosmos DB's figures are in `estimate.ts`.
import { chargeOf } from '../estimate.ts';
import type { Operation } from '../documents.ts';
import { type Access, type Facts } from './facts.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, n, together } from './rule.ts';
import { saying } from './service.ts';

const RU = SOURCES.microsoft('Request Units in Azure Cosmos DB');
const LIMITS = SOURCES.microsoft('Azure Cosmos DB service quotas');
const noRu = missing('RU in the mapping’s notes');
const kb = (bytes: number): string => `${n(bytes / 1000)} KB`;

/** Accesses of one operation that state their RU. */
const stated = (facts: Facts, operation: Operation): Access[] =>
  facts.accesses.filter(
    (access) => access.stated && access.row.operations[0] === operation && !access.row.operations.includes('batch'),
  );

/** Fails if the stated RU are less than half of the estimate. */
function* tooCheap(facts: Facts, operation: Operation, share = 0.5): Iterable<RuleResult> {
  const accesses = stated(facts, operation);
  if (accesses.length === 0) {
    yield noRu;
    return;
  }
  for (const { row, ru, detail } of accesses) {
    const bytes = detail.size.average;
    // The index's part is a guess. The part for the size is certain, so only this is compared.
    const least = chargeOf(operation, { bytes, partitions: 1, indexed: 0 }, facts.settings, facts.profile) * row.times;
    if (ru < share * least) {
      yield {
        message: `Row ${row.printed} states ${n(ru)} RU for a ${operation.replace('-', ' ')} of ${kb(bytes)}; expect about ${n(least)}`,
        at: row.at,
        evidence: `${row.times > 1 ? `${row.times} × ` : ''}${n(least / row.times)} RU for ${kb(bytes)} by the profile ${facts.profile.name}${row.times > 1 ? ` = ${n(least)}` : ''}; ${n(ru)} < ${n(share)} × ${n(least)}`,
        related: [detail.size.at],
      };
    }
  }
}

/** A query for 1 RU. */
const CHEAP =
  /[~≈]?\b(?:1|one|0?\.5) RUs? (?:per|a|for each|for a) (?:simple )?quer(?:y|ies)\b|\bquer(?:y|ies)\b[^.|;]{0,30}\bcosts?:? (?:only |about )?[~≈]?(?:1|one) RUs?\b(?! per (?:document|item|KB))/i;

export const SIZES: readonly Rule[] = [
  {
    id: 'B1',
    title: 'A document is at most 2 MB',
    severity: 'error',
    source: `${SOURCES.seed}; ${LIMITS}`,
    why: 'Cosmos DB stores at most 2 MB of UTF-8 JSON in an item. Above 1 MB the prompt’s upstream asks to split the document, because every write costs RU for the whole document.',
    hint: 'Move the growing part into separate documents with the same partition key, or into Blob Storage.',
    needs: [DESIGN],
    *check(facts) {
      for (const { container, size } of facts.containers) {
        if (size.max > 1e6)
          yield {
            severity: size.max > 2e6 ? 'error' : 'warning',
            message: `${container.name}: a document has up to ${n(size.max / 1e6)} MB; ${size.max > 2e6 ? 'an item has at most 2 MB' : 'split it above 1 MB (an item has at most 2 MB)'}`,
            at: size.at,
            evidence: `${n(size.max)} B ${size.stated ? 'stated' : 'measured on the examples'} > ${size.max > 2e6 ? '2,000,000' : '1,000,000'} B`,
          };
      }
    },
  },
  {
    id: 'B2',
    title: 'A point read costs 1 RU for 1 KB, and less for each further KB',
    severity: 'warning',
    source: `${SOURCES.seed}; ${RU}: 1 KB 1 RU, 100 KB 10 RU`,
    why: 'A point read of 1 KB costs 1 RU, and of 100 KB 10 RU. The rule fails if the stated RU are less than half of the estimate for the document’s size.',
    hint: 'Correct the RU, or the size of the document.',
    needs: [DESIGN],
    check: (facts) => tooCheap(facts, 'point-read'),
  },
  {
    id: 'B3',
    title: 'A create costs about 5 RU for 1 KB, plus indexing',
    severity: 'warning',
    source: `${SOURCES.seed}; ${RU}: 1 KB 5 RU, 100 KB 50 RU without indexing`,
    why: 'Each indexed property adds to the cost. The rule fails if the stated RU are less than half of the estimate.',
    hint: 'Correct the RU. To measure it, read the request charge of one create.',
    needs: [DESIGN],
    check: (facts) => tooCheap(facts, 'create'),
  },
  {
    id: 'B4',
    title: 'An update costs more than a create',
    severity: 'warning',
    source: `${SOURCES.seed} (7 RU); ${SOURCES.microsoft('Optimize request cost in Azure Cosmos DB')}: twice the insert`,
    why: 'A replace removes the old index entries and adds new ones. Microsoft says twice the insert, which is 10 to 11 RU for 1 KB; the prompt says 7. A patch costs about the same. The rule fails if the stated RU are less than half of the estimate.',
    hint: 'Correct the RU.',
    *check(facts) {
      const all = (['replace', 'upsert', 'patch'] as const).flatMap((operation) => [...tooCheap(facts, operation)]);
      const found = all.filter((result) => 'message' in result);
      if (found.length > 0) yield* found;
      else if (all.every((result) => 'missing' in result) && all.length === 3) yield noRu;
    },
  },
  {
    id: 'B5',
    title: 'A delete costs about as much as a create',
    severity: 'warning',
    source: `${SOURCES.seed} (5 RU); Microsoft gives no number`,
    why: 'The rule fails if the stated RU are less than half of the estimate.',
    hint: 'Correct the RU.',
    needs: [DESIGN],
    check: (facts) => tooCheap(facts, 'delete'),
  },
  {
    id: 'B6',
    title: 'A query costs at least 2 RU',
    severity: 'warning',
    source: `${SOURCES.seed} (2 to 5 RU); Microsoft’s capacity planner assumes 10`,
    why: 'A query that returns one document costs more than a point read of the same document.',
    hint: 'Correct the RU, or use a point read by id and partition key.',
    needs: [DESIGN],
    *check(facts) {
      const queries = stated(facts, 'query');
      const told = facts.design
        ? saying(facts.design, CHEAP).filter(({ text }) => !/\bpoint[- ]?reads?\b|\bnot\b|\bvs\.?\b/i.test(text))
        : [];
      yield* together(told, 'A query costs at least 2 RU; only a point read of 1 KB costs 1');
      if (queries.length === 0 && told.length === 0) {
        yield noRu;
        return;
      }
      for (const { row, ru } of queries) {
        if (ru < 2)
          yield {
            message: `Row ${row.printed} states ${n(ru)} RU for a query; it costs at least 2`,
            at: row.at,
            evidence: `${n(ru)} < 2`,
          };
      }
    },
  },
  {
    id: 'B7',
    title: 'The RU of documents above 10 KB are estimated by their size',
    severity: 'warning',
    source: SOURCES.seed,
    why: 'The RU of an operation grow with the size of the document. The rule fails if a document above 10 KB has exactly the figures for 1 KB.',
    hint: 'Estimate the RU with the real size.',
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
            message: `Row ${row.printed} states ${n(ru)} RU, the figure for 1 KB; documents of ${detail.container.name} have ${kb(detail.size.average)}`,
            at: row.at,
            evidence: `about ${n(facts.estimate(operation, detail))} RU at ${kb(detail.size.average)}`,
          };
        }
      }
    },
  },
  {
    id: 'B8',
    title: 'A cross-partition query costs 2.5 RU for each physical partition',
    severity: 'error',
    source: `${SOURCES.seed}; ${SOURCES.microsoft('Query a container in Azure Cosmos DB')}`,
    why: 'Each physical partition has a separate index, and the query must read every one, even without a result.',
    hint: 'Add 2.5 RU × partitions, or add a container whose partition key the query knows.',
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
            message: `Row ${row.printed}: ${n(partitions)} partitions cost at least ${n(least)} RU; the row states ${n(ru)}`,
            at: row.at,
            evidence: `2.5 × ${n(partitions)} = ${n(least)} > ${n(ru)}`,
          };
      }
    },
  },
  {
    id: 'B9',
    title: 'The number of physical partitions matches data and throughput',
    severity: 'warning',
    source: `${SOURCES.seed} (data alone); ${SOURCES.microsoft('Partitioning and horizontal scaling')}: data and throughput`,
    why: 'A physical partition holds 50 GB and serves 10,000 RU/s, so the number is max(⌈GB ÷ 50⌉, ⌈RU/s ÷ 10,000⌉, 1). The prompt counts data alone.',
    hint: 'Correct the number, or the size and the throughput that determine it.',
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
            message: `${detail.container.name}: the document states ${n(count)} physical partitions; by data and throughput it has ${n(partitions)}`,
            at,
            evidence: `max(⌈${n(gb ?? 0)} ÷ 50⌉, ⌈${n(max ?? 0)} ÷ 10,000⌉, 1) = ${n(partitions)}`,
          };
      }
    },
  },
];
