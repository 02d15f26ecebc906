import { type Declaration, error, nameFindings, plain } from '../declaration.ts';
import { hubFindings } from './hub-name.ts';
import type { Doc, PublishSpec, SourceRef } from '../specs.ts';
import type { Type } from '../types.ts';

/** What `publish` takes; S the documents whose changes become events. */
export interface PublishOptions<S extends object> {
  readonly from: Type<S>;
  /** Name of the event hub, in the namespace of the settings. */
  readonly to: string;
  readonly where?: (doc: S) => boolean;
  /** The event's data; default the document. Pure. */
  readonly map?: (doc: S) => unknown;
  /**
   * `cloudevents` (default): CloudEvents 1.0 as JSON, the data inside. `raw`: the data alone, what else there is to say
   * in the event's properties.
   */
  readonly format?: 'cloudevents' | 'raw';
  /**
   * Within what events keep their order, which is also what shares an event hub partition. `partitionKey` (default):
   * the document's full Cosmos DB key. `document`: each document by itself.
   */
  readonly order?: 'partitionKey' | 'document';
  /** The event's type; default `Container.type`. CloudEvents wants a reverse DNS name: `com.example.order`. */
  readonly type?: string;
  /** Told with each event, for consumers to tell shapes apart: `2`, `2026-11`. */
  readonly schemaVersion?: string;
  /** The data is `{ before, after }`; `before` only where the container's feed has it (all versions and deletes). */
  readonly images?: boolean;
  /** A whole number from 1 on; default 1. Another version publishes everything again, under other ids. */
  readonly version?: number;
}

/** The same as the implementation sees it. */
interface Untyped extends Omit<PublishOptions<Doc>, 'from'> {
  readonly from: SourceRef;
}

/** A container's changes as events of an event hub, in order for each key, at least once. */
export function publish<S extends object>(name: string, spec: PublishOptions<S>): Declaration<PublishSpec>;
export function publish(name: string, spec: Untyped): Declaration<PublishSpec> {
  const { from, to, where, map, type, schemaVersion, version = 1 } = spec;
  const { format = 'cloudevents', order = 'partitionKey', images = false } = spec;
  const findings = [...nameFindings(name, version), ...hubFindings(`Projection ${name}`, to)];
  if (!['cloudevents', 'raw'].includes(format)) {
    const message = `Projection ${name} has format ${JSON.stringify(format)}`;
    findings.push(error('publish-format', message, 'Write cloudevents or raw.'));
  }
  if (!['partitionKey', 'document'].includes(order)) {
    const message = `Projection ${name} has order ${JSON.stringify(order)}`;
    findings.push(error('publish-order', message, 'Write partitionKey or document.'));
  }
  return {
    kind: 'publish',
    name,
    version,
    from: plain(from),
    to,
    format,
    order,
    images,
    ...(where && { where }),
    ...(map && { map }),
    ...(type !== undefined && { type }),
    ...(schemaVersion !== undefined && { schemaVersion }),
    findings,
  };
}
