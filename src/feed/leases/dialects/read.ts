import { isObject } from '../../../base/json.ts';
import type { FeedRange } from '../../../cosmos/ranges.ts';
import type { FeedMode } from '../../reading/source.ts';
import type { DialectName, LeaseContent } from './dialect.ts';
import { parseJavaState } from './java-token.ts';
import { parseTimestamp } from './timestamp.ts';

/** The kind of a document in a lease container: a lease, a marker (`.info`), a lock, or unknown with the reason. */
export type LeaseReading =
  | ({ readonly kind: 'lease' } & LeaseContent)
  | { readonly kind: 'marker' | 'lock' }
  | { readonly kind: 'unknown'; readonly why: string };

const FULL_FIDELITY = /^full-?fidelity feed$/i;
const INCREMENTAL = /^incremental feed$/i;

/** Reads a document of any dialect. No host may write a document of unknown kind. */
export function readDocument(raw: unknown): LeaseReading {
  if (!isObject(raw) || typeof raw['id'] !== 'string') return unknown('it has no id');
  const { id } = raw;
  if (!id.includes('..') && id.endsWith('.info')) return { kind: 'marker' };
  if (!id.includes('..') && id.endsWith('.lock')) return { kind: 'lock' };
  const token = raw['LeaseToken'] ?? raw['PartitionId'];
  if (typeof token !== 'string' || token === '') return unknown('it has no LeaseToken');
  const { Owner: owner = null, ContinuationToken: continuation = null } = raw;
  if (owner !== null && typeof owner !== 'string') return unknown('its Owner is not a string');
  if (continuation !== null && typeof continuation !== 'string')
    return unknown('its ContinuationToken is not a string');
  const given = raw['FeedRange'] ?? raw['feedRange'] ?? undefined;
  const range = given === undefined ? undefined : rangeOf(given);
  if (range === null) return unknown('its FeedRange is not a valid range');
  const found = dialectOf(raw, continuation ?? '');
  if ('why' in found) return unknown(found.why);
  if (found.dialect.endsWith('-v1') && range === undefined) return unknown('it has version 1, but no FeedRange');
  const mode = found.mode ?? modeOf(raw['Mode']);
  if (mode === undefined) return unknown(`its Mode ${JSON.stringify(raw['Mode'])} is not known`);
  const writtenAt = parseTimestamp(raw['timestamp']) ?? parseTimestamp(raw['_ts']);
  return {
    kind: 'lease',
    dialect: found.dialect,
    token,
    owner: owner === '' ? null : owner,
    mode,
    ...(range === undefined ? {} : { range }),
    ...(found.position === undefined ? {} : { position: found.position }),
    ...(writtenAt === undefined ? {} : { writtenAt }),
  };
}

const unknown = (why: string): LeaseReading => ({ kind: 'unknown', why });

interface FoundDialect {
  readonly dialect: DialectName;
  readonly position?: string;
  readonly mode?: FeedMode;
}

/**
 * .NET's version 1 leases and Java's epk leases have the same ids and fields. The form of the position shows which one it
 * is; without a position, the fields that Java never writes do.
 */
function dialectOf(raw: Record<string, unknown>, continuation: string): FoundDialect | { why: string } {
  const { version } = raw;
  const dotnet = raw['properties'] !== undefined || raw['Mode'] !== undefined;
  if (version !== undefined && version !== null && version !== 0 && version !== 1)
    return { why: `its version ${JSON.stringify(version)} is not known` };
  const quoted = /^".*"$/.test(continuation);
  if (version === 1) {
    if (quoted) return { dialect: 'dotnet-v1', position: continuation };
    if (continuation === '') return { dialect: dotnet ? 'dotnet-v1' : 'java-epk' };
    const state = parseJavaState(continuation);
    if (!state) return { why: 'its ContinuationToken has neither .NET’s form (a quoted number) nor Java’s (Base64)' };
    const { mode, position } = state;
    return { dialect: 'java-epk', mode, ...(position === undefined ? {} : { position }) };
  }
  if (continuation !== '' && !quoted) return { why: 'its ContinuationToken is not a quoted number' };
  const old = version === 0 || dotnet || raw['PartitionId'] !== undefined || isObject(raw['FeedRange']);
  return { dialect: old ? 'dotnet-v0' : 'java-pk', ...(quoted ? { position: continuation } : {}) };
}

/** Old leases have no mode: there was only one. */
function modeOf(value: unknown): FeedMode | undefined {
  if (value === undefined || value === null || value === '') return 'latest-version';
  if (typeof value !== 'string') return undefined;
  if (INCREMENTAL.test(value)) return 'latest-version';
  return FULL_FIDELITY.test(value) ? 'all-versions' : undefined;
}

/** Null if it is not a range. .NET leaves `isMinInclusive` and `isMaxInclusive` out if they have their usual values. */
function rangeOf(value: unknown): FeedRange | null {
  const range = isObject(value) ? value['Range'] : undefined;
  if (!isObject(range)) return null;
  const { min, max, isMinInclusive = true, isMaxInclusive = false } = range;
  if (typeof min !== 'string' || typeof max !== 'string' || min >= max) return null;
  return isMinInclusive === true && isMaxInclusive === false ? { min, max } : null;
}
