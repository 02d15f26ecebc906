import pMap from 'p-map';
import { untilStopped } from '../../archive/reading.ts';
import type { Settings } from '../../base/settings.ts';
import { systemClock } from '../../base/clock.ts';
import { Meter } from '../../cosmos/meter.ts';
import { isObject } from '../../base/json.ts';
import { type AggregateSpec, type Doc, type ProjectionSpec, projectionId } from '../../definition/kinds.ts';
import { rowKey } from '../../definition/recompute.ts';
import { aggregateId, sinkDocumentId } from '../../definition/sink-id.ts';
import type { Change, Key } from '../../feed/change.ts';
import { CosmosSession } from '../../sinks/cosmos-session.ts';
import { MAX_BATCH, type SinkDocument, type SinkSession, type Write } from '../../sinks/session.ts';
import { openPipelineHistory } from '../archive/open.ts';
import type { LoadedPipeline, Services } from '../workspace.ts';
import { engineOf } from './engine-of.ts';
import type { Difference } from './pass.ts';
import { repairEmbed } from './repair-embed.ts';
import { asSeen, sourcesFor } from './staged.ts';
import type { OtherSpec } from './verify-others.ts';

/** What a repair did. */
export interface Repaired {
  /** Sink documents that nothing accounts for, and groups to be built up again with their contributions. */
  readonly removed: number;
  /** Copies whose next version wins whatever it is. */
  readonly reset: number;
  /** Changes that were applied again. */
  readonly applied: number;
  /** Request units. */
  readonly charge: number;
}

export interface RepairOptions {
  readonly settings: Settings;
  readonly services: Services;
  readonly loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>;
  readonly chosen: readonly ProjectionSpec[];
  /** Embeds among them are repaired too. */
  readonly others?: readonly OtherSpec[];
  readonly readLagMs?: number | undefined;
  readonly signal: AbortSignal;
}

const PAGE = 500;

/**
 * Puts differing sink documents right beside the live hosts: a copy is set back to before all versions, a group is
 * removed with its contributions, and *afterwards* the feeds are read from their beginning and what belongs to those
 * documents is applied by the projection's own code. A wrong copy is there all the time; a wrong group is missing until it
 * is built up again. Whatever a host does meanwhile is newer than what is applied here; should they still cross each other, another look
 * finds it.
 */
export async function repair(options: RepairOptions, differences: readonly Difference[]): Promise<Repaired> {
  const { services, loaded, chosen, signal, readLagMs = 5_000 } = options;
  const meter = new Meter();
  const session = new CosmosSession(services.database, untilStopped(signal), meter);
  const total = { removed: 0, reset: 0, applied: 0, charge: 0 };
  for (const spec of chosen) {
    const mine = differences.filter(({ projections }) => projections.includes(projectionId(spec)));
    if (mine.length === 0) continue;
    const sink = loaded.model.containers.find(({ name }) => name === spec.into.container);
    const keyPaths = sink?.partitionKey ?? [];
    for (const difference of mine) {
      const key = (JSON.parse(difference.document) as unknown[]).slice(0, -1) as unknown as Key;
      const done =
        spec.kind === 'aggregate'
          ? await removeGroup(spec, key, difference, session)
          : await setBack(spec, key, difference, session);
      total.removed += done.removed;
      total.reset += done.reset;
    }
    const wanted = new Set(mine.map(({ document }) => document));
    const engine = engineOf({ ...options, readLagMs }, spec);
    const history = await openPipelineHistory(loaded, services, { signal, readLagMs });
    const source = sourcesFor({ loaded, spec }).get(spec.from.container);
    let page: Change[] = [];
    const flush = async (): Promise<void> => {
      const changes = page;
      page = [];
      if (changes.length === 0) return;
      await engine.consume({ changes, charge: 0, readAt: systemClock.monotonic() }, untilStopped(signal));
      total.applied += changes.length;
    };
    if (source)
      for await (const document of history.documents(spec.from.container, signal)) {
        const change = asSeen(source, document);
        if (!change || change.type !== spec.from.type || !concerns(spec, keyPaths, change, wanted)) continue;
        page.push(change);
        if (page.length === PAGE) await flush();
      }
    await flush();
    total.charge += engine.stats[0]?.meter.charge ?? 0;
  }
  for (const spec of options.others ?? []) {
    const mine = differences.filter(({ projections }) => projections.includes(projectionId(spec)));
    if (spec.kind !== 'embed' || mine.length === 0) continue;
    const done = await repairEmbed(spec, new Set(mine.map(({ document }) => document)), options);
    total.applied += done.applied;
    total.charge += done.charge;
  }
  return { ...total, charge: total.charge + meter.charge };
}

