import { systemClock } from '../../base/clock.ts';
import { canonical } from '../../base/json.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { mapSettled } from '../../base/map-settled.ts';
import type { DocumentAccess } from '../../access/document-access.ts';
import type { Refusal } from '../runner.ts';
import type { Due, List, ListedReference } from './lists.ts';
import { type ReferencePair, type PairTarget, referencePlaceOf, writePairs } from './pairs.ts';

const STALE_MS = 20;
/** Pairs that wait for a newer list for this long wait for what doesn't come: the page is read again. */
const OPEN_MS = 60_000;

export interface Spread extends PairTarget {
  readonly lists: { readonly data: List; readonly tenants: List };
  /** How old a read may be, milliseconds (ASM-A3). */
  readonly readLagMs: number;
}

interface DuePair extends ReferencePair {
  readonly due: Due;
}

/**
 * Writes every pair of the changed documents, and returns the changes whose pairs were refused. The list of the other
 * side may be stale: it is read again until a read that began 2 × the read lag after the entries were written finds
 * nothing more to write. If both sides change at the same time, the later writer sees the other's entry (COPY-F2).
 */
export async function spreadPairs(
  spread: Spread,
  changed: { readonly data: readonly Due[]; readonly tenants: readonly Due[] },
  access: DocumentAccess,
): Promise<Refusal[]> {
  if (changed.data.length + changed.tenants.length === 0) return [];
  const settledAt = systemClock.monotonic() + 2 * spread.readLagMs;
  const done = new Set<string>();
  const refused = new Map<Due, Refusal>();
  let progressAt = systemClock.monotonic();
  for (;;) {
    const last = systemClock.monotonic() >= settledAt;
    const pairs = (await pairsOf(spread, changed, access)).filter((pair) => !done.has(pairId(pair)));
    const written = await writePairs(spread, pairs, access);
    for (const pair of written.current) done.add(pairId(pair));
    for (const { pair, error } of written.refused) {
      done.add(pairId(pair));
      const { due } = pair as DuePair;
      refused.set(due, { change: due.change, error });
    }
    // Some entries were read too old: the lists are read again when the replicas have caught up.
    const open = pairs.length - written.current.length - written.refused.length;
    if (open < pairs.length) progressAt = systemClock.monotonic();
    else if (open > 0 && systemClock.monotonic() - progressAt > OPEN_MS)
      throw sharedError(
        'contended',
        `${open} copies in ${spread.sink.name} are newer than the lists of ${spread.spec.name}`,
      );
    if (open > 0) await systemClock.sleep(STALE_MS);
    if (pairs.length > 0) continue;
    if (last) break;
    await systemClock.sleep(Math.max(1, settledAt - systemClock.monotonic()));
  }
  const complete = (list: List, dues: readonly Due[]): Promise<unknown> =>
    mapSettled(
      dues.filter((due) => !refused.has(due)),
      (due) => list.complete(due, access),
      { concurrency: 128 },
    );
  await complete(spread.lists.data, changed.data);
  await complete(spread.lists.tenants, changed.tenants);
  return [...refused.values()];
}

async function pairsOf(
  target: Spread,
  changed: { readonly data: readonly Due[]; readonly tenants: readonly Due[] },
  access: DocumentAccess,
): Promise<DuePair[]> {
  const { lists } = target;
  const allTenants = changed.data.length > 0 ? await lists.tenants.all(access) : [];
  const allData = changed.tenants.length > 0 ? await lists.data.all(access) : [];
  return [
    ...changed.data.flatMap((due) =>
      entitled(allTenants, (tenant) => placeId(target, due.listed, tenant)).map((tenant) => ({
        due,
        data: due.listed,
        tenant,
        side: 'data' as const,
      })),
    ),
    ...changed.tenants.flatMap((due) =>
      entitled(allData, (data) => placeId(target, data, due.listed)).map((data) => ({
        due,
        data,
        tenant: due.listed,
        side: 'tenant' as const,
      })),
    ),
  ];
}

const placeId = (target: PairTarget, data: ListedReference, tenant: ListedReference): string =>
  data.part === null || tenant.part === null ? '' : canonical(referencePlaceOf(target, { data, tenant }));

/** Without the entries that were refused because another entry's copies have their place. */
function entitled(
  all: readonly ListedReference[],
  place: (listed: ListedReference) => string,
): readonly ListedReference[] {
  if (all.every(({ complete }) => complete)) return all;
  const taken = new Set(all.filter(({ complete, present }) => complete && present).map(place));
  return all.filter((one) => one.complete || !one.present || !taken.has(place(one)));
}

const pairId = ({ data, tenant, side }: ReferencePair): string =>
  [side, data.id, data.version.etag, data.present, tenant.id, tenant.version.etag, tenant.present].join(' ');
