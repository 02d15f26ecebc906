import pMap from 'p-map';
import { untilStopped } from '../../feed/tenure/fences.ts';
import { Meter } from '../../cosmos/budget/charge-meter.ts';
import { withoutSystemFields } from '../../cosmos/system-fields.ts';
import { canonical, isObject } from '../../base/json.ts';
import {
  type AggregateSpec,
  type CopySpec,
  type Doc,
  type ProjectionSpec,
  type ReferenceSpec,
  isOutside,
  projectionId,
} from '../../pipeline/specs.ts';
import { rowKey } from '../../pipeline/oracle/recompute.ts';
import { aggregateId, sinkDocumentId } from '../../pipeline/derived-ids.ts';
import { OWN_TYPE } from '../../cosmos/own-documents.ts';
import type { Change } from '../../feed/reading/change.ts';
import { List } from '../../kinds/reference/lists.ts';
import { keyPathsOf } from '../../model/model.ts';
import { CosmosAccess } from '../../access/cosmos-access.ts';
import { MAX_BATCH, type SinkDocument, type DocumentAccess, type Write } from '../../access/document-access.ts';
import type { Parts } from '../../runtime/open-feed.ts';
import { tenantRef } from '../verify/own-part.ts';
import type { Candidate, Difference } from '../verify/difference.ts';
import { identityText } from '../verify/parked.ts';
import { placed } from '../verify/sample/drawn-groups.ts';
import { applyAgain } from './apply-again.ts';
import { besideHosts } from '../replay/beside-hosts.ts';
import { repairEmbed } from './repair-embed.ts';
import { repairSink } from './repair-sink.ts';
import type { OtherSpec } from '../verify/verify-others.ts';

/** The counts of a repair. */
export interface RepairedProjections {
  /** Removed sink documents: those without a source, and groups (with their contributions) to be built again. */
  readonly removed: number;
  /** Copies that were reset, so that any version replaces them. */
  readonly reset: number;
  /** Changes that were applied again. */
  readonly applied: number;
  /** Request units. */
  readonly charge: number;
}

/** The counts of one round, and by container and document why some could not be repaired. */
export interface Round extends RepairedProjections {
  readonly obstacles: ReadonlyMap<string, string>;
}

export const placeText = ({ container, document }: Pick<Difference, 'container' | 'document'>): string =>
  `${container} ${document}`;

export interface RepairProjectionsOptions extends Parts {
  readonly chosen: readonly ProjectionSpec[];
  /** Embeds and outside sinks; those among them that differ are repaired too. */
  readonly others?: readonly OtherSpec[];
  readonly readLagMs?: number | undefined;
  readonly signal: AbortSignal;
}

/**
 * Corrects differing sink documents beside the live hosts. It resets a copy to a version before all others, and removes a
 * group with its contributions. *Afterwards* it reads the feeds from the beginning, and the projection's own code applies
 * the changes of these documents. A wrong copy stays readable meanwhile; a wrong group is missing until it is built again.
 * Hosts meanwhile apply newer versions; if a conflict remains, the next comparison finds it.
 */
export const repair = (options: RepairProjectionsOptions, differences: readonly Candidate[]): Promise<Round> => {
  const differing = options.chosen.filter((spec) =>
    differences.some(({ projections }) => projections.includes(projectionId(spec))),
  );
  return besideHosts(differing, 'repair', options, () => repairAll(options, differences));
};

async function repairAll(options: RepairProjectionsOptions, differences: readonly Candidate[]): Promise<Round> {
  const { services, loaded, chosen, signal, readLagMs = 5_000 } = options;
  const meter = new Meter();
  const access = new CosmosAccess(services.place.database, untilStopped(signal), meter);
  const total = { removed: 0, reset: 0, applied: 0, charge: 0 };
  const add = (done: Partial<typeof total>): void => {
    for (const name of ['removed', 'reset', 'applied', 'charge'] as const) total[name] += done[name] ?? 0;
  };
  const obstacles = new Map<string, string>();
  for (const spec of chosen) {
    const mine = differences.filter(({ projections }) => projections.includes(projectionId(spec)));
    if (mine.length === 0) continue;
    const keyPaths = keyPathsOf(loaded.model, spec.into.container);
    for (const difference of mine) {
      const done =
        spec.kind === 'aggregate'
          ? await removeGroup(spec, difference, access)
          : await setBack(spec, difference, access);
      add(done);
      if (done.obstacle !== undefined) obstacles.set(placeText(difference), done.obstacle);
    }
    const wanted = mine.filter((one) => !obstacles.has(placeText(one)));
    if (wanted.length === 0) continue;
    const met = new Set<string>();
    const concerned =
      spec.kind === 'copy'
        ? copiedIn(wanted, met)
        : concernedBy(spec, keyPaths, new Set(wanted.map(({ document }) => document)), met);
    const reopen = spec.kind === 'reference' ? listsOf(spec, services.place.state.id, access) : undefined;
    const read = new Set([spec.from.container, ...(spec.kind === 'reference' ? [spec.tenants.container] : [])]);
    // A repair opens the lists that it needs.
    const done = await applyAgain(spec, { ...options, readLagMs, again: false, read }, async (change) => {
      if (concerned(change)) await reopen?.(change);
      // A row waits for lists that are as new as it is, so reference data needs all of both lists.
      else if (spec.kind !== 'reference') return undefined;
      return change;
    });
    add(done);
    for (const one of wanted)
      if (one.derived && !met.has(one.document))
        obstacles.set(placeText(one), 'no source document produces it any more: verify again');
  }
  for (const spec of options.others ?? []) {
    const mine = differences.filter(({ projections }) => projections.includes(projectionId(spec)));
    if (mine.length === 0) continue;
    if (isOutside(spec)) {
      const done = await repairSink(spec, mine, { ...options, readLagMs });
      for (const [one, why] of done.obstacles) obstacles.set(placeText(one), why);
      add(done);
      continue;
    }
    add(await repairEmbed(spec, new Set(mine.map(({ document }) => document)), { ...options, readLagMs }));
  }
  return { ...total, charge: total.charge + meter.charge, obstacles };
}

