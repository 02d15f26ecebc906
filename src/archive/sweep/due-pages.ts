import type { SqlQuerySpec } from '@azure/cosmos';
import { canonical } from '../../base/json.ts';
import { mapSettled } from '../../base/map-settled.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';
import type { Change, Key, Page } from '../../feed/reading/change.ts';
import { untilStopped } from '../../feed/tenure/fences.ts';
import { dueQuery, undatedQuery } from './due-query.ts';
import { Identities } from '../read/identities.ts';
import type { Sweeper } from './sweepers.ts';
import type { TenantValue, Turns } from './tenant-turns.ts';
import { type Eligibility, eligibilityOf } from './eligibility.ts';
import type { RangePage } from './feed-reader.ts';
import type { Archive } from '../types.ts';

export interface DueOptions {
  readonly now: number;
  readonly tenant?: string | undefined;
  readonly signal: AbortSignal;
  /** Absent: the query's order is that of the sweep. */
  readonly turns?: Turns | undefined;
  /** Absent: the sweep takes all. */
  readonly sweeper?: Sweeper | undefined;
  /** Called before the versions of some documents are looked up. */
  readonly pace?: () => Promise<void>;
  /** Called for each document that the query found and that stays. */
  readonly note: (eligibility: Exclude<Eligibility, { kind: 'leaves' }>) => void;
}

/** Documents whose versions are looked up before they are given on: their age counts from then (ARC-H3). */
const AT_ONCE = 250;
const KEYS_AT_ONCE = 16;
const SMALLEST_PAGE = 8;
const LARGEST_PAGE = 500;
/** A document stands in the feed of its key where its `_ts` says, or a second beside it. */
const SECOND_MS = 1_000;

/**
 * The documents that are due, as their feed delivers them. A query by the date finds them, and only the feed of their key
 * has their versions (ARC-H22). What the query says of a document decides nothing: its page is of the feed.
 */
export async function* duePages(archive: Archive, options: DueOptions): AsyncGenerator<RangePage> {
  const { spec, source, feed } = archive;
  const { signal, note, pace } = options;
  const ranges = await feed.ranges();
  const undated = undatedQuery(spec, source);
  if (undated)
    for await (const raw of ask(archive, undated, signal)) {
      const eligibility = ruled(archive, raw, options)?.eligibility;
      if (eligibility && eligibility.kind !== 'leaves') note(eligibility);
    }
  let due: Change[] = [];
  for await (const change of dueDocuments(archive, options)) {
    due.push(change);
    if (due.length < AT_ONCE) continue;
    await pace?.();
    yield* versionsOf(archive, ranges, due, signal);
    due = [];
  }
  yield* versionsOf(archive, ranges, due, signal);
}

const ask = ({ feed }: Archive, query: SqlQuerySpec, signal: AbortSignal): AsyncGenerator<Record<string, unknown>> =>
  fetchAll(feed.container, query, signal, feed.meter && { meter: feed.meter });

/**
 * The documents that the query finds. With turns, a tenant that had its turn is left out until the others had theirs;
 * then what is left comes in any order. Beside other sweeps, it takes its own keys first, then what is still there.
 */
