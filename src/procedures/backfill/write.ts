import { pointerPart } from '../../base/json-pointer.ts';
import { feedWithoutSystemFields } from '../../feed/reading/mapper.ts';
import { backfilledOwn, isBackfilled } from '../../kinds/backfilled.ts';
import { untilDone } from '../../access/change.ts';
import type { Change } from '../../feed/reading/change.ts';
import type { DocumentAccess, PatchOperation } from '../../access/document-access.ts';
import type { Lacking } from './without-tenant.ts';
import { ttlAfter } from './ttl-after.ts';
import type { ServiceClock } from './service-clock.ts';
import type { BackfillTenant, BackfillValues } from './values.ts';

type Doc = Readonly<Record<string, unknown>>;

/** A document in the version that was read, and the value that it lacks. */
export interface DueWrite {
  readonly change: Pick<Change, 'container' | 'key' | 'id'>;
  /** With its system fields. */
  readonly stored: Doc;
  readonly value: BackfillTenant;
  /** True: a reaction or a publish has parked its last change. So the write is one that they get. */
  readonly event?: boolean;
}

/**
 * `written`: the document has the value by this backfill; `had`: it was written or deleted by another meanwhile; `later`:
 * it has a newer version, which the feed still delivers; `left`: the reason why it stays without a value.
 */
export type BackfillOutcome = 'written' | 'had' | 'later' | { readonly why: string };

export interface WriteOptions {
  readonly field: string;
  /** Of the container, seconds; undefined: documents don't expire. */
  readonly defaultTtl: number | undefined;
  readonly lacking: Lacking;
  readonly values: BackfillValues;
  readonly clock: ServiceClock;
  /** True: only a version whose change was processed may be replaced, so a newer one is left to the feed. */
  readonly gated: boolean;
}

/** Refusals of one unchanged version, after which the reason isn't another writer. */
const REFUSALS = 5;

/** Writes the value into one document, on the condition that it has not changed since it was read. */
export async function write(due: DueWrite, access: DocumentAccess, options: WriteOptions): Promise<BackfillOutcome> {
  const { container, key, id } = due.change;
  const { field, lacking, values, gated } = options;
  let { stored, value } = due;
  let outcome: BackfillOutcome = 'later';
  let refused = 0;
  await untilDone(`Document ${container}/${id}`, async (first) => {
    if (!first) {
      const [found] = await access.read(container, key, [id]);
      if (!found || !lacking.has(found)) {
        const marked = found && isBackfilled(found, feedWithoutSystemFields(found));
        const ours = found?.[field] === value && (due.event === true || marked);
        outcome = ours ? 'written' : 'had';
        return true;
      }
      if (found._etag === stored['_etag']) {
        refused += 1;
        outcome = { why: `${container} refuses ${field}: another document may have the same unique key` };
        if (refused >= REFUSALS) return true;
      } else {
        outcome = 'later';
        if (gated) return true;
        const [now] = await values.of([found], access);
        if (!now || 'why' in now) {
          outcome = now ?? outcome;
          return true;
        }
        stored = found;
        ({ value } = now);
      }
    }
    const operations = operationsOf({ ...due, stored, value }, options);
    const ifMatch = String(stored['_etag']);
    const answer = await access.commit(container, key, [{ op: 'patch', id, operations, ifMatch }]);
    if (answer.kind === 'conflict') return false;
    outcome = answer.kind === 'done' ? 'written' : { why: answer.why };
    return true;
  });
  return outcome;
}

/** A patch leaves fields alone that this process can't represent exactly, such as very large numbers (ASM-F22). */
function operationsOf(
  { stored, value, event }: DueWrite,
  { field, defaultTtl, clock }: WriteOptions,
): PatchOperation[] {
  const ttl = ttlAfter(stored, defaultTtl, clock.now());
  const before = feedWithoutSystemFields(stored);
  const doc = { ...before, [field]: value, ...(ttl !== undefined && { ttl }) };
  return [
    { op: 'set', path: `/${pointerPart(field)}`, value },
    ...(ttl === undefined ? [] : [{ op: 'set', path: '/ttl', value: ttl } as const]),
    ...(event ? [] : [{ op: 'set', path: '/_mr', value: backfilledOwn(stored['_mr'], before, doc) } as const]),
  ];
}
