import pMap from 'p-map';
import { untilStopped } from '../../feed/tenure/fences.ts';
import { Meter } from '../../cosmos/meter.ts';
import { canonical, isObject } from '../../base/json.ts';
import {
  type AggregateSpec,
  type CopySpec,
  type Doc,
  type ProjectionSpec,
  type ReferenceSpec,
  projectionId,
} from '../../definition/specs.ts';
import { rowKey } from '../../definition/recompute.ts';
import { aggregateId, sinkDocumentId } from '../../definition/sink-id.ts';
import { OWN_TYPE } from '../../feed/reading/mapper.ts';
import type { Change, Key } from '../../feed/reading/change.ts';
import { List } from '../../projections/reference/lists.ts';
import { CosmosSession } from '../../sinks/cosmos-session.ts';
import { MAX_BATCH, type SinkDocument, type SinkSession, type Write } from '../../sinks/session.ts';
import { openPipelineHistory } from '../../runtime/archives.ts';
import { asSeen, consumeHistory, sourcesFor } from '../../runtime/history-pages.ts';
import { openEngine } from '../../runtime/open-engine.ts';
import type { Parts } from '../../runtime/open-feed.ts';
import { tenantRef } from './own-part.ts';
import type { Candidate, Difference } from './pass.ts';
import { repairEmbed } from './repair-embed.ts';
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

/** What one round did, and why some of it could not be done, by container and document. */
export interface Round extends Repaired {
  readonly obstacles: ReadonlyMap<string, string>;
}

export const placeText = ({ container, document }: Pick<Difference, 'container' | 'document'>): string =>
  `${container} ${document}`;

export interface RepairOptions extends Parts {
  readonly chosen: readonly ProjectionSpec[];
  /** Embeds among them are repaired too. */
  readonly others?: readonly OtherSpec[];
  readonly readLagMs?: number | undefined;
  readonly signal: AbortSignal;
}

/**
 * Puts differing sink documents right beside the live hosts: a copy is set back to before all versions, a group is
 * removed with its contributions, and *afterwards* the feeds are read from their beginning and what belongs to those
 * documents is applied by the projection's own code. A wrong copy is there all the time; a wrong group is missing until it
 * is built up again. Whatever a host does meanwhile is newer than what is applied here; should they still cross each other, another look
 * finds it.
 */
export async function repair(options: RepairOptions, differences: readonly Candidate[]): Promise<Round> {
  const { services, loaded, settings, chosen, signal, readLagMs = 5_000 } = options;
  const meter = new Meter();
  const session = new CosmosSession(services.database, untilStopped(signal), meter);
  const total = { removed: 0, reset: 0, applied: 0, charge: 0 };
  const obstacles = new Map<string, string>();
  for (const spec of chosen) {
    const mine = differences.filter(({ projections }) => projections.includes(projectionId(spec)));
    if (mine.length === 0) continue;
    const sink = loaded.model.containers.find(({ name }) => name === spec.into.container);
    const keyPaths = sink?.partitionKey ?? [];
    for (const difference of mine) {
      const done =
        spec.kind === 'aggregate'
          ? await removeGroup(spec, difference, session)
          : await setBack(spec, difference, session);
      total.removed += done.removed ?? 0;
      total.reset += done.reset ?? 0;
      if (done.obstacle !== undefined) obstacles.set(placeText(difference), done.obstacle);
    }
    const wanted = mine.filter((one) => !obstacles.has(placeText(one)));
    if (wanted.length === 0) continue;
    const met = new Set<string>();
    const concerned = concernedBy(spec, keyPaths, new Set(wanted.map(({ document }) => document)), met);
    const reopen = spec.kind === 'reference' ? listsOf(spec, settings.stateContainer, session) : undefined;
    const { engine } = openEngine(options, spec);
    const history = await openPipelineHistory(loaded, services, { signal, readLagMs });
    const read = new Set([spec.from.container, ...(spec.kind === 'reference' ? [spec.tenants.container] : [])]);
    for (const [name, source] of sourcesFor(loaded, spec)) {
      if (!read.has(name)) continue;
      const seen = async (document: Change): Promise<Change | undefined> => {
        const change = asSeen(source, document);
        if (!change || !concerned(change)) return undefined;
        await reopen?.(change);
        return change;
      };
      total.applied += await consumeHistory(engine, history.documents(name, signal), seen, signal);
    }
    total.charge += engine.stats[0]?.meter.charge ?? 0;
    for (const one of wanted)
      if (one.derived && !met.has(one.document))
        obstacles.set(placeText(one), 'no source document gives it any more: verify again');
  }
  for (const spec of options.others ?? []) {
    const mine = differences.filter(({ projections }) => projections.includes(projectionId(spec)));
    if (mine.length === 0) continue;
    if (spec.kind !== 'embed') {
      for (const one of mine)
        obstacles.set(placeText(one), 'its sink takes a version once: empty it, or send to another');
      continue;
    }
    const done = await repairEmbed(spec, new Set(mine.map(({ document }) => document)), options);
    total.applied += done.applied;
    total.charge += done.charge;
  }
  return { ...total, charge: total.charge + meter.charge, obstacles };
}

/**
 * Whether a change may have to do with one of the sink documents; where the user's code throws, it is left to the engine.
 * `met` takes the sink documents that a change accounts for.
 */
