import { formatOf } from '../base/format.ts';
import { canonical } from '../base/json.ts';
import { projectionId } from '../pipeline/specs.ts';
import { type RestoredMark, restoredMark } from '../kinds/archive/restored.ts';
import { type Identity, type Key, compareVersions } from '../feed/reading/change.ts';
import { Entries, type StoredEntry, forEach } from '../kinds/archive/entries.ts';
import { untilDone } from '../access/change.ts';
import { keyFields } from '../kinds/sink-container.ts';
import type { CommitResult, DocumentAccess } from '../access/document-access.ts';
import { isOfErased } from './sweep/eligibility.ts';
import { systemClock } from '../base/clock.ts';
import { leavingOf, stay } from '../kinds/archive/leaving.ts';
import { RESTORING, feedWithoutSystemFields } from '../feed/reading/mapper.ts';
import { RESTORING_TTL_S } from './placeholder.ts';
import { eachArchived, selectionLineOf } from './sweep/selection.ts';
import { untilStopped } from '../feed/tenure/fences.ts';
import type { Archive, ArchiveFault, ArchivedDocument, ReadErased, RestoreResult, Selection } from './types.ts';
import { sharedError } from '../base/shared-errors.ts';
import { archiveError } from './errors.ts';

export interface RestoreOptions {
  readonly signal: AbortSignal;
  readonly skipDamaged?: boolean;
  /** Which tenants are erased now: their documents stay in the archive. Absent: the pipeline declares no tenant. */
  readonly erased?: ReadErased | undefined;
  /** Reads which keys are to be left alone, because another shard has them or is about to. Absent: none. */
  readonly foreign?: (() => Promise<(key: Key) => boolean>) | undefined;
  progress?(so: RestoreResult): void;
}

/**
 * Writes archived documents back to their container as they were, with `_mr.restored`; the archive keeps its blobs. It
 * skips a document that is in its container already or was deleted since. May be stopped and run again at any time.
 * @throws ArchiveDamaged if a blob or manifest is missing or changed; with `skipDamaged` it continues with the others
 */
export async function restoreArchive(
  archive: Archive,
  selection: Selection,
  options: RestoreOptions,
): Promise<RestoreResult> {
  const entries = new Entries(archive.stateContainer);
  const access = archive.access(untilStopped(options.signal));
  const faults: ArchiveFault[] = [];
  const result = { projection: projectionId(archive.spec), restored: 0, skipped: 0, erased: 0, moving: 0, faults };
  const absent = await eachArchived(archive, selection, { ...options, access, faults }, async (documents) => {
    const isForeign = await options.foreign?.();
    const own = documents.filter(({ key }) => !isForeign?.(key));
    result.moving += documents.length - own.length;
    await forEach(own, async (document) => {
      result[await restoreOne(archive, entries, document, access, options.erased)] += 1;
    });
    options.progress?.(result);
  });
  return { ...result, skipped: result.skipped + absent };
}

/** Which of these documents were never archived; an entry stays after a restore. */
export async function unknownOf(
  archive: Archive,
  documents: readonly Pick<Identity, 'key' | 'id'>[],
  signal: AbortSignal,
): Promise<Pick<Identity, 'key' | 'id'>[]> {
  const { container } = archive.spec.from;
  const identities = documents.map((document) => ({ ...document, container }));
  const found = await new Entries(archive.stateContainer).read(identities, archive.access(untilStopped(signal)));
  return documents.filter((_, at) => found[at] === undefined);
}

/**
 * Restores one document: writes a placeholder, reads the entry *as it is then*, and replaces the placeholder with the
 * document. While the placeholder exists, the container can't have a newer version. Before each write it looks whether
 * the tenant is erased (ERASE-S5): with the all-versions feed the second one may come much later.
 */
