// Erasures of tenants in the world of move-protocol.ts: a record that hosts, sweeps and restores read late, two waits, and
// removals in both shards and the global place. A tenant is a key. docs/SPEC-erase.md, "Over shards"
import { LAG, PAGE, SWEEP, seenAt } from './move-lag.ts';
import { KEYS, type MoveWorld } from './move-protocol.ts';
import type { Shard, Sink } from './move-shards.ts';

type Steps = Generator<void, void, undefined>;

/** What was read before a record has had its effects after this, and every read shows them. */
const WAIT = 2 * LAG + Math.max(PAGE, SWEEP);
const ROUNDS = 4;

export interface Erasure {
  readonly recordedAt: number;
  /** Documents that the process has listed, as long as it lives: records without a tenant are found by them. */
  known: Set<string>;
  /** Documents that were gone before a process listed them again. */
  readonly forgotten: Set<string>;
  /** Since when it removes. */
  removesSince?: number;
  endedAt?: number;
}

/** Whether a process that looks now sees the record of an erasure. */
export function seesErasure(world: MoveWorld, key: string): boolean {
  const erasure = world.erasures.get(key);
  return erasure !== undefined && erasure.recordedAt <= seenAt(world);
}

/** A process writes something of a tenant. */
export function assertNotRemoved(world: MoveWorld, id: string, what: string): void {
  if (world.erasures.get(id.slice(0, 1))?.removesSince !== undefined)
    world.said.push(`${id} ${what} after its tenant was removed`);
}

const isMoving = (world: MoveWorld, key: string): boolean =>
  world.moves.some((one) => one.key === key && one.step !== 'done' && one.step !== 'cancelled');

/** Erases a tenant, or goes on with it. After each `yield` it may die. */
export function* erase(world: MoveWorld, key: string): Steps {
  const looks = !world.is('an erasure looks for no move');
  // One that begins is refused while keys move.
  if (!world.erasures.has(key) && looks) while (isMoving(world, key)) yield;
  const erasure: Erasure = world.erasures.get(key) ?? { recordedAt: world.now, known: new Set(), forgotten: new Set() };
  world.erasures.set(key, erasure);
  // What the process before has listed is lost with it: the gap of identities in memory.
  const before = erasure.known;
  erasure.known = new Set();
  if (!world.is('an erasure lists documents after its wait')) list(world, key, erasure);
  for (const id of before) if (!erasure.known.has(id)) erasure.forgotten.add(id);
  yield;
  if (!world.is('an erasure waits for nothing before it removes')) yield* pass(world);
  // It is refused, and run again.
  if (looks && isMoving(world, key)) {
    while (isMoving(world, key)) yield;
    yield* pass(world);
  }
  erasure.removesSince ??= world.now;
  for (let round = 1; ; round++) {
    const removed = yield* remove(world, key, erasure);
    yield* pass(world);
    if (removed === 0) break;
    if (round < ROUNDS) continue;
    world.said.push(`the erasure of ${key} does not end`);
    return;
  }
  erasure.endedAt = world.now;
  world.totals.erased += 1;
  world.said.push(...leftOf(world, key));
}

/** Nothing acts any more on what it read before. */
function* pass(world: MoveWorld): Steps {
  const since = world.now;
  while (world.now - since < WAIT) yield;
}

/** What is left of a tenant, in any place. */
function leftOf({ shards, global, erasures }: MoveWorld, key: string): string[] {
  const { forgotten } = erasures.get(key)!;
  const left = (what: string): string => `${what} of ${key} after its erasure`;
  const ofKey = (ids: Iterable<string>): boolean => [...ids].some((id) => id.startsWith(key));
  return [
    ...shards.flatMap((shard) => [
      ...(ofKey(shard.docs.keys()) ? [left(`${shard.name} has a document`)] : []),
      ...(ofKey(shard.entries.keys()) ? [left(`${shard.name} has an entry`)] : []),
      ...(ofKey(shard.letters.keys()) ? [left(`${shard.name} has a letter`)] : []),
      ...(shard.deferred.some((one) => one.key === key) ? [left(`${shard.name} has a deferred change`)] : []),
      ...(counts(shard.sink, key) ? [left(`${shard.name} counts a document`)] : []),
    ]),
    ...(counts(global, key, forgotten) ? [left('the global place counts a document')] : []),
  ];
}

const counts = ({ guards }: Sink, key: string, except: ReadonlySet<string> = new Set()): boolean =>
  [...guards].some(([id, guard]) => id.startsWith(key) && guard.counts && !except.has(id));

/** After everything has ended. */
export function judgeErasures(world: MoveWorld): void {
  for (const key of KEYS) if (world.erasures.get(key)?.endedAt !== undefined) world.said.push(...leftOf(world, key));
}

/** Resolves with how much it has removed. Records go before documents, in all places, because they are found by these. */
function* remove(world: MoveWorld, key: string, erasure: Erasure): Generator<void, number, undefined> {
  const { global } = world;
  const places = world.is('an erasure works where the map has the tenant')
    ? world.shards.filter((one) => one === world.owner.get(key))
    : world.shards;
  list(world, key, erasure);
  const steps: ((shard: Shard) => number)[] = [
    (shard) => removeFrom(shard.letters, (id) => id.startsWith(key)),
    (shard) => dropDeferred(shard, key),
    (shard) => removeCounted(shard.sink, key, () => true),
    // Its documents don't name the tenant.
    () => removeCounted(global, key, (id) => erasure.known.has(id)),
    (shard) => removeFrom(shard.docs, (id) => id.startsWith(key)),
    (shard) => removeFrom(shard.entries, (id) => id.startsWith(key)),
  ];
  let removed = 0;
  for (const step of steps)
    for (const shard of places) {
      if (isMoving(world, key)) world.said.push(`${key} moves while it is removed`);
      removed += step(shard);
      yield;
    }
  return removed;
}

function list({ shards }: MoveWorld, key: string, { known }: Erasure): void {
  for (const { docs, entries } of shards)
    for (const id of [...docs.keys(), ...entries.keys()]) if (id.startsWith(key)) known.add(id);
}

function removeFrom(of: Map<string, unknown>, chosen: (id: string) => boolean): number {
  const due = [...of.keys()].filter(chosen);
  for (const id of due) of.delete(id);
  return due.length;
}

function dropDeferred(shard: Shard, key: string): number {
  const due = shard.deferred.filter((one) => one.key === key);
  shard.deferred = shard.deferred.filter((one) => one.key !== key);
  return due.length;
}

function removeCounted({ guards, totals }: Sink, key: string, chosen: (id: string) => boolean): number {
  const due = [...guards].filter(([id, guard]) => id.startsWith(key) && guard.counts && chosen(id));
  for (const [id, { n }] of due) {
    guards.delete(id);
    totals.set(key, (totals.get(key) ?? 0) - n);
  }
  return due.length;
}
