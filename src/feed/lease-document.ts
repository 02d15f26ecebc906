import { isObject } from '../base/json.ts';
import { type FeedRange, rangeId } from '../cosmos/ranges.ts';
import type { Lease } from './lease.ts';

/** A lease as the .NET SDK (and so the Functions trigger) stores it, version 0: one physical partition. */
export interface LeaseDocument extends Record<string, unknown> {
  id: string;
  version?: number;
  LeaseToken: string;
  FeedRange?: { Range: { min: string; max: string } };
  Mode?: string;
  ContinuationToken: string | null;
  Owner: string | null;
  /** ISO 8601 UTC. */
  timestamp: string;
  properties?: Record<string, string>;
  _etag?: string;
}

export const LATEST_VERSION_MODE = 'Incremental Feed';

/** Version 0 for a physical partition, told by its id; version 1 for any other range, told by its borders. */
export const newLeaseDocument = (
  prefix: string,
  partition: string | undefined,
  range: FeedRange,
  position: string | null,
): LeaseDocument => {
  const token = partition ?? rangeId(range);
  return {
    id: `${prefix}..${token}`,
    version: partition === undefined ? 1 : 0,
    LeaseToken: token,
    FeedRange: { Range: { min: range.min, max: range.max } },
    Mode: LATEST_VERSION_MODE,
    ContinuationToken: position,
    Owner: null,
    timestamp: new Date().toISOString(),
    properties: {},
  };
};

/** Reads a stored lease; undefined where the document is none (a marker) or its range can't be told. */
export function parseLease(raw: unknown, rangeOf: (token: string) => FeedRange | undefined): Lease | undefined {
  if (!isObject(raw) || typeof raw['id'] !== 'string' || typeof raw['_etag'] !== 'string') return undefined;
  const token = raw['LeaseToken'] ?? raw['PartitionId'];
  if (typeof token !== 'string') return undefined;
  const feedRange = isObject(raw['FeedRange']) ? raw['FeedRange']['Range'] : undefined;
  const range =
    isObject(feedRange) && typeof feedRange['min'] === 'string' && typeof feedRange['max'] === 'string'
      ? { min: feedRange['min'], max: feedRange['max'] }
      : rangeOf(token);
  if (!range) return undefined;
  const position = raw['ContinuationToken'];
  const owner = raw['Owner'];
  return {
    id: raw['id'],
    token,
    range,
    owner: typeof owner === 'string' && owner !== '' ? owner : null,
    ...(typeof position === 'string' && position !== '' ? { position } : {}),
    etag: raw['_etag'],
  };
}
