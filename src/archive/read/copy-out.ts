import { canonical } from '../../base/json.ts';
import { withoutSystemFields } from '../../cosmos/system-fields.ts';
import { projectionId } from '../../pipeline/specs.ts';
import type { Key } from '../../feed/reading/change.ts';
import { untilStopped } from '../../feed/tenure/fences.ts';
import { forEach } from '../../kinds/archive/entries.ts';
import { changeDocument } from '../../access/change.ts';
import type { DocumentAccess } from '../../access/document-access.ts';
import { isOfErased } from '../sweep/eligibility.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { eachArchived } from '../sweep/selection.ts';
import type { Archive, ArchiveFault, ArchivedDocument, CopyResult, ReadErased, Selection } from '../types.ts';

export interface ColdCopyOptions {
  /** No source of the pipeline, with the partition key of the archived container. */
  readonly into: string;
  /** Writes over another version that stands there. */
  readonly replace: boolean;
  readonly signal: AbortSignal;
  readonly skipDamaged?: boolean;
  /** Which tenants are erased now: their documents aren't copied. Absent: the pipeline declares no tenant. */
  readonly erased?: ReadErased | undefined;
  /** Reads which keys are to be left alone, because another shard has them or is about to. Absent: none. */
  readonly foreign?: (() => Promise<(key: Key) => boolean>) | undefined;
  progress?(so: CopyResult): void;
}

const MOST_NAMED = 100;
/** Conflicts where no document is found: fewer may come from reads that lag (ASM-A33). */
const TAKEN = 8;

/**
 * Writes archived documents into another container as they were. They stay in the archive, and no entry changes. So no
 * placeholder is needed: a document that changes meanwhile is copied as it was archived. May be stopped and run again.
 * @throws ArchiveDamaged if a blob or manifest is missing or changed; with `skipDamaged` it continues with the others
 * @throws MillraceError `document-refused`
 */
export async function copyArchive(
  archive: Archive,
  selection: Selection,
  options: ColdCopyOptions,
): Promise<CopyResult> {
  const access = archive.access(untilStopped(options.signal));
  const faults: ArchiveFault[] = [];
  const different: string[] = [];
  const counts = { copied: 0, replaced: 0, skipped: 0, differ: 0, erased: 0, moving: 0 };
  const result = { projection: projectionId(archive.spec), into: options.into, ...counts, different, faults };
  const absent = await eachArchived(archive, selection, { ...options, access, faults }, async (documents) => {
    const isForeign = await options.foreign?.();
    const own = documents.filter(({ key }) => !isForeign?.(key));
    result.moving += documents.length - own.length;
    await forEach(own, async (document) => {
      const outcome = await copyOne(archive, document, access, options);
      result[outcome] += 1;
      if (outcome === 'differ' && different.length < MOST_NAMED)
        different.push(`${options.into}/${JSON.stringify(document.key)}/${document.id}`);
    });
    options.progress?.(result);
  });
  return { ...result, skipped: result.skipped + absent };
}

/** Looks before each write whether the tenant is erased (ERASE-S5). */
export async function copyOne(
  archive: Archive,
  document: ArchivedDocument,
  access: DocumentAccess,
  { into, replace, erased }: Pick<ColdCopyOptions, 'into' | 'replace' | 'erased'>,
): Promise<'copied' | 'replaced' | 'skipped' | 'differ' | 'erased'> {
  const { key, id } = document;
  const { _mr: _, ...body } = document.doc;
  let outcome: 'copied' | 'replaced' | 'skipped' | 'differ' | 'erased' = 'skipped';
  // The answer to our own write may have been lost.
  let sent: 'copied' | 'replaced' | undefined;
  let taken = 0;
  const refused = (why: string) => sharedError('document-refused', `Container ${into} refused to store ${id}: ${why}`);
  await changeDocument(access, { container: into, key, id, what: `${into}/${id}`, refused }, async (found) => {
    const isSame = found && canonical(withoutSystemFields(found)) === canonical(body);
    if (await isOfErased(archive, document, erased)) outcome = 'erased';
    else if (isSame) outcome = sent ?? 'skipped';
    else if (found && !replace) outcome = 'differ';
    else {
      if (!found && (taken += 1) > TAKEN) {
        const why = 'another document has the same value of a unique key';
        throw sharedError('document-refused', `Container ${into} has no document ${id} and doesn't accept it: ${why}`);
      }
      outcome = sent = found ? 'replaced' : 'copied';
      return body;
    }
    return undefined;
  });
  return outcome;
}
