import { CLOCK_SKEW_MS, LANDING_BOUND_MS, TOMBSTONE_TTL_S } from '../base/bounds.ts';
import { isObject } from '../base/json.ts';
import type { Change } from '../feed/reading/change.ts';
import { RESTORING, type SourceContainer, toChange, toVersion } from '../feed/reading/mapper.ts';
import { hasDoubtfulIdentity, mayBeRewritten } from './current-documents.ts';
import { runtimeError } from './errors.ts';

type Raw = Record<string, unknown>;

/** A change of a batch, and the document as the Functions host delivered it; undefined for a deletion. */
interface Delivered {
  readonly change: Change;
  readonly raw: Raw | undefined;
}

export interface VersionsOptions {
  readonly epoch: number;
  /** The Functions host retries the batch, which it read at an unknown time. */
  readonly again: boolean;
  /** Unix time, milliseconds. */
  readonly now: number;
  /** The stored document of each delivered one that is still the newest version, by the delivered one. */
  readonly stored: (delivered: readonly Raw[]) => Promise<ReadonlyMap<Raw, Raw>>;
  /** Each delivered version under the id and the key that are stored, by the delivered one, unless its document is gone. */
  readonly identified: (delivered: readonly Raw[]) => Promise<ReadonlyMap<Raw, Raw>>;
}

/**
 * A change that is younger can't meet an expired tombstone of a newer deletion, whenever the batch was read: the deletion
 * came after the change, and its tombstone stays for T (PROC-L13a).
 */
const SAFE_AGE_MS = TOMBSTONE_TTL_S * 1_000 - LANDING_BOUND_MS - CLOCK_SKEW_MS;

/**
 * The changes of a batch of the all-versions feed. The Functions host rewrites dates, so of each document the newest
 * version is read from the container. A version that was replaced meanwhile can't be read: it keeps the dates as they
 * were delivered, which name the same moment in another form, until its successor comes. A replaced version of a retried
 * batch that is too old to be applied safely is left out; its successor decides. So is a version with a date in its id or
 * partition key whose document is gone: only the document shows them as they are stored, and its deletion is refused.
 * @throws MillraceError `delivered-key-rewritten`
 */
export async function deliveredVersions(
  source: SourceContainer,
  entries: readonly object[],
  { epoch, again, now, stored, identified }: VersionsOptions,
): Promise<Change[]> {
  const known = await withStoredIdentities(source, entries, identified);
  const delivered = known.map((entry) => read(source, entry, epoch)).filter((one) => one !== undefined);
  const newest = new Map(delivered.map((one) => [JSON.stringify([one.change.key, one.change.id]), one]));
  // A placeholder has no content to read again, and no successor decides for it.
  const isWhole = ({ type }: Change): boolean => type === RESTORING;
  const isOld = (change: Change): boolean => again && !isWhole(change) && now - change.at > SAFE_AGE_MS;
  const doubtful = [...newest.values()].flatMap(({ change, raw }) =>
    raw && !isWhole(change) && (isOld(change) || mayBeRewritten(raw)) ? [raw] : [],
  );
  const current = await stored(doubtful);
  return delivered.flatMap(({ change, raw }) => {
    const found = raw && current.get(raw);
    if (!found) return raw && isOld(change) ? [] : [change];
    const reread = toChange(source, found, epoch);
    return reread ? [{ ...change, ...reread }] : [];
  });
}

async function withStoredIdentities(
  source: SourceContainer,
  entries: readonly object[],
  identified: VersionsOptions['identified'],
): Promise<object[]> {
  const isDoubtful = (current: unknown): current is Raw => isObject(current) && hasDoubtfulIdentity(source, current);
  const currentOf = (entry: object): unknown => (entry as { current?: unknown }).current;
  const versions = await identified(entries.map(currentOf).filter(isDoubtful));
  return entries.flatMap((entry) => {
    const current = currentOf(entry);
    if (!isDoubtful(current)) return [entry];
    const version = versions.get(current);
    return version ? [{ ...entry, current: version }] : [];
  });
}

function read(source: SourceContainer, entry: object, epoch: number): Delivered | undefined {
  const change = toVersion(source, entry, epoch, (document) => toChange(source, document, epoch));
  if (!change) return undefined;
  const { current, metadata } = entry as { current?: unknown; metadata: { lsn: unknown } };
  if (isObject(current) && change.operation !== 'delete' && change.operation !== 'expired')
    return { change, raw: { ...current, _lsn: metadata.lsn } };
  // Without the document nothing shows the key as it is stored.
  if (mayBeRewritten([change.id, ...change.key]))
    throw runtimeError(
      'delivered-key-rewritten',
      `A deletion in ${source.name} has a date in its id or partition key, which the Functions host may have rewritten: ${JSON.stringify([change.key, change.id])}`,
    );
  return { change, raw: undefined };
}
