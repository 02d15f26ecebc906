// Estimates of RU and partitions by published figures. RU that the documents state win over them.
import type { PatternOperation } from './documents.ts';

/** RU that each indexed property adds to a write. */
const INDEX_RU = 0.5;
/** Requests a second from which a cross-partition read counts as frequent. */
export const FREQUENT = 10;
/** Share of the provisioned maximum that the peak may take. */
export const HEADROOM = 0.7;
/** Hours of a month with 30 days. */
export const HOURS_PER_MONTH = 720;

const kb = (bytes: number): number => Math.max(1, bytes / 1000);

// 1 KB reads for 1 RU and 100 KB for 10, without indexing 5 and 50 to write ("Request Units in Azure Cosmos DB"); a
// straight line between. A replace costs twice an insert ("Optimize request cost").
const readRu = (bytes: number): number => 1 + ((kb(bytes) - 1) * 9) / 99;
const createRu = (bytes: number): number => 5 + ((kb(bytes) - 1) * 45) / 99;

/**
 * RU of a query in one partition that returns this many bytes in so many documents. Each document of the result adds 0.1
 * RU (ASM-E120).
 */
export const queryRu = (bytes: number, rows = 1): number => 2 + readRu(bytes) + 0.1 * (rows - 1);

/** A physical partition holds 50 GB and 10,000 RU/s ("Partitioning and horizontal scaling"). */
export const physicalPartitions = (gb: number, ruPerSecond: number): number =>
  Math.max(1, Math.ceil(gb / 50), Math.ceil(ruPerSecond / 10_000));

export interface Charge {
  readonly bytes: number;
  /** Documents that a query returns; 1 if absent. */
  readonly rows?: number;
  readonly partitions: number;
  readonly indexed: number;
}

/** RU of one operation on a container; writes include the indexing. */
export function chargeOf(operation: PatternOperation, { bytes, rows, partitions, indexed }: Charge): number {
  const index = indexed * INDEX_RU;
  switch (operation) {
    case 'point-read':
      return readRu(bytes);
    case 'query':
      return queryRu(bytes, rows);
    case 'cross-partition':
      return queryRu(bytes, rows) + 2.5 * partitions;
    case 'replace':
    case 'upsert':
    case 'patch':
      return 2 * createRu(bytes) + index;
    case 'delete':
    case 'create':
    case 'batch':
      break;
  }
  return createRu(bytes) + index;
}
