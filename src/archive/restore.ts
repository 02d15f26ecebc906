import { MillraceError } from '../base/errors.ts';
import { canonical } from '../base/json.ts';
import { projectionId } from '../definition/specs.ts';
import { type RestoredMark, restoredMark } from '../projections/archive/restored.ts';
import { type Identity, compareVersions } from '../feed/reading/change.ts';
import { Entries, type StoredEntry, forEach } from '../projections/archive/entries.ts';
import { untilDone } from '../projections/conflict.ts';
import { keyFields } from '../projections/sink-container.ts';
import type { CommitResult, SinkSession } from '../sinks/session.ts';
import { ArchiveDamaged, readBlob } from './blob.ts';
import { isTenant, prefixOf } from './layout.ts';
import { type Listed, manifests } from './manifests.ts';
import { RESTORING, RESTORING_TTL_S } from './placeholder.ts';
import { untilStopped } from '../feed/tenure/fences.ts';
import type { Archive, ArchiveFault, ArchivedDocument, RestoreResult, Selection } from './types.ts';

/**
 * Puts archived documents back as they were, with `_mr.restored`; the archive keeps its blobs. A document that is in its
 * container already, or was deleted since, is skipped. May be stopped and run again at any time.
 * @throws ArchiveDamaged where a blob or manifest is missing or changed, unless such are to be skipped: their documents
 * stay where they are
 */
export async function restoreArchive(
  archive: Archive,
  selection: Selection,
  options: { readonly signal: AbortSignal; readonly skipDamaged?: boolean; progress?(so: RestoreResult): void },
): Promise<RestoreResult> {
  const entries = new Entries(archive.stateContainer);
  const session = archive.session(untilStopped(options.signal));
  const faults: ArchiveFault[] = [];
  const result = { projection: projectionId(archive.spec), restored: 0, skipped: 0, faults };
  const unlessDamaged = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ArchiveDamaged) || options.skipDamaged !== true) throw error;
      faults.push(error.fault);
    }
  };
  const restoreAll = async (documents: readonly ArchivedDocument[]): Promise<void> => {
    await forEach(documents, async (document) => {
      if (await restoreOne(archive, entries, document, session)) result.restored += 1;
      else result.skipped += 1;
    });
    options.progress?.(result);
  };
  if (selection.document) {
    const identity = { ...selection.document, container: archive.spec.from.container };
    const [entry] = await entries.read([identity], session);
    await unlessDamaged(async () => {
      const document = entry?.state === 'archived' ? await lineOf(archive, entry) : undefined;
      if (document) await restoreAll([document]);
      else result.skipped += 1;
    });
    return result;
  }
  for await (const listed of selected(archive, selection)) {
    if ('fault' in listed) {
      await unlessDamaged(() => Promise.reject(new ArchiveDamaged(listed.fault)));
      continue;
    }
    for (const { name } of listed.manifest.blobs) {
      options.signal.throwIfAborted();
      await unlessDamaged(async () => {
        const documents = await readBlob(archive.store, name);
        const known = await entries.read(documents, session);
        // Others have their newest version elsewhere; a stale read is corrected by `restoreOne`.
        await restoreAll(documents.filter((_, line) => isAt(known[line], name, line)));
      });
    }
  }
  return result;
}

/** The manifests of a selection, told by where they lie. */
export const selected = (
  { store, spec }: Pick<Archive, 'store' | 'spec'>,
  { tenant, from, to }: Selection,
): AsyncIterable<Listed> =>
  manifests(
    store,
    prefixOf(spec),
    (place) =>
      (tenant === undefined || isTenant(place, tenant)) &&
      // Months compare as text, and a year's text stands before its months'.
      (from === undefined || place.period >= from) &&
      (to === undefined || place.period.slice(0, to.length) <= to),
  );

/** Whether anything was ever archived of a document; its entry outlives its way back. */
export async function isKnown(
  archive: Archive,
  document: Pick<Identity, 'key' | 'id'>,
  signal: AbortSignal,
): Promise<boolean> {
  const identity = { ...document, container: archive.spec.from.container };
  const session = archive.session(untilStopped(signal));
  return (await new Entries(archive.stateContainer).read([identity], session))[0] !== undefined;
}

const isAt = (entry: StoredEntry | undefined, name: string, line: number): boolean =>
  entry?.state === 'archived' && entry.blob?.name === name && entry.blob.line === line;

/**
 * Whether the document was put back: placeholder, then the entry read *and confirmed*, then the document in the
 * placeholder's stead. While the placeholder stands, nothing newer can be in the container.
 */
async function restoreOne(
  archive: Archive,
  entries: Entries,
  hint: ArchivedDocument,
  session: SinkSession,
): Promise<boolean> {
  const { container, key, id } = hint;
  const holder = { ...keyFields(archive.source, key), id, type: RESTORING, ttl: RESTORING_TTL_S };
  let restored = false;
  let sent: RestoredMark | undefined;
  await untilDone(`${container}/${id}`, async () => {
    const [found] = await session.read(container, key, [id]);
    if (found && found['type'] !== RESTORING) {
      // Ours where the answer to our own write was lost.
      restored = sent !== undefined && canonical(found['_mr']) === canonical({ restored: sent });
      return true;
    }
    const placed = await session.commit(container, key, [
      found ? { op: 'replace', id, body: holder, ifMatch: found._etag } : { op: 'create', id, body: holder },
    ]);
    if (placed.kind !== 'done') return refusedOrAgain(placed, hint);
    const ifMatch = placed.etags[0] ?? '';
    const [entry] = await entries.read([hint], session);
    if (entry?.state !== 'archived') {
      await session.commit(container, key, [{ op: 'delete', id, ifMatch }]);
      return true;
    }
    if (!(await entries.confirm(entry, session))) return false;
    const document = compareVersions(entry.version, hint.version) === 'same' ? hint : await lineOf(archive, entry);
    sent = restoredMark(document.version, document.doc);
    const body = { ...document.doc, _mr: { restored: sent } };
    const put = await session.commit(container, key, [{ op: 'replace', id, body, ifMatch }]);
    restored = put.kind === 'done';
    return restored || refusedOrAgain(put, hint);
  });
  return restored;
}

function refusedOrAgain(answer: CommitResult, { container, id }: Identity): false {
  if (answer.kind !== 'refused') return false;
  throw new MillraceError('restore-refused', `${container} refused to take ${id} back: ${answer.why}`);
}

/** @throws ArchiveDamaged */
async function lineOf(
  { store }: Archive,
  { blob, container, key, id, version }: StoredEntry,
): Promise<ArchivedDocument> {
  const document = blob ? (await readBlob(store, blob.name))[blob.line] : undefined;
  if (document?.id === id && compareVersions(document.version, version) === 'same') return document;
  throw new ArchiveDamaged({
    code: 'line-missing',
    what: `Line ${blob?.line} of ${blob?.name} isn't ${container}/${id}, as its entry says`,
    blob: blob?.name ?? '',
    container,
    key,
    id,
  });
}
