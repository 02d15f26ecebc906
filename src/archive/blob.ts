import { gunzipSync, gzipSync } from 'node:zlib';
import { MillraceError } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import type { Change } from '../feed/reading/change.ts';
import type { BlobStore } from './blob-store.ts';
import { promised, sha256 } from './layout.ts';
import type { ArchiveFault, ArchivedDocument } from './types.ts';

/** A blob holds at most a batch of a sweep, some 32 MB; whatever unpacks to more isn't ours. */
const LARGEST = 512 * 1024 * 1024;

/** Thrown where a blob that should be there isn't, or isn't what its name promises. */
export class ArchiveDamaged extends MillraceError<'archive-damaged'> {
  readonly fault: ArchiveFault;
  constructor(fault: ArchiveFault) {
    super('archive-damaged', fault.what, {
      mend: `Restore ${fault.blob} from a backup or from soft delete. \`millrace archive verify\` lists everything concerned; \`millrace archive restore --skip-damaged\` restores the rest.`,
    });
    this.fault = fault;
  }
}

/** The line of a document as it leaves the container; its doc as stored, field by field. */
export function lineOf({ container, key, id, type, version, at, doc }: Change): string {
  const line: ArchivedDocument = { container, key, id, type, version, at, doc: doc ?? {} };
  return JSON.stringify(line);
}

/** Lines as the bytes of a blob: the same lines give the same bytes, so that the name is the content's. */
export function pack(lines: readonly string[]): { readonly bytes: Uint8Array; readonly sha256: string } {
  const bytes = gzipSync(lines.map((line) => `${line}\n`).join(''));
  // The header's time is zero already; which system packed it must not matter either.
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

/** @throws ArchiveDamaged */
export function unpack(name: string, bytes: Uint8Array): ArchivedDocument[] {
  if (sha256(bytes) !== promised(name)) {
    const what = `Blob ${name} isn't what was written: its hash differs`;
    throw new ArchiveDamaged({ code: 'blob-changed', what, blob: name });
  }
  try {
    const text = gunzipSync(bytes, { maxOutputLength: LARGEST }).toString();
    return text.trimEnd().split('\n').map(parse);
  } catch {
    const what = `Blob ${name} can't be read: it is no archive of ours`;
    throw new ArchiveDamaged({ code: 'blob-changed', what, blob: name });
  }
}

function parse(line: string): ArchivedDocument {
  const document: unknown = JSON.parse(line);
  if (isObject(document) && typeof document['id'] === 'string' && isObject(document['doc']))
    return document as unknown as ArchivedDocument;
  throw new MillraceError('line-unreadable', 'A line is no archived document');
}
