import { error, nameFindings, plain } from '../declaration.ts';
import { hubFindings } from './hub-name.ts';
import type { Doc, Finding, IngestEvent, IngestSpec, SourceRef } from '../specs.ts';
import type { Row, Type } from '../types.ts';

/** What `ingest` takes; T the documents that events become. */
export interface IngestOptions<T extends { readonly id: string }> {
  /** Name of the event hub, in the namespace of the settings. */
  readonly from: string;
  /** Default `$Default`. Whoever else reads the hub needs a consumer group of their own. */
  readonly consumerGroup?: string;
  /** `json` (default): an event that is no JSON is a dead letter. `raw`: `map` gets the bytes. */
  readonly format?: 'json' | 'raw';
  readonly into: Type<T>;
  /**
   * The document of an event, or null where there is none. Pure. Its `id` tells an event from every other under its key:
   * what comes again under the same id is dropped. Without an id, the event's place in the hub is taken, which tells
   * redeliveries apart and not what a producer sent twice.
   */
  readonly map: (event: IngestEvent) => (Omit<Row<NoInfer<T>>, 'id'> & { readonly id?: string }) | null;
  /** A whole number from 1 on; default 1. Part of the names of its dead letters. */
  readonly version?: number;
}

/** The same as the implementation sees it. */
interface Untyped extends Pick<IngestOptions<never>, 'from' | 'consumerGroup' | 'format' | 'version'> {
  readonly into: SourceRef;
  readonly map: (event: IngestEvent) => Doc | null;
}

export type IngestDeclaration = IngestSpec & { readonly findings: readonly Finding[] };

/** The events of an event hub as documents of a container, each once, however often it is delivered. */
export function ingest<T extends { readonly id: string }>(name: string, spec: IngestOptions<T>): IngestDeclaration;
export function ingest(name: string, spec: Untyped): IngestDeclaration {
  const { from, consumerGroup = '$Default', format = 'json', into, map, version = 1 } = spec;
  const findings = [...nameFindings(name, version), ...hubFindings(`Ingest ${name}`, from, consumerGroup)];
  if (typeof map !== 'function') {
    const mend = 'Give it map: event => ({ id: …, … }).';
    findings.push(error('ingest-map', `Ingest ${name} has no map`, mend));
  }
  if (!['json', 'raw'].includes(format)) {
    findings.push(error('ingest-format', `Ingest ${name} has format ${JSON.stringify(format)}`, 'Write json or raw.'));
  }
  return { kind: 'ingest', name, version, from, consumerGroup, format, into: plain(into), map, findings };
}
