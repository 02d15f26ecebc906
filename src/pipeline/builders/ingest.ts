import { error, nameFindings, plain } from '../declaration.ts';
import { hubFindings } from './hub-name.ts';
import type { Doc, Finding, IngestEvent, IngestSpec, SourceRef } from '../specs.ts';
import type { Row, Type } from '../types.ts';

/** What `ingest` takes; T the documents that events become. */
export interface IngestOptions<T extends { readonly id: string }> {
  /** Name of the event hub, in the namespace of the settings. */
  readonly from: string;
  /** Default `$Default`. Every other reader of the hub needs another consumer group. */
  readonly consumerGroup?: string;
  /** `json` (default): Millrace parks an event that isn't JSON. `raw`: `map` gets the bytes. */
  readonly format?: 'json' | 'raw';
  /** The documents that events become. */
  readonly into: Type<T>;
  /**
   * The document of an event, or null for none. Pure. Its `id` identifies the event within its partition key: an event
   * with the same id is dropped. Without an id, Millrace uses the event's position in the hub. Then a redelivery is
   * recognised, but an event that a producer sent twice isn't.
   */
  readonly map: (event: IngestEvent) => (Omit<Row<NoInfer<T>>, 'id'> & { readonly id?: string }) | null;
  /** A whole number from 1 on; default 1. Part of the names of its dead letters. */
  readonly version?: number;
}

/** The same without the user's types. */
interface Untyped extends Pick<IngestOptions<never>, 'from' | 'consumerGroup' | 'format' | 'version'> {
  readonly into: SourceRef;
  readonly map: (event: IngestEvent) => Doc | null;
}

export type IngestDeclaration = IngestSpec & { readonly findings: readonly Finding[] };

/** Stores the events of an event hub as documents of a container, each once, even if it is delivered repeatedly. */
export function ingest<T extends { readonly id: string }>(name: string, spec: IngestOptions<T>): IngestDeclaration;
export function ingest(name: string, spec: Untyped): IngestDeclaration {
  const { from, consumerGroup = '$Default', format = 'json', into, map, version = 1 } = spec;
  const findings = [...nameFindings(name, version), ...hubFindings(`Ingest ${name}`, from, consumerGroup)];
  if (typeof map !== 'function') {
    const hint = 'Add map: event => ({ id: …, … }).';
    findings.push(error('ingest-map', `Ingest ${name} has no map`, hint));
  }
  if (!['json', 'raw'].includes(format)) {
    findings.push(
      error(
        'ingest-format',
        `Ingest ${name} has format ${JSON.stringify(format)}, which isn't valid`,
        'Write json or raw.',
      ),
    );
  }
  return { kind: 'ingest', name, version, from, consumerGroup, format, into: plain(into), map, findings };
}