async function restoreOne(
  archive: Archive,
  entries: Entries,
  hint: ArchivedDocument,
  access: DocumentAccess,
  readErased: ReadErased | undefined,
): Promise<'restored' | 'skipped' | 'erased'> {
  const { container, key, id } = hint;
  const holder = {
    ...keyFields(archive.source, key),
    id,
    type: RESTORING,
    ...formatOf('restoring'),
    ttl: RESTORING_TTL_S,
  };
  let restored = false;
  let erased = false;
  let sent: RestoredMark | undefined;
  await untilDone(`${container}/${id}`, async (first) => {
    erased = await isOfErased(archive, hint, readErased);
    if (erased) return true;
    // Mostly nothing stands there, and the placeholder's condition says so too. With all versions a document that leaves
    // stands for a day.
    const [found] = first && archive.mode === 'latest-version' ? [] : await access.read(container, key, [id]);
    if (found && found['type'] !== RESTORING) {
      const leaving = leavingOf(found, feedWithoutSystemFields(found));
      if (leaving?.intact && leaving.of) {
        sent = restoredMark(leaving.of.version, leaving.stored);
        restored = await stay({ ...hint, version: { ...hint.version, etag: found._etag }, leaving }, access);
        return restored;
      }
      // The answer to our own write may have been lost: the mark shows whether the document is ours.
      restored = sent !== undefined && canonical(found['_mr']) === canonical({ ...formatOf('own'), restored: sent });
      return true;
    }
    const placed = await access.commit(container, key, [
      found ? { op: 'replace', id, body: holder, ifMatch: found._etag } : { op: 'create', id, body: holder },
    ]);
    if (placed.kind !== 'done') return refusedOrAgain(placed, hint);
    const ifMatch = placed.etags[0] ?? '';
    const entry = await entryBehind(archive, entries, hint, ifMatch, access);
    if (entry === 'replaced') return false;
    if (entry?.state !== 'archived') {
      await access.commit(container, key, [{ op: 'delete', id, ifMatch }]);
      return true;
    }
    if (archive.mode === 'all-versions' && !(await entries.confirm(entry, access))) return false;
    const document =
      compareVersions(entry.version, hint.version) === 'same' ? hint : await selectionLineOf(archive, entry);
    erased = await isOfErased(archive, document, readErased);
    if (erased) {
      await access.commit(container, key, [{ op: 'delete', id, ifMatch }]);
      return true;
    }
    sent = restoredMark(document.version, document.doc);
    const body = { ...document.doc, _mr: { ...formatOf('own'), restored: sent } };
    const put = await access.commit(container, key, [{ op: 'replace', id, body, ifMatch }]);
    restored = put.kind === 'done';
    return restored || refusedOrAgain(put, hint);
  });
  return erased ? 'erased' : restored ? 'restored' : 'skipped';
}

/**
 * The entry of a document in whose place a placeholder stands. With the all-versions feed, only after the feed has shown
 * the placeholder: the entry has then heard of every version and deletion before it. An old read may say that the document
 * isn't archived; if the placeholder were removed then, the feed would show a delete of an archived document. `replaced`: the placeholder doesn't stand any more.
 * @throws MillraceError retryable `restore-unseen`
 */
async function entryBehind(
  { mode }: Archive,
  entries: Entries,
  document: Identity,
  placeholder: string,
  access: DocumentAccess,
): Promise<StoredEntry | 'replaced' | undefined> {
  if (mode === 'latest-version') return entries.current(document, access);
  const since = systemClock.monotonic();
  for (let pause = FIRST_PAUSE_MS; ; pause *= 2) {
    const [entry] = await entries.read([document], access);
    if (entry?.shown?.placeholder?.etag === placeholder) return entry;
    // Not at once: a lagging replica doesn't have the placeholder yet.
    if (pause > LONGEST_PAUSE_MS) {
      const [standing] = await access.read(document.container, document.key, [document.id]);
      if (standing?._etag !== placeholder) return 'replaced';
    }
    if (systemClock.monotonic() - since > SHOWN_WITHIN_MS)
      throw archiveError(
        'restore-unseen',
        `No host has read the feed of ${document.container} up to the restore of ${document.id}`,
      );
    await systemClock.sleep(Math.min(pause, LONGEST_PAUSE_MS), access.fence.signal);
  }
}

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1_000;
/** Well below the life of the placeholder. */
const SHOWN_WITHIN_MS = (RESTORING_TTL_S * 1_000) / 5;

function refusedOrAgain(answer: CommitResult, { container, id }: Identity): false {
  if (answer.kind !== 'refused') return false;
  throw sharedError('document-refused', `Container ${container} refused to store ${id}: ${answer.why}`);
}
