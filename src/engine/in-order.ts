import { type Change, compareVersions } from '../feed/reading/change.ts';
import { Poison, type Refusal, type Runner, asRefusal } from '../kinds/runner.ts';
import type { DocumentAccess } from '../access/document-access.ts';
import type { DeadLetters } from './dead-letters/dead-letters.ts';
import type { Erased } from './erasures/watch.ts';
import { type Applied, isInfrastructure } from './isolate.ts';
import { type Parked, letterId, orderOf } from './dead-letters/letter-document.ts';

/**
 * Applies changes that keep an order within their keys. A change waits behind a parked change of its key. Once a newer
 * version replaces the parked change, the waiting changes are applied first.
 */
export async function applyOrdered(
  runner: Pick<Runner, 'id' | 'apply'>,
  changes: readonly Change[],
  access: DocumentAccess,
  { deadLetters, erased }: { readonly deadLetters: DeadLetters; readonly erased: Erased },
): Promise<Applied> {
  const blocked = await deadLetters.blocked(runner.id);
  const open = reopened(changes, blocked);
  // Changes of a tenant that is erased stay in their letters: its erasure removes them.
  const waiting = (await deadLetters.waiting(runner.id, open)).filter(({ tenant }) => !erased(tenant));
  // Before anything runs: a host that dies in the middle must leave no older version to run after the newer one. The feed
  // still has the newer one, since no letter holds it.
  await deadLetters.resolve(runner.id, replacing(waiting, changes));
  const shut = (order: string): boolean => blocked.has(order) && !open.has(order);
  return applyInOrder(merged(waiting, changes), shut, (some) => runner.apply(some, access));
}

/**
 * The keys of a page that have parked changes and may continue: every refused document of the key comes again in this
 * page, in the refused version or a newer one.
 */
export function reopened(
  changes: readonly Change[],
  blocked: ReadonlyMap<string, ReadonlyMap<string, Parked>>,
): Set<string> {
  const open = new Set<string>();
  if (blocked.size === 0) return open;
  const coming = Map.groupBy(changes, orderOf);
  for (const [order, documents] of blocked) {
    const again = new Map((coming.get(order) ?? []).map((change) => [letterId(change), change]));
    const replaced = [...documents].every(([id, { waits, version }]) => {
      const change = again.get(id);
      return waits || (change !== undefined && compareVersions(change.version, version) !== 'older');
    });
    if (replaced) open.add(order);
  }
  return open;
}

/** The changes of a page that are newer versions of waiting ones. */
export function replacing(waiting: readonly Change[], page: readonly Change[]): Change[] {
  const before = new Map(waiting.map((change) => [letterId(change), change.version]));
  return page.filter((change) => {
    const version = before.get(letterId(change));
    return version !== undefined && compareVersions(change.version, version) === 'newer';
  });
}

/** The waiting changes together with the page's, in the order of their versions. Of each document only the newest stays. */
export function merged(waiting: readonly Change[], page: readonly Change[]): Change[] {
  const coming = new Set(page.map(letterId));
  const kept = waiting.filter((change) => !coming.has(letterId(change)));
  if (kept.length === 0) return [...page];
  const byVersion = (a: Change, b: Change): number =>
    a.version.epoch - b.version.epoch || a.version.lsn - b.version.lsn;
  return [...kept, ...page].toSorted(byVersion);
}

/**
 * Applies changes so that none is applied while an earlier change of its key is refused. A refused change whose document
 * comes again in a newer version (pages that waited are joined) is left out: there is one letter for a document, and behind
 * a letter of the newer version nothing would be left that the others could wait for. Throws infrastructure errors.
 */
export async function applyInOrder(
  changes: readonly Change[],
  shut: (order: string) => boolean,
  apply: (changes: readonly Change[]) => Promise<void>,
): Promise<Applied> {
  const applied: Change[] = [];
  const refusals: Refusal[] = [];
  const waiting = new Set<Change>();
  const refusedKeys = new Set<string>();

  const newest = new Map(changes.map((change) => [letterId(change), change]));
  const isReplaced = (change: Change): boolean => newest.get(letterId(change)) !== change;

  const refuse = (refusal: Refusal): void => {
    if (isReplaced(refusal.change)) return;
    refusals.push(refusal);
    refusedKeys.add(orderOf(refusal.change));
  };
  const attempt = async (some: readonly Change[]): Promise<void> => {
    if (some.length === 0) return;
    try {
      await apply(some);
      applied.push(...some);
    } catch (error) {
      if (error instanceof Poison) return leaveOut(some, error);
      if (isInfrastructure(error)) throw error;
      const [only] = some;
      if (only && some.length === 1) return refuse({ change: only, error: asRefusal(error) });
      const middle = some.length >> 1;
      await attempt(some.slice(0, middle));
      await attempt(open(some.slice(middle)));
    }
  };
  /** Parks the first refused change of each key. Later changes of the key wait; earlier ones are tried with the rest. */
  const leaveOut = async (some: readonly Change[], { refusals: named }: Poison): Promise<void> => {
    const refused = new Map(named.map((refusal) => [refusal.change, refusal]));
    const rest: Change[] = [];
    const cut = new Set<string>();
    for (const change of some) {
      const order = orderOf(change);
      const refusal = refused.get(change);
      if (cut.has(order)) waiting.add(change);
      else if (refusal) {
        if (!isReplaced(change)) cut.add(order);
        refuse(refusal);
      } else rest.push(change);
    }
    await attempt(rest);
  };
  const open = (some: readonly Change[]): Change[] =>
    some.filter((change) => {
      const order = orderOf(change);
      if (!shut(order) && !refusedKeys.has(order)) return true;
      waiting.add(change);
      return false;
    });

  await attempt(open(changes));
  return { applied, refusals, waiting: changes.filter((change) => waiting.has(change)) };
}
