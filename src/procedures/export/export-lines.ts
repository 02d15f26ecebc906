// An export of a tenant: a header, a line for each document and dead letter, and a last line by which a cut file shows.
import { createHash } from 'node:crypto';
import type { Change } from '../../feed/reading/change.ts';
import type { DeadLetter } from '../../engine/dead-letters/dead-letters.ts';

export interface ExportedDocument {
  /** Where it is; absent: in the place of the settings. */
  readonly shard?: string;
  readonly container: string;
  /** Its type in the data model; null: the model has none for it. */
  readonly type: string | null;
  /** True: it is in the archive. */
  readonly cold?: true;
  /** The declared projections that write it, `name@version`. Absent: the application writes it. */
  readonly derivedBy?: readonly string[];
  /** As stored, without the fields of Cosmos DB. */
  readonly document: Readonly<Record<string, unknown>>;
}

export interface ExportedLetter {
  /** As of a document. */
  readonly shard?: string;
  readonly deadLetter: DeadLetter;
  /** The change that is stored with the letter, with its document. */
  readonly change?: Change;
  /** Why the stored change can't be read. */
  readonly unreadable?: string;
}

export interface ExportHeader {
  readonly export: {
    readonly format: 1;
    readonly pipeline: string;
    readonly field: string;
    readonly tenant: string | number;
    /** When the export began, ISO 8601 UTC. */
    readonly at: string;
  };
}

export interface ExportCounts {
  readonly documents: number;
  /** Of the documents, those in the archive. */
  readonly cold: number;
  /** Of the documents, those that projections write. */
  readonly derived: number;
  readonly deadLetters: number;
  /** Of the dead letters, those whose stored change can't be read. */
  readonly unreadable: number;
  /** Documents by container. */
  readonly containers: Readonly<Record<string, number>>;
  /** All lines before the last. */
  readonly lines: number;
  /** Of all bytes before the last line, hex. */
  readonly sha256: string;
}

/**
 * The lines of an export, each with its newline. Yields nothing at all if the tenant has nothing. Returns the counts of
 * the last line; undefined if there is none.
 */
export async function* exportLines(
  header: ExportHeader,
  parts: AsyncIterable<ExportedDocument | ExportedLetter>,
): AsyncGenerator<string, ExportCounts | undefined> {
  const hash = createHash('sha256');
  const containers: Record<string, number> = {};
  const counts = { documents: 0, cold: 0, derived: 0, deadLetters: 0, unreadable: 0 };
  let lines = 0;
  const line = (value: object): string => {
    const text = `${JSON.stringify(value)}\n`;
    hash.update(text);
    lines += 1;
    return text;
  };
  for await (const part of parts) {
    if (lines === 0) yield line(header);
    yield line(part);
    if ('deadLetter' in part) {
      counts.deadLetters += 1;
      counts.unreadable += part.unreadable === undefined ? 0 : 1;
      continue;
    }
    counts.documents += 1;
    counts.cold += part.cold ? 1 : 0;
    counts.derived += part.derivedBy ? 1 : 0;
    containers[part.container] = (containers[part.container] ?? 0) + 1;
  }
  if (lines === 0) return undefined;
  const end: ExportCounts = { ...counts, containers, lines, sha256: hash.digest('hex') };
  yield `${JSON.stringify({ end })}\n`;
  return end;
}