export async function* dueDocuments(archive: Archive, options: DueOptions): AsyncGenerator<Change> {
  const { spec, source } = archive;
  const { now, signal, note, turns, sweeper } = options;
  const { tenantField } = spec;
  // Documents of an earlier look may be found again: they stay, or the index is behind.
  const seen = new Identities();
  let [inTurns, ownFirst] = [turns !== undefined && tenantField !== undefined, sweeper !== undefined];
  for (let again = true; again;) {
    again = false;
    let left = false;
    const counts = new Map<unknown, number>();
    for await (const raw of ask(archive, dueQuery(spec, source, now, inTurns ? turns?.ended : []), signal)) {
      const found = ruled(archive, raw, options);
      if (!found || seen.has(found.change)) continue;
      if (ownFirst && !sweeper?.isFirstFor(found.change.key)) {
        left = true;
        continue;
      }
      if (inTurns || sweeper?.isShared) seen.add(found.change);
      if (found.eligibility.kind !== 'leaves') {
        note(found.eligibility);
        continue;
      }
      yield found.change;
      const tenant = inTurns && tenantField !== undefined ? raw[tenantField] : undefined;
      if (!isTenantValue(tenant)) continue;
      const count = (counts.get(tenant) ?? 0) + 1;
      counts.set(tenant, count);
      if (!turns || count < turns.length) continue;
      turns.end(tenant);
      again = true;
      break;
    }
    if (again) continue;
    // Nothing is left of tenants that wait for their turn.
    if (inTurns && turns && turns.ended.length > 0) again = true;
    turns?.clear();
    inTurns = false;
    if (left) [again, ownFirst] = [true, false];
  }
}

const isTenantValue = (value: unknown): value is TenantValue =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';

function ruled(
  { spec, source, feed }: Archive,
  raw: Record<string, unknown>,
  options: DueOptions,
): { readonly change: Change; readonly eligibility: Eligibility } | undefined {
  const change = feed.source.found(raw);
  if (change?.type !== spec.from.type) return undefined;
  return { change, eligibility: eligibilityOf(spec, source, change, options) };
}

async function* versionsOf(
  archive: Archive,
  ranges: readonly FeedRange[],
  due: readonly Change[],
  signal: AbortSignal,
): AsyncGenerator<RangePage> {
  const keys = Map.groupBy(due, ({ key }) => canonical(key));
  const pages: RangePage[] = [];
  await mapSettled(
    keys.values(),
    async (of) => {
      const [first] = of;
      if (!first) return;
      const hash = archive.feed.hashOf(first.key);
      const range = ranges.find(({ min, max }) => min <= hash && hash < max);
      if (range) for (const page of await ofKey(archive, range, first.key, of, signal)) pages.push({ ...page, range });
    },
    { concurrency: KEYS_AT_ONCE },
  );
  yield* pages;
}

/** A page costs as many RU as it has documents, and those that are due stand together or far apart. */
const pageOf = (due: number): number => Math.min(Math.max(due, SMALLEST_PAGE), LARGEST_PAGE);

/** Looks from the oldest document on, and skips what was written between two of them. */
async function ofKey(
  archive: Archive,
  range: FeedRange,
  key: Key,
  due: readonly Change[],
  signal: AbortSignal,
): Promise<Page[]> {
  const { source } = archive.feed;
  const pages: Page[] = [];
  const open = new Map(due.toSorted((a, b) => a.at - b.at).map((change) => [change.id, change]));
  const take = (page: Page): void => {
    const changes = page.changes.filter(({ id }) => open.has(id));
    if (changes.length > 0) pages.push({ ...page, changes });
    for (const { id } of changes) open.delete(id);
  };
  const missed: Change[] = [];
  for (let first; (first = open.values().next().value);) {
    for await (const page of source.ofKey(range, key, new Date(first.at - SECOND_MS), pageOf(open.size), signal)) {
      take(page);
      if (!open.has(first.id) || (page.changes.at(-1)?.at ?? 0) > first.at + SECOND_MS) break;
    }
    if (open.delete(first.id)) missed.push(first);
  }
  if (missed.length === 0) return pages;
  // Mostly they changed or left. One that still stands was written by a clock that went back: then no time finds it.
  const standing = await archive.access(untilStopped(signal)).read(
    archive.spec.from.container,
    key,
    missed.map(({ id }) => id),
  );
  for (const [index, change] of missed.entries())
    if (standing[index]?._etag === change.version.etag) open.set(change.id, change);
  if (open.size === 0) return pages;
  for await (const page of source.ofKey(range, key, undefined, LARGEST_PAGE, signal)) {
    take(page);
    if (open.size === 0) break;
  }
  return pages;
}
