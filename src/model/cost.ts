// RU/s and costs by container, pattern and projection; every figure has its terms.
import type { ModelDocuments } from './documents.ts';
import { HOURS_PER_MONTH, queryRu } from './estimate.ts';
import { type Term, sum } from './rules/facts.ts';
import { factsOf } from './rules/index.ts';

export interface ContainerCost {
  readonly name: string;
  readonly terms: readonly Term[];
  /** RU/s. */
  readonly peak: number;
  readonly average: number;
  readonly provisioned: { readonly kind: 'autoscale' | 'manual'; readonly max: number } | undefined;
  /** Billed units of 100 RU/s for an hour, a month: `expected` for the average load, `most` for a permanent maximum. */
  readonly hours: { readonly expected: number; readonly most: number } | undefined;
}

export interface ProjectionCost {
  readonly name: string;
  /** Changes a second at the peak. */
  readonly changes: number;
  /** RU of one change. */
  readonly ru: number;
  /** RU/s of all changes. */
  readonly perSecond: number;
  /**
   * Additional RU/s of the served patterns if each queried the source's partitions for one document instead. Undefined for
   * an aggregate: a query would have to read a whole group.
   */
  readonly instead: number | undefined;
  /** Above this number of changes a second, reading across partitions is cheaper. */
  readonly breakEven: number | undefined;
}

export interface Costs {
  readonly containers: readonly ContainerCost[];
  readonly projections: readonly ProjectionCost[];
}

export function costsOf(documents: ModelDocuments): Costs {
  const facts = factsOf(documents);
  const containers = facts.containers.map((detail): ContainerCost => {
    const terms = facts.load(detail);
    const peak = sum(terms.map(({ perSecond, ru }) => perSecond * ru));
    const average = sum(facts.load(detail, 'average').map(({ perSecond, ru }) => perSecond * ru));
    const provisioned = detail.container.throughput;
    return {
      name: detail.container.name,
      terms,
      peak,
      average,
      provisioned,
      hours: provisioned && hoursOf(provisioned, average),
    };
  });
  const projections = facts.rows.flatMap((row): ProjectionCost[] => {
    const [source, sink] = [facts.detail(row.source?.container), facts.detail(row.sink?.container)];
    if (!source || !sink) return [];
    const term = facts.load(sink).find(({ what }) => what.split(',')[0] === `projection ${row.name}`);
    if (!term) return [];
    const partitions = facts.partitions(source);
    // A query over all partitions of the source, minus the RU of the read as it is now.
    const instead =
      row.kind === 'aggregate'
        ? undefined
        : sum(
            facts.accesses
              .filter(({ row: { ids }, write }) => !write && ids.some((id) => row.serves.includes(id)))
              .map(({ peak = 0, ru }) => peak * Math.max(0, queryRu(source.size.average) + 2.5 * partitions - ru)),
          );
    return [
      {
        name: row.name,
        changes: term.perSecond,
        ru: term.ru,
        perSecond: term.perSecond * term.ru,
        instead,
        breakEven: instead === undefined ? undefined : instead / term.ru,
      },
    ];
  });
  return { containers, projections };
}

/** Autoscale is billed by the highest RU/s of the hour, at least a tenth of the maximum; manual throughput is always full. */
function hoursOf(
  { kind, max }: { kind: 'autoscale' | 'manual'; max: number },
  average: number,
): { expected: number; most: number } {
  const most = (max / 100) * HOURS_PER_MONTH;
  const used = Math.min(max, Math.max(max / 10, average));
  return { expected: kind === 'manual' ? most : (used / 100) * HOURS_PER_MONTH, most };
}
