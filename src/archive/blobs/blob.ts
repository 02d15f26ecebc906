import { MillraceError } from '../../base/errors.ts';
import { assertFormat, formatOf } from '../../base/format.ts';
import { isObject } from '../../base/json.ts';
import type { ArchiveCodec } from '../../pipeline/specs.ts';
import type { Change } from '../../feed/reading/change.ts';
import type { BlobStore } from '../../access/blob-store.ts';
import { codecOf, compress, decompress } from './codec.ts';
import { promised, sha256 } from './layout.ts';
import type { ArchiveFault, ArchivedDocument, BlobRecord } from '../types.ts';
import { ARCHIVE_ERRORS } from '../errors.ts';

/** A blob holds at most one chunk of a sweep, some 32 MB; Millrace wrote none that unpacks to more than this. */
export const LARGEST = 512 * 1024 * 1024;

/** Thrown if a blob or a manifest is missing, or if its content isn't what its name promises. */
export class ArchiveDamaged extends MillraceError<'archive-damaged'> {
  readonly fault: ArchiveFault;
  constructor(fault: ArchiveFault) {
    super('archive-damaged', fault.what, ARCHIVE_ERRORS['archive-damaged']);
    this.fault = fault;
  }
}

/** What `work` returns; undefined if it finds damage, which is added to `faults` and hides nothing else. */
export async function unlessDamaged<T>(faults: ArchiveFault[], work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ArchiveDamaged)) throw error;
    faults.push(error.fault);
    return undefined;
  }
}

/** The line of a document that leaves its container, with all its fields as they are stored. */
export function blobLineOf({ container, key, id, type, version, at, doc }: Change): string {
  const line: ArchivedDocument = {
    ...formatOf('line'),
    container,
    key,
    id,
    type,
    version,
    at,
    doc: doc ?? {},
  };
  return JSON.stringify(line);
}

export interface Packing {
  /** Default: gzip. */
  readonly codec?: ArchiveCodec | undefined;
  /** No other writer makes a blob of the same name, even of the same lines. */
  readonly unique?: true;
}

/** The bytes of a blob with these lines. The same lines give the same bytes, so the name follows from the content. */
export function pack(
  lines: readonly string[],
  { codec = 'gzip', unique }: Packing = {},
): { readonly bytes: Uint8Array; readonly sha256: string } {
  const bytes = compress(codec, lines.map((line) => `${line}\n`).join(''), unique);
  return { bytes, sha256: sha256(bytes) };
}

/** What a manifest records of a blob, whose own name proves its content. */
export function recordOf(name: string, bytes: Uint8Array, documents: readonly { readonly at: number }[]): BlobRecord {
  const [from, to] = documents.reduce<[number, number]>(
    ([least, most], { at }) => [Math.min(least, at), Math.max(most, at)],
    [Infinity, 0],
  );
  return { name, sha256: promised(name), bytes: bytes.length, documents: documents.length, from, to };
}

/**
 * The documents of a blob, checked against the hash in its name.
 * @throws ArchiveDamaged
 */
export async function readBlob(store: Pick<BlobStore, 'read'>, name: string): Promise<ArchivedDocument[]> {
  return unpack(name, await blobBytesOf(store, name));
}

/**
 * The stored bytes of a blob that a manifest or an entry names.
 * @throws ArchiveDamaged there is none
 */
export async function blobBytesOf(store: Pick<BlobStore, 'read'>, name: string): Promise<Uint8Array> {
  const blob = await store.read(name);
  if (blob) return blob.bytes;
  throw new ArchiveDamaged({ code: 'blob-missing', what: `Blob ${name} is gone`, blob: name });
}

/** @throws ArchiveDamaged, FormatUnreadable */
export const unpack = (name: string, bytes: Uint8Array): ArchivedDocument[] =>
  linesIn(name, bytes).map((line) => documentOf(name, line));

/**
 * The lines of a blob, unread, checked against the hash in its name.
 * @throws ArchiveDamaged
 */
export function linesIn(name: string, bytes: Uint8Array): string[] {
  if (sha256(bytes) !== promised(name)) {
    const what = `Blob ${name} has changed since it was written: its hash is another`;
    throw new ArchiveDamaged({ code: 'blob-changed', what, blob: name });
  }
  try {
    return decompress(codecOf(name) ?? 'gzip', bytes, LARGEST)
      .trimEnd()
      .split('\n');
  } catch {
    throw foreign(name);
  }
}

/**
 * The document of a line of a blob.
 * @throws ArchiveDamaged, FormatUnreadable
 */
export function documentOf(name: string, line: string): ArchivedDocument {
  const document = parsed(name, line);
  assertFormat('line', document.format, name);
  return document;
}

function parsed(name: string, line: string): ArchivedDocument {
  let document: unknown;
  try {
    document = JSON.parse(line);
  } catch {
    throw foreign(name);
  }
  if (isObject(document) && typeof document['id'] === 'string' && isObject(document['doc']))
    return document as unknown as ArchivedDocument;
  throw foreign(name);
}

const foreign = (name: string): ArchiveDamaged => {
  const what = `Blob ${name} can't be read: it is not a blob that Millrace wrote`;
  return new ArchiveDamaged({ code: 'blob-changed', what, blob: name });
};
