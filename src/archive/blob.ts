import { gunzipSync, gzipSync } from 'node:zlib';
import { MillraceError } from '../base/errors.ts';
import { assertFormat, formatOf } from '../base/format.ts';
import { isObject } from '../base/json.ts';
import type { Change } from '../feed/reading/change.ts';
import type { BlobStore } from './blob-store.ts';
import { promised, sha256 } from './layout.ts';
import type { ArchiveFault, ArchivedDocument } from './types.ts';
import { ARCHIVE_ERRORS, archiveError } from './errors.ts';

/** A blob holds at most one chunk of a sweep, some 32 MB; Millrace wrote none that unpacks to more than this. */
const LARGEST = 512 * 1024 * 1024;

/** Thrown if a blob or a manifest is missing, or if its content isn't what its name promises. */
export class ArchiveDamaged extends MillraceError<'archive-damaged'> {
  readonly fault: ArchiveFault;
  constructor(fault: ArchiveFault) {
    super('archive-damaged', fault.what, ARCHIVE_ERRORS['archive-damaged']);
    this.fault = fault;
  }
}

/** The line of a document that leaves its container, with all its fields as they are stored. */
export function lineOf({ container, key, id, type, version, at, doc }: Change): string {
  const line: ArchivedDocument = { ...formatOf('line'), container, key, id, type, version, at, doc: doc ?? {} };
  return JSON.stringify(line);
}

/** The bytes of a blob with these lines. The same lines give the same bytes, so the name follows from the content. */
export function pack(lines: readonly string[]): { readonly bytes: Uint8Array; readonly sha256: string } {
  const bytes = gzipSync(lines.map((line) => `${line}\n`).join(''));
  // The header's operating system becomes "unknown", so that all systems make the same bytes. Its time is zero already.
  bytes[9] = 255;
  return { bytes, sha256: sha256(bytes) };
}

/**
 * The documents of a blob, checked against the hash in its name.
 * @throws ArchiveDamaged
 */
export async function readBlob(store: BlobStore, name: string): Promise<ArchivedDocument[]> {
  const blob = await store.read(name);
  if (!blob) throw new ArchiveDamaged({ code: 'blob-missing', what: `Blob ${name} is gone`, blob: name });
  return unpack(name, blob.bytes);
}

/** @throws ArchiveDamaged, FormatUnreadable */
export function unpack(name: string, bytes: Uint8Array): ArchivedDocument[] {
  if (sha256(bytes) !== promised(name)) {
    const what = `Blob ${name} has changed since it was written: its hash is another`;
    throw new ArchiveDamaged({ code: 'blob-changed', what, blob: name });
  }
  let lines: ArchivedDocument[];
  try {
    const text = gunzipSync(bytes, { maxOutputLength: LARGEST }).toString();
    lines = text.trimEnd().split('\n').map(parse);
  } catch {
    const what = `Blob ${name} can't be read: it is not a blob that Millrace wrote`;
    throw new ArchiveDamaged({ code: 'blob-changed', what, blob: name });
  }
  for (const { format } of lines) assertFormat('line', format, name);
  return lines;
}

function parse(line: string): ArchivedDocument {
  const document: unknown = JSON.parse(line);
  if (isObject(document) && typeof document['id'] === 'string' && isObject(document['doc']))
    return document as unknown as ArchivedDocument;
  throw archiveError('line-unreadable', 'A line is not an archived document');
}