/** Whether a change may have to do with one of the sink documents; where the user's code throws, it is left to the engine. */
function concerns(
  spec: ProjectionSpec,
  keyPaths: readonly string[],
  change: Change,
  wanted: ReadonlySet<string>,
): boolean {
  const doc = change.doc ?? {};
  try {
    if (spec.kind === 'aggregate') {
      const rows = spec.each ? spec.each(doc) : [doc];
      return rows.some((row) => {
        const group = spec.groupBy(row, doc);
        return wanted.has(rowKey({ ...group, id: aggregateId(spec.into.type, group) }, keyPaths));
      });
    }
    if (spec.kind === 'reference') return true;
    const mapped = spec.map(doc, Object.fromEntries(spec.joins.map(({ name }) => [name, null])));
    return wanted.has(rowKey({ ...mapped, id: sinkDocumentId(String(mapped['id'])) }, keyPaths));
  } catch {
    return true;
  }
}

/** A copy that differs is older than everything from now on; one that nothing accounts for goes. */
async function setBack(
  spec: ProjectionSpec,
  key: Key,
  { kind, document }: Difference,
  session: SinkSession,
): Promise<{ removed: number; reset: number }> {
  const id = String((JSON.parse(document) as unknown[]).at(-1));
  const nothing = { removed: 0, reset: 0 };
  const [found] = await session.read(spec.into.container, key, [id]);
  // Missing: it may be there as a tombstone, or as another's; the projection's own code decides.
  if (!found) return nothing;
  const src = found['_src'];
  if (kind === 'unexpected' || !isObject(src)) {
    const gone = await session.commit(spec.into.container, key, [{ op: 'delete', id, ifMatch: found._etag }]);
    return gone.kind === 'done' ? { removed: 1, reset: 0 } : nothing;
  }
  const body = { ...withoutSystem(found), _src: { ...src, epoch: 0, lsn: -1, etag: 'repair' } };
  const reset = await session.commit(spec.into.container, key, [{ op: 'replace', id, body, ifMatch: found._etag }]);
  return reset.kind === 'done' ? { removed: 0, reset: 1 } : nothing;
}

/** The aggregate and the first of its contributions go in one batch: nobody finds the one without the others. */
async function removeGroup(
  spec: AggregateSpec,
  key: Key,
  { document }: Difference,
  session: SinkSession,
): Promise<{ removed: number; reset: number }> {
  const id = String((JSON.parse(document) as unknown[]).at(-1));
  const { container } = spec.into;
  const parts = await session.query<SinkDocument>(
    container,
    'SELECT * FROM c WHERE c.id = @id OR (c["by"] = @by AND c["of"] = @id)',
    { id, by: projectionId(spec) },
    key,
  );
  const ordered = parts.toSorted((a, b) => Number(b.id === id) - Number(a.id === id));
  let removed = 0;
  for (let from = 0; from < ordered.length; from += MAX_BATCH) {
    const writes = ordered
      .slice(from, from + MAX_BATCH)
      .map((part): Write => ({ op: 'delete', id: part.id, ifMatch: part._etag }));
    const { kind } = await session.commit(container, key, writes);
    if (kind === 'done') removed += writes.length;
    // Somebody wrote one of them: each by itself, and those left are found by the next look.
    else
      await pMap(
        writes,
        async (write) => {
          if ((await session.commit(container, key, [write])).kind === 'done') removed += 1;
        },
        { concurrency: 16 },
      );
  }
  return { removed, reset: 0 };
}

const SYSTEM = new Set(['_rid', '_self', '_etag', '_attachments', '_ts']);
const withoutSystem = (found: SinkDocument): Doc =>
  Object.fromEntries(Object.entries(found).filter(([field]) => !SYSTEM.has(field)));
