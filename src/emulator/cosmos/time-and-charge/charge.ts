// The model of request units. Microsoft publishes the charges of two sizes for point operations with indexing off (1 KB:
// read 1, create 5; 100 KB: read 10, create 50; "Azure Cosmos DB as a key value store", "Optimize the cost of reads and
// writes"). This model is linear between them and adds a small share for indexing. A query or a feed page costs a base
// more than the point reads that it replaces. The figures are for comparing designs, not for billing.

const kilobytes = (bytes: number): number => Math.max(1, bytes / 1024);

const INDEX_SHARE = 0.1;
const QUERY_BASE = 2.3;
const PER_PARTITION = 2.5;
const QUERY_SHARE = 0.1;
const FEED_SHARE = 1;

/** 1 RU at 1 KB, 10 RU at 100 KB. */
export const readCharge = (bytes: number): number => 1 + ((kilobytes(bytes) - 1) * 9) / 99;

/** 5 RU at 1 KB, 50 RU at 100 KB, and a tenth more for the index. */
export const createCharge = (bytes: number): number => (5 + ((kilobytes(bytes) - 1) * 45) / 99) * (1 + INDEX_SHARE);

/** A replace removes the old and inserts the new. */
export const replaceCharge = (bytes: number): number => 2 * createCharge(bytes);
export const deleteCharge = createCharge;

/** A patch is a replace on the server, and saves the client the read. */
export const patchCharge = replaceCharge;

/** A refused operation costs the lookup of the item. */
export const REFUSED_CHARGE = 1;

/** `loaded` documents of `bytes` in total; each physical partition after the first adds a charge. */
export const queryCharge = (loaded: number, bytes: number, partitions: number): number =>
  QUERY_BASE + PER_PARTITION * Math.max(0, partitions - 1) + loaded * QUERY_SHARE + (bytes / 1024) * QUERY_SHARE;

/** A page costs like the reads of its documents; an empty page costs 1 RU. */
export const feedCharge = (bytes: number): number => Math.max(1, (bytes / 1024) * FEED_SHARE);
