import { readFile } from 'node:fs/promises';
import { UsageError, messageOf } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';
import type { DialectName, LeaseContent, LeaseDocument } from '../../feed/leases/dialects/dialect.ts';
import { readDocument } from '../../feed/leases/dialects/read.ts';
import { withoutSystemFields } from '../../cosmos/system-fields.ts';
import { writeDocument } from '../../feed/leases/dialects/write.ts';
import type { LeaseRoom, Monitored } from './groups.ts';

/** What a file of leases may be written as: .NET's takes version 1 where a range isn't one physical partition. */
export const FILE_DIALECTS = ['dotnet', 'dotnet-v1', 'java-pk', 'java-epk'] as const;
export type FileDialect = (typeof FILE_DIALECTS)[number];

/** A lease as it is in a file, or as it is stored. */
export interface FiledLease extends LeaseContent {
  readonly id: string;
  readonly document: Record<string, unknown>;
  readonly range?: FeedRange;
}

/** The same lease in another dialect, of another processor, or both. */
export function translate(
  lease: FiledLease,
  { dialect, prefix, monitored }: { dialect: FileDialect; prefix: string; monitored: Monitored },
): LeaseDocument {
  const range = lease.range ?? monitored.partitions.rangeOf(lease.token);
  if (!range) {
    throw new UsageError(
      'lease-unresolved',
      `No partition of ${monitored.container.id} is or was called ${lease.token}, as lease ${lease.id} says`,
    );
  }
  const partition = monitored.partitions.idOf(range);
  const own: DialectName = dialect === 'dotnet' ? (partition === undefined ? 'dotnet-v1' : 'dotnet-v0') : dialect;
  const { position, mode, owner, document } = lease;
  return writeDocument(own, { prefix, partition, range, position, mode, owner, rid: monitored.rid }, document);
}

/** The prefix of the same processor's leases in a dialect: Java's `handleChanges` has names where the others have ids. */
export const prefixIn = (
  room: LeaseRoom,
  dialect: FileDialect | undefined,
  group: { prefix: string; processor?: string; monitored?: Monitored },
): string =>
  dialect === 'java-pk' && group.processor !== undefined && group.monitored
    ? room.namedPrefix(group.processor, group.monitored.container.id)
    : group.prefix;

/** One document a line, as its writer left it. */
export const toLines = (documents: readonly Record<string, unknown>[]): string =>
  documents.map((document) => `${JSON.stringify(withoutSystemFields(document))}\n`).join('');

/**
 * Leases of a file: one JSON document a line, or one JSON array. Markers and locks are passed over.
 * @throws UsageError `file-unreadable`, `lease-unexplained`, `lease-twice`, naming the line
 */
export async function readLeaseFile(path: string): Promise<FiledLease[]> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new UsageError('file-unreadable', `${path} can't be read: ${messageOf(error)}`, {
      cause: error,
      mend: 'Name a file that `millrace leases export --file` wrote.',
    });
  });
  const seen = new Set<string>();
  return documentsOf(text, path).flatMap(({ document, where }): FiledLease[] => {
    const reading = readDocument(document);
    if (!isObject(document)) throw new UsageError('lease-unexplained', `${where} is no JSON object`);
    const id = String(document['id']);
    if (reading.kind === 'unknown') {
      throw new UsageError('lease-unexplained', `${where} is no lease: ${reading.why}`, {
        mend: 'Nothing was written. Take it out, or mend it.',
      });
    }
    if (reading.kind !== 'lease') return [];
    if (!id.includes('..'))
      throw new UsageError('lease-unexplained', `${where} is no lease: its id ${id} has no two dots`);
    if (seen.has(id)) throw new UsageError('lease-twice', `${where} has the id ${id}, which was there before`);
    seen.add(id);
    const { kind: _kind, ...content } = reading;
    return [{ ...content, id, document: withoutSystemFields(document) }];
  });
}

function documentsOf(text: string, path: string): { document: unknown; where: string }[] {
  const parse = (json: string, where: string): unknown => {
    try {
      return JSON.parse(json);
    } catch (error) {
      throw new UsageError('file-unreadable', `${where} is no JSON: ${messageOf(error)}`, {
        cause: error,
        mend: 'Leases are kept one JSON document a line, or as one JSON array.',
      });
    }
  };
  if (text.trimStart().startsWith('[')) {
    const whole = parse(text, path) as unknown[];
    return whole.map((document, index) => ({ document, where: `${path}, document ${index + 1}` }));
  }
  return text.split('\n').flatMap((line, index) => {
    const where = `${path}:${index + 1}`;
    return line.trim() === '' ? [] : [{ document: parse(line, where), where }];
  });
}
