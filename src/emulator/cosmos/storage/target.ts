import type { FeedRange } from '../../../cosmos/ranges.ts';
import type { StoredContainer } from './container.ts';
import type { WireKey } from './keys.ts';
import type { LogicalPartition } from './logical-partition.ts';
import type { PhysicalPartition } from './physical-partition.ts';
import { badRequest, header, WireError } from '../wire/wire.ts';
import type { WireCall } from '../wire/wire.ts';

export const MAX_PAGE_BYTES = 4 * 1024 * 1024;
const CHOSEN_PAGE_SIZE = 1000;

/** The part of a container that a request concerns. */
export interface StoredTarget {
  /** A full key. */
  readonly key?: WireKey;
  /** The request concerns only logical partitions in this range. */
  readonly range: FeedRange;
  readonly partitions: readonly PhysicalPartition[];
}

/** The logical partition of a full key, from a header or an operation. */
export function storedHomeOf(container: StoredContainer, key: string | undefined): LogicalPartition {
  return container.open(container.keys.parse(demanded(key), true));
}

export function demanded(key: string | undefined): string {
  if (key !== undefined) return key;
  throw badRequest('PartitionKey value must be supplied for this operation.');
}

/** Reads the headers for key, range and sub-range. An unknown range id is answered 410, like after a split. */
export function storedTargetOf(call: WireCall, container: StoredContainer): StoredTarget {
  const keyHeader = header(call.headers, 'x-ms-documentdb-partitionkey');
  const rangeId = header(call.headers, 'x-ms-documentdb-partitionkeyrangeid');
  if (keyHeader !== undefined) {
    const key = container.keys.parse(keyHeader, false);
    const epk = container.keys.epk(key);
    const full = key.length === container.keys.steps.length;
    const range = { min: epk, max: `${epk}${full ? '' : 'FF'}` };
    const partitions = full
      ? [container.rangeOf(epk)]
      : container.ranges.filter(({ range: { min, max } }) => min < range.max && range.min < max);
    return full ? { key, range, partitions } : { range, partitions };
  }
  if (rangeId === undefined) return { range: { min: '', max: 'FF' }, partitions: container.ranges };
  const partition = rangeById(container, rangeId);
  const min = header(call.headers, 'x-ms-start-epk') ?? partition.range.min;
  const max = header(call.headers, 'x-ms-end-epk') ?? partition.range.max;
  if (min > max) throw badRequest('The start of the range is after its end.');
  return {
    range: {
      min: min > partition.range.min ? min : partition.range.min,
      max: max < partition.range.max ? max : partition.range.max,
    },
    partitions: [partition],
  };
}

/** The client may send `<container rid>,<id>`. */
export function rangeById(container: StoredContainer, text: string): PhysicalPartition {
  const id = text.split(',').at(-1)!;
  const found = container.ranges.find((range) => range.id === id);
  if (found?.completing) {
    if (found.completing.left-- > 0) {
      throw new WireError(410, `The partition key range '${id}' is completing a split.`, 1007);
    }
    found.completing.finish();
  } else if (found) return found;
  throw new WireError(410, `The partition key range '${id}' does not exist, or no longer exists.`, 1002);
}

export const storedCovers = ({ key, range }: StoredTarget, home: LogicalPartition): boolean =>
  key ? home.epk === range.min : range.min <= home.epk && home.epk < range.max;

/** The position in a change feed that an etag names. */
export function lsnIn(etag: string): number {
  const lsn = Number(/^"?(\d+)"?$/.exec(etag)?.[1]);
  if (Number.isSafeInteger(lsn)) return lsn;
  throw badRequest(`The continuation '${etag}' is malformed: it must be a quoted lsn.`);
}

/** The page size header; -1 lets the server choose. */
export function pageSize(call: WireCall): number {
  const text = header(call.headers, 'x-ms-max-item-count');
  if (text === undefined) return 100;
  const size = Number(text);
  if (!Number.isInteger(size) || size === 0 || size < -1) throw badRequest(`The max item count '${text}' is invalid.`);
  return size === -1 ? CHOSEN_PAGE_SIZE : size;
}
