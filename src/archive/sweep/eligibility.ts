import { roundedIn } from '../../base/whole-numbers.ts';
import { messageOf } from '../../base/errors.ts';
import { withoutSystemFields } from '../../cosmos/system-fields.ts';
import { parseDate } from '../../pipeline/date.ts';
import type { ArchiveSpec } from '../../pipeline/specs.ts';
import { type SourceContainer, feedTenantOf } from '../../feed/reading/mapper.ts';
import type { Change } from '../../feed/reading/change.ts';
import { type Period, folderTenant, periodOf } from '../blobs/layout.ts';
import type { Archive, ReadErased } from '../types.ts';

/** Whether a document leaves its container. Undated and refused documents stay too; the sweep counts and names them. */
export type Eligibility =
  | { readonly kind: 'leaves'; readonly period: Period; readonly tenant?: string }
  | { readonly kind: 'stays' }
  | { readonly kind: 'undated' | 'refused'; readonly why: string };

const STAYS: Eligibility = { kind: 'stays' };

/**
 * `change.doc` is the document as stored. These stay: deleted documents (they are markers), documents that were restored
 * or moved to another shard until they change, and documents with a time to live of their own (they expire, and a restore would bring them back). With
 * `tenant` the documents of all other tenants stay.
 */
export function eligibilityOf(
  spec: ArchiveSpec,
  source: SourceContainer,
  change: Change,
  { now, tenant }: { readonly now: number; readonly tenant?: string | undefined },
): Eligibility {
  const stored = change.doc ?? {};
  if (change.restored || change.moved || change.leaving || (typeof stored['ttl'] === 'number' && stored['ttl'] > 0))
    return STAYS;
  try {
    const rules = source.types.get(change.type);
    const doc = rules?.upcast ? rules.upcast(stored) : stored;
    if (rules?.deleted?.(doc) || (tenant !== undefined && folderTenant(spec, doc) !== tenant)) return STAYS;
    const value = doc[spec.dateField];
    const absent = value === undefined || value === null;
    if (absent && spec.rule.kind !== 'always') return STAYS;
    const at = parseDate(value);
    // A date ahead isn't due yet, by any rule.
    if (at !== undefined && (at > now || !due(spec, at, now))) return STAYS;
    if (spec.largerThan && sizeOf(stored) <= spec.largerThan.bytes) return STAYS;
    if (spec.where && !spec.where(doc)) return STAYS;
    const what = `${spec.dateField} of ${change.container}/${change.id}`;
    if (absent) return { kind: 'undated', why: `${what} is missing` };
    if (at === undefined) return { kind: 'undated', why: `${what} is not a date: ${JSON.stringify(value)}` };
    const rounded = roundedIn(stored);
    if (rounded !== undefined) return { kind: 'refused', why: `${change.container}/${change.id}: ${rounded}` };
    const { tenant: own } = feedTenantOf(source, doc);
    return { kind: 'leaves', period: periodOf(spec, doc, at), ...(own !== undefined && { tenant: own }) };
  } catch (error) {
    return { kind: 'refused', why: `${change.container}/${change.id}: ${messageOf(error)}` };
  }
}

/** Bytes of a document as its application wrote it. */
const sizeOf = (stored: object): number => Buffer.byteLength(JSON.stringify(withoutSystemFields(stored)));

function due({ rule }: ArchiveSpec, at: number, now: number): boolean {
  if (rule.kind === 'always') return true;
  return rule.kind === 'before' ? at < rule.ms : at <= now - rule.ms;
}

/** The tenant of a document as it is stored; undefined if it has none, or names no valid one. */
export function storedTenant(
  source: SourceContainer,
  type: string,
  stored: Record<string, unknown>,
): string | undefined {
  try {
    return feedTenantOf(source, source.types.get(type)?.upcast?.(stored) ?? stored).tenant;
  } catch {
    return undefined;
  }
}

/** Whether the tenant of an archived document is erased now. */
export const isOfErased = async (
  { source }: Pick<Archive, 'source'>,
  { type, doc = {} }: Pick<Change, 'type' | 'doc'>,
  readErased: ReadErased | undefined,
): Promise<boolean> => readErased !== undefined && (await readErased())(storedTenant(source, type, doc)) !== undefined;