function concernedBy(
  spec: ProjectionSpec,
  keyPaths: readonly string[],
  wanted: ReadonlySet<string>,
  met: Set<string>,
): (change: Change) => boolean {
  const meets = (document: string): boolean => wanted.has(document) && Boolean(met.add(document));
  const places = [...wanted].map((document) => ({ document, parts: JSON.parse(document) as unknown[] }));
  return ({ container, type, doc = {} }) => {
    const isFrom = container === spec.from.container && type === spec.from.type;
    try {
      if (spec.kind === 'reference') {
        const id = isFrom ? sinkDocumentId(String(spec.map(doc)['id']), spec.badIds) : undefined;
        const ofData = places.filter(({ parts }) => id !== undefined && parts.at(-1) === id);
        const isTenant = container === spec.tenants.container && type === spec.tenants.type;
        const ofTenant = isTenant ? places.filter(({ parts }) => isUnder(spec, keyPaths, parts, doc)) : [];
        for (const { document } of ofData) met.add(document);
        return ofData.length + ofTenant.length > 0;
      }
      if (!isFrom) return false;
      if (spec.kind === 'aggregate') {
        const groups = (spec.each ? spec.each(doc) : [doc]).map((row) => spec.groupBy(row, doc));
        return groups
          .map((group) => meets(rowKey({ ...group, id: aggregateId(spec.into.type, group) }, keyPaths)))
          .includes(true);
      }
      const mapped = spec.map(doc, Object.fromEntries(spec.joins.map(({ name }) => [name, null])));
      return meets(rowKey({ ...mapped, id: sinkDocumentId(String(mapped['id']), spec.badIds) }, keyPaths));
    } catch {
      return isFrom;
    }
  };
}

/** Whether a place lies under the key that a tenant gives. */
const isUnder = (
  { key }: ReferenceSpec,
  keyPaths: readonly string[],
  parts: readonly unknown[],
  tenant: Doc,
): boolean =>
  keyPaths.every((path, level) => {
    const field = key[path.slice(1)];
    return field === undefined || canonical(tenant[field]) === canonical(parts[level]);
  });

/** Data and tenants write their pairs once for a version: what is applied again has to be let in again. */
function listsOf(spec: ReferenceSpec, stateContainer: string, session: SinkSession): (change: Change) => Promise<void> {
  const id = projectionId(spec);
  const [data, tenants] = [new List(stateContainer, id, 'data'), new List(stateContainer, id, 'tenants')];
  return async (change) => {
    const isData = change.container === spec.from.container && change.type === spec.from.type;
    await (isData ? data : tenants).reopen(change, session);
  };
}

interface Done {
  readonly removed?: number;
  readonly reset?: number;
  readonly obstacle?: string;
}

const placeOf = ({ document }: Difference): { key: Key; id: string } => {
  const parts = JSON.parse(document) as Key;
  return { key: parts.slice(0, -1), id: String(parts.at(-1)) };
};

/**
 * A copy that differs is older than everything from now on, and its projection's, whatever its own part says: what must
 * be there is worked out, and nothing else of its type has a right to the place. One that nothing accounts for goes.
 */
async function setBack(spec: CopySpec | ReferenceSpec, difference: Candidate, session: SinkSession): Promise<Done> {
  const { container, type } = spec.into;
  const { key, id } = placeOf(difference);
  const [found] = await session.read(container, key, [id]);
  // Missing: the projection's own code decides.
  if (!found) return {};
  const obstacle = occupantOf(found, type, projectionId(spec));
  if (obstacle !== undefined) return { obstacle };
  const { derived } = difference;
  if (difference.kind === 'unexpected' || !derived) {
    const gone = await session.commit(container, key, [{ op: 'delete', id, ifMatch: found._etag }]);
    return gone.kind === 'done' ? { removed: 1 } : {};
  }
  const oldest = { epoch: 0, lsn: -1, etag: 'repair' };
  const src = derived.source ? { pk: derived.source.key, id: derived.source.id } : found['_src'];
  const tenant = derived.tenant && { tenant: { ref: tenantRef(derived.tenant), ...oldest } };
  const own = { _src: { ...(isObject(src) && src), ...oldest }, _mr: { by: derived.by, ...tenant } };
  const body = { ...withoutSystem(found), ...own };
  const reset = await session.commit(container, key, [{ op: 'replace', id, body, ifMatch: found._etag }]);
  if (reset.kind === 'refused') return { obstacle: `it can't be written: ${reset.why}` };
  return reset.kind === 'done' ? { reset: 1 } : {};
}

/** What lies in a place and isn't a repair's to touch: a document of another type, or of another projection. */
function occupantOf(found: SinkDocument, type: string, projection: string): string | undefined {
  const [own, is] = [found['_mr'], String(found['type'])];
  const by = isObject(own) && typeof own['by'] === 'string' ? own['by'] : undefined;
  if (is !== type && !is.startsWith(OWN_TYPE))
    return `a document of type ${is} that Millrace did not write is in its place`;
  return by === undefined || by === projection ? undefined : `what is in its place belongs to ${by}`;
}

/** The aggregate and the first of its contributions go in one batch: nobody finds the one without the others. */
async function removeGroup(spec: AggregateSpec, difference: Candidate, session: SinkSession): Promise<Done> {
  const { key, id } = placeOf(difference);
  const { container, type } = spec.into;
  const parts = await session.query<SinkDocument>(
    container,
    'SELECT * FROM c WHERE c.id = @id OR (c["by"] = @by AND c["of"] = @id)',
    { id, by: projectionId(spec) },
    key,
  );
  const there = parts.find((part) => part.id === id);
  const obstacle = there && occupantOf(there, type, projectionId(spec));
  if (obstacle !== undefined) return { obstacle };
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
  return { removed };
}

const SYSTEM = new Set(['_rid', '_self', '_etag', '_attachments', '_ts']);
const withoutSystem = (found: SinkDocument): Doc =>
  Object.fromEntries(Object.entries(found).filter(([field]) => !SYSTEM.has(field)));
