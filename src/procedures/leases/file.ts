import { readFile } from 'node:fs/promises';
import { sharedError } from '../../base/shared-errors.ts';
import { messageOf } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';
import type { DialectName, LeaseContent, LeaseDocument } from '../../feed/leases/dialects/dialect.ts';
import { readDocument } from '../../feed/leases/dialects/read.ts';
import { withoutSystemFields } from '../../cosmos/system-fields.ts';
import { writeDocument } from '../../feed/leases/dialects/write.ts';
import type { LeaseInventory, Monitored } from './groups.ts';
import { operationsError } from '../errors.ts';

/** The dialects of a file of leases. `dotnet` writes version 1 for a range that isn't one physical partition. */
export const FILE_DIALECTS = ['dotnet', 'dotnet-v1', 'java-pk', 'java-epk'] as const;
export type FileDialect = (typeof FILE_DIALECTS)[number];

/** A lease, from a file or from a lease container. */
export interface FiledLease extends LeaseContent {
  readonly id: string;
  readonly document: Record<string, unknown>;
  readonly range?: FeedRange;
}

/** The same lease in another dialect, for another processor, or both. */
export function translate(
  lease: FiledLease,
  { dialect, prefix, monitored }: { dialect: FileDialect; prefix: string; monitored: Monitored },
): LeaseDocument {
  const range = lease.range ?? monitored.partitions.rangeOf(lease.token);
  if (!range) {
    throw operationsError(
      'lease-unresolved',
      `Lease ${lease.id} names partition ${lease.token}, which ${monitored.container.id} does not have and never had`,
    );
  }
  const partition = monitored.partitions.idOf(range);
  const own: DialectName = dialect === 'dotnet' ? (partition === undefined ? 'dotnet-v1' : 'dotnet-v0') : dialect;
  const { position, mode, owner, document } = lease;
  return writeDocument(own, { prefix, partition, range, position, mode, owner, rid: monitored.rid }, document);
}

/** The prefix of the same processor's leases in another dialect: Java's `handleChanges` uses names, the others use ids. */
export const prefixIn = (
  inventory: LeaseInventory,
  dialect: FileDialect | undefined,
  { prefix, processor, monitored }: { prefix: string; processor?: string; monitored?: Monitored },
): string => {
  if (dialect === undefined || processor === undefined || !monitored) return prefix;
  const named = inventory.namedPrefix(processor, monitored.container.id);
  if (dialect === 'java-pk') return named;
  return prefix === named ? inventory.ridPrefix(processor, monitored.rid) : prefix;
};

/** One document a line, without system fields. */
export const toLines = (documents: readonly Record<string, unknown>[]): string =>
  documents.map((document) => `${JSON.stringify(withoutSystemFields(document))}\n`).join('');

/**
 * Leases of a file: one JSON document a line, or one JSON array. Markers and locks are left out.
 * @throws UsageError `unreadable`, `lease-unexplained`, `input-invalid`, with the line in the message
 */
export async function readLeaseFile(path: string): Promise<FiledLease[]> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw sharedError('unreadable', `${path} can't be read: ${messageOf(error)}`, {
      hint: 'Check the path. For leases, name a file that `millrace leases export --file` wrote.',
      cause: error,
    });
  });
  const seen = new Set<string>();
  return documentsOf(text, path).flatMap(({ document, where }): FiledLease[] => {
    const reading = readDocument(document);
    if (!isObject(document)) throw operationsError('lease-unexplained', `${where} is not a JSON object`);
    const id = String(document['id']);
    if (reading.kind === 'unknown') {
      throw operationsError('lease-unexplained', `${where} is not a lease: ${reading.why}`, {
        hint: 'Remove it from the file, or correct it. Nothing was written.',
      });
    }
    if (reading.kind !== 'lease') return [];
    if (!id.includes('..'))
      throw operationsError('lease-unexplained', `${where} is not a lease: its id ${id} has no two dots`);
    if (seen.has(id))
      throw operationsError(
        'input-invalid',
        `${where} has the id ${id}, which an earlier document of the file has too`,
        { hint: 'Remove one of them from the file.' },
      );
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
      throw sharedError('unreadable', `${where} is not JSON: ${messageOf(error)}`, {
        cause: error,
        hint: 'Write one JSON document a line, or one JSON array.',
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
