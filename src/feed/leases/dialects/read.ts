import { isObject } from '../../../base/json.ts';
import type { FeedRange } from '../../../cosmos/ranges.ts';
import type { FeedMode } from '../../reading/source.ts';
import type { DialectName, LeaseContent } from './dialect.ts';
import { parseJavaState } from './java-token.ts';
import { parseTimestamp } from './timestamp.ts';

/** What a document of a lease container is: a lease, a marker (`.info`), a lock, or none of these, and why. */
export type Reading =
  | ({ readonly kind: 'lease' } & LeaseContent)
  | { readonly kind: 'marker' | 'lock' }
  | { readonly kind: 'unknown'; readonly why: string };

const FULL_FIDELITY = /^full-?fidelity feed$/i;
const INCREMENTAL = /^incremental feed$/i;

/** Reads a document of any dialect. What none explains is left to people: nobody may write it. */
export function readDocument(raw: unknown): Reading {
  if (!isObject(raw) || typeof raw['id'] !== 'string') return unknown('it has no id');
  const { id } = raw;
  if (!id.includes('..') && id.endsWith('.info')) return { kind: 'marker' };
  if (!id.includes('..') && id.endsWith('.lock')) return { kind: 'lock' };
  const token = raw['LeaseToken'] ?? raw['PartitionId'];
  if (typeof token !== 'string' || token === '') return unknown('it has no LeaseToken');
  const { Owner: owner = null, ContinuationToken: continuation = null } = raw;
  if (owner !== null && typeof owner !== 'string') return unknown('its Owner is no text');
  if (continuation !== null && typeof continuation !== 'string') return unknown('its ContinuationToken is no text');
  const given = raw['FeedRange'] ?? raw['feedRange'] ?? undefined;
  const range = given === undefined ? undefined : rangeOf(given);
  if (range === null) return unknown('its FeedRange is no range');
  const told = dialectOf(raw, continuation ?? '');
  if ('why' in told) return unknown(told.why);
  if (told.dialect.endsWith('-v1') && range === undefined) return unknown('it is of version 1 and has no FeedRange');
  const mode = told.mode ?? modeOf(raw['Mode']);
  if (mode === undefined) return unknown(`its Mode ${JSON.stringify(raw['Mode'])} is none that is known here`);
  const writtenAt = parseTimestamp(raw['timestamp']) ?? parseTimestamp(raw['_ts']);
  return {
    kind: 'lease',
    dialect: told.dialect,
    token,
    owner: owner === '' ? null : owner,
    mode,
    ...(range === undefined ? {} : { range }),
    ...(told.position === undefined ? {} : { position: told.position }),
    ...(writtenAt === undefined ? {} : { writtenAt }),
  };
}

const unknown = (why: string): Reading => ({ kind: 'unknown', why });

interface Told {
  readonly dialect: DialectName;
  readonly position?: string;
  readonly mode?: FeedMode;
}

/**
 * .NET's version 1 and Java's epk leases have the same ids and fields: their positions tell them apart, and where there
 * is none yet, the fields that Java never writes.
 */
function dialectOf(raw: Record<string, unknown>, continuation: string): Told | { why: string } {
  const { version } = raw;
  const dotnet = raw['properties'] !== undefined || raw['Mode'] !== undefined;
  if (version !== undefined && version !== null && version !== 0 && version !== 1)
    return { why: `its version ${JSON.stringify(version)} is none that is known here` };
  const quoted = /^".*"$/.test(continuation);
  if (version === 1) {
    if (quoted) return { dialect: 'dotnet-v1', position: continuation };
    if (continuation === '') return { dialect: dotnet ? 'dotnet-v1' : 'java-epk' };
    const state = parseJavaState(continuation);
    if (!state) return { why: 'its ContinuationToken is neither .NET’s (a quoted number) nor Java’s (Base64)' };
    const { mode, position } = state;
    return { dialect: 'java-epk', mode, ...(position === undefined ? {} : { position }) };
  }
  if (continuation !== '' && !quoted) return { why: 'its ContinuationToken is no quoted number' };
  const old = version === 0 || dotnet || raw['PartitionId'] !== undefined || isObject(raw['FeedRange']);
  return { dialect: old ? 'dotnet-v0' : 'java-pk', ...(quoted ? { position: continuation } : {}) };
}

/** Absent in leases from before there was a choice. */
function modeOf(value: unknown): FeedMode | undefined {
  if (value === undefined || value === null || value === '') return 'latest-version';
  if (typeof value !== 'string') return undefined;
  if (INCREMENTAL.test(value)) return 'latest-version';
  return FULL_FIDELITY.test(value) ? 'all-versions' : undefined;
}

/** Null where it is none. .NET leaves `isMinInclusive` and `isMaxInclusive` out unless they are unusual. */
function rangeOf(value: unknown): FeedRange | null {
  const range = isObject(value) ? value['Range'] : undefined;
  if (!isObject(range)) return null;
  const { min, max, isMinInclusive = true, isMaxInclusive = false } = range;
  if (typeof min !== 'string' || typeof max !== 'string' || min >= max) return null;
  return isMinInclusive === true && isMaxInclusive === false ? { min, max } : null;
}
