import type { UsageError } from '../../../base/errors.ts';
import { rangeId, sayRange } from '../../../cosmos/ranges.ts';
import { SYSTEM_FIELDS } from '../../../cosmos/system-fields.ts';
import type { FeedMode } from '../../reading/source.ts';
import type { DialectName, LeaseDocument, NewLease } from './dialect.ts';
import { javaState } from './java-token.ts';
import { feedError } from '../../errors.ts';

export const MODE_NAMES: Readonly<Record<FeedMode, string>> = {
  'latest-version': 'Incremental Feed',
  'all-versions': 'Full-Fidelity Feed',
};

/** Fields that have a meaning in some dialect. All other fields are copied with the lease. */
const KNOWN = new Set([
  'id',
  'version',
  'LeaseToken',
  'PartitionId',
  'FeedRange',
  'feedRange',
  'Mode',
  'ContinuationToken',
  'Owner',
  'timestamp',
  'properties',
  'partitionKey',
  'millrace',
]);

/**
 * Makes a lease document in a dialect, with the fields of `from` that no dialect knows.
 * @throws UsageError `lease-not-expressible`
 */
export function writeDocument(
  dialect: DialectName,
  lease: NewLease,
  from: Record<string, unknown> = {},
): LeaseDocument {
  const { partition, range, position, mode = 'latest-version', owner = null, prefix } = lease;
  const whole = dialect === 'dotnet-v0' || dialect === 'java-pk';
  if (whole && partition === undefined) {
    throw refusal(dialect, `the range ${sayRange(range)} is not one physical partition`, 'dotnet-v1 or java-epk');
  }
  if (dialect === 'java-pk' && mode === 'all-versions')
    throw refusal(dialect, 'it has no all-versions feed', 'java-epk');
  const token = whole && partition !== undefined ? partition : rangeId(range);
  const own: LeaseDocument = {
    id: `${prefix}..${token}`,
    LeaseToken: token,
    ContinuationToken: position ?? null,
    Owner: owner,
    timestamp: new Date().toISOString(),
  };
  if (dialect !== 'java-pk') {
    own.version = dialect === 'dotnet-v0' ? 0 : 1;
    const { min, max } = range;
    // Java's `feedRange` also says which ends are inclusive; .NET leaves the usual values out.
    if (dialect === 'java-epk') own.feedRange = { Range: { min, max, isMinInclusive: true, isMaxInclusive: false } };
    else own.FeedRange = { Range: { min, max } };
  }
  if (dialect.startsWith('dotnet')) {
    own.Mode = MODE_NAMES[mode];
    own.properties = isStrings(from['properties']) ? from['properties'] : {};
  }
  // Without a position, only the all-versions mode needs a state.
  if (dialect === 'java-epk' && (position !== undefined || mode === 'all-versions')) {
    if (lease.rid === undefined) throw refusal(dialect, 'the rid of its container is not known', 'dotnet-v0');
    own.ContinuationToken = javaState(lease.rid, range, mode, position);
  }
  return { ...foreignFields(from), ...own };
}

const refusal = (dialect: DialectName, why: string, other: string): UsageError =>
  feedError('lease-not-expressible', `A lease can't be written as ${dialect}: ${why}`, {
    hint: `Choose another dialect, such as ${other}.`,
  });

/** The fields of a document that no dialect knows, without those of Cosmos DB. */
export const foreignFields = (raw: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(raw).filter(([name]) => !KNOWN.has(name) && !SYSTEM_FIELDS.has(name)));

const isStrings = (value: unknown): value is Record<string, string> =>
  typeof value === 'object' && value !== null && Object.values(value).every((each) => typeof each === 'string');