/**
 * Whether a change is of a document that was to be copied. Its place can't be asked for: `map` isn't called while a joined
 * document is missing.
 */
function copiedIn(wanted: readonly Candidate[], met: Set<string>): (change: Change) => boolean {
  const copied = Map.groupBy(wanted, ({ derived }) => (derived?.source ? identityText(derived.source) : ''));
  return (change) => {
    const documents = copied.get(identityText(change)) ?? [];
    for (const { document } of documents) met.add(document);
    return documents.length > 0;
  };
}

/**
 * Whether a change may belong to one of the sink documents; if the user's code throws, the engine decides. Adds to `met`
 * the sink documents that a change produces.
 */
function concernedBy(
  spec: AggregateSpec | ReferenceSpec,
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
      const groups = (spec.each ? spec.each(doc) : [doc]).map((row) => spec.groupBy(row, doc));
      return groups
        .map((group) => meets(rowKey({ ...group, id: aggregateId(spec.into.type, group) }, keyPaths)))
        .includes(true);
    } catch {
      return isFrom;
    }
  };
}

/** Whether a place is under the key of a tenant. */
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

/** Data and tenants write their pairs once for each version, so a repair must open their lists again. */
function listsOf(
  spec: ReferenceSpec,
  stateContainer: string,
  access: DocumentAccess,
): (change: Change) => Promise<void> {
  const id = projectionId(spec);
  const [data, tenants] = [new List(stateContainer, id, 'data'), new List(stateContainer, id, 'tenants')];
  return async (change) => {
    const isData = change.container === spec.from.container && change.type === spec.from.type;
    await (isData ? data : tenants).reopen(change, access);
  };
}

interface Done {
  readonly removed?: number;
  readonly reset?: number;
  readonly obstacle?: string;
}

/**
 * Gives a differing copy a version older than all others, and its projection's name, whatever its own fields say: only the
 * recomputed document may have the place. A copy without a source is deleted.
 */
async function setBack(spec: CopySpec | ReferenceSpec, difference: Candidate, access: DocumentAccess): Promise<Done> {
  if (difference.derived?.waits) return {};
  const { container, type } = spec.into;
  const { key, id } = placed(container, difference.document);
  const [found] = await access.read(container, key, [id]);
  // Missing: the projection's own code decides.
  if (!found) return {};
  const obstacle = occupantOf(found, type, projectionId(spec));
  if (obstacle !== undefined) return { obstacle };
  const { derived } = difference;
  if (difference.kind === 'unexpected' || !derived) {
    const gone = await access.commit(container, key, [{ op: 'delete', id, ifMatch: found._etag }]);
    return gone.kind === 'done' ? { removed: 1 } : {};
  }
  const oldest = { epoch: 0, lsn: -1, etag: 'repair' };
  const src = derived.source ? { pk: derived.source.key, id: derived.source.id } : found['_src'];
  const tenant = derived.tenant && { tenant: { ref: tenantRef(derived.tenant), ...oldest } };
  const own = { _src: { ...(isObject(src) && src), ...oldest }, _mr: { by: derived.by, ...tenant } };
  const body = { ...withoutSystemFields(found), ...own };
  const reset = await access.commit(container, key, [{ op: 'replace', id, body, ifMatch: found._etag }]);
  if (reset.kind === 'refused') return { obstacle: `it can't be written: ${reset.why}` };
  return reset.kind === 'done' ? { reset: 1 } : {};
}

/** Why a repair must not touch the document in a place: it has another type, or belongs to another projection. */
function occupantOf(found: SinkDocument, type: string, projection: string): string | undefined {
  const [own, is] = [found['_mr'], String(found['type'])];
  const by = isObject(own) && typeof own['by'] === 'string' ? own['by'] : undefined;
  if (is !== type && !is.startsWith(OWN_TYPE))
    return `a document of type ${is} that Millrace did not write has its place`;
  return by === undefined || by === projection ? undefined : `a document of ${by} has its place`;
}

/** Deletes the aggregate and its first contributions in one batch, so that no host finds one without the others. */
async function removeGroup(spec: AggregateSpec, difference: Candidate, access: DocumentAccess): Promise<Done> {
  const { container, type } = spec.into;
  const { key, id } = placed(container, difference.document);
  const parts = await access.query<SinkDocument>(
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
    const { kind } = await access.commit(container, key, writes);
    if (kind === 'done') removed += writes.length;
    // A host wrote one of them: delete each separately. The next comparison finds those that are left.
    else
      await pMap(
        writes,
        async (write) => {
          if ((await access.commit(container, key, [write])).kind === 'done') removed += 1;
        },
        { concurrency: 16 },
      );
  }
  return { removed };
}
