// B4 and B9: RU of one operation, and partitions. Cosmos DB's figures are in `estimate.ts`.
import { chargeOf } from '../estimate.ts';
import type { PatternOperation } from '../documents.ts';
import type { Facts } from './facts.ts';
import { type Found, type Rule, DESIGN, SOURCES, missing, n } from './rule.ts';

const RU = SOURCES.microsoft('Request Units in Azure Cosmos DB');
const kb = (bytes: number): string => `${n(bytes / 1000)} KB`;

/** Below this share of the estimate the stated RU can't be right. */
const SHARE = 0.5;
const BY_SIZE: ReadonlySet<PatternOperation> = new Set([
  'point-read',
  'create',
  'replace',
  'upsert',
  'patch',
  'delete',
]);
const LEAST_OF_QUERY = 2;
const PER_PARTITION = 2.5;

function* belowFloor(facts: Facts): Iterable<Found> {
  for (const { row, ru, detail, stated } of facts.accesses) {
    const [operation] = row.operations;
    if (!stated || operation === undefined || row.operations.includes('batch')) continue;
    if (operation === 'query' && ru < LEAST_OF_QUERY)
      yield {
        message: `Row ${row.printed} states ${n(ru)} RU for a query; it costs at least ${LEAST_OF_QUERY}`,
        at: row.at,
        evidence: `${n(ru)} < ${LEAST_OF_QUERY}`,
      };
    if (!BY_SIZE.has(operation)) continue;
    const bytes = detail.size.average;
    // The index's part is a guess. The part for the size is certain, so only this is compared.
    const one = chargeOf(operation, { bytes, partitions: 1, indexed: 0 });
    const least = one * row.times;
    if (ru < SHARE * least)
      yield {
        message: `Row ${row.printed} states ${n(ru)} RU for a ${operation.replace('-', ' ')} of ${kb(bytes)}; expect about ${n(least)}`,
        at: row.at,
        evidence: `${row.times > 1 ? `${row.times} × ` : ''}${n(one)} RU for ${kb(bytes)}${row.times > 1 ? ` = ${n(least)}` : ''}; ${n(ru)} < ${n(SHARE)} × ${n(least)}`,
        related: [detail.size.at],
      };
  }
}

/** Each physical partition has an index of its own, and the query reads every one, also without a result. */
function* acrossPartitions(facts: Facts): Iterable<Found> {
  for (const { row, ru, detail, stated } of facts.crossing) {
    const partitions = facts.partitions(detail);
    const least = PER_PARTITION * partitions;
    if (stated && ru < least)
      yield {
        severity: 'error',
        message: `Row ${row.printed}: ${n(partitions)} partitions cost at least ${n(least)} RU; the row states ${n(ru)}`,
        at: row.at,
        evidence: `${PER_PARTITION} × ${n(partitions)} = ${n(least)} > ${n(ru)}`,
        hint: `Add ${PER_PARTITION} RU × partitions, or add a container whose partition key the query knows.`,
      };
  }
}

/** Labels that state data, throughput or partitions. */
const SIZE = /^(?:size|storage|data|throughput|(?:physical )?partitions)\b|分区/i;

export const SIZES: readonly Rule[] = [
  {
    id: 'B4',
    title: 'Stated RU aren’t below what the operation costs',
    severity: 'warning',
    source: `${SOURCES.seed}; ${RU}; ${SOURCES.microsoft('Optimize request cost in Azure Cosmos DB')}`,
    why: 'A point read of 1 KB costs 1 RU and of 100 KB 10; a create 5 and 50, and more for each indexed property; a replace twice the create; a delete as much as a create; a query at least 2 RU, and across partitions 2.5 RU for each physical partition. Throughput that is planned by less is throttled. The rule fails if the stated RU are less than half of the estimate for the document’s size.',
    hint: 'Correct the RU, or the size of the document. To measure them, read the request charge.',
    needs: [DESIGN],
    *check(facts) {
      yield* belowFloor(facts);
      yield* acrossPartitions(facts);
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
        for (const { text, label, at } of detail.prose) {
          const count = SIZE.test(label ?? '') ? /(\d[\d,]*)\s+physical partitions?/i.exec(text)?.[1] : undefined;
          if (count !== undefined) return [{ detail, count: Number(count.replaceAll(',', '')), at }];
        }
        return [];
      });
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
