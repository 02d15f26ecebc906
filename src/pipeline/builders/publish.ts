import { type Declaration, error, nameFindings, plain } from '../declaration.ts';
import { hubFindings } from './hub-name.ts';
import type { Doc, PublishSpec, SourceRef } from '../specs.ts';
import { type StartOption, startFields } from '../start.ts';
import type { Type } from '../types.ts';

/** What `publish` takes; S the documents whose changes become events. */
export interface PublishOptions<S extends object> {
  /** The documents whose changes become events. */
  readonly from: Type<S>;
  /** Name of the event hub, in the namespace of the settings. */
  readonly to: string;
  /** Only documents for which it returns true. Pure. */
  readonly where?: (doc: S) => boolean;
  /** The event's data; default the document. Pure. */
  readonly map?: (doc: S) => unknown;
  /**
   * `cloudevents` (default): CloudEvents 1.0 as JSON, with the data inside. `raw`: the data alone; the other attributes
   * are properties of the event.
   */
  readonly format?: 'cloudevents' | 'raw';
  /**
   * Events of one unit keep their order, and share an event hub partition. The unit is the document's full Cosmos DB
   * partition key with `partitionKey` (default), or a single document with `document`.
   */
  readonly order?: 'partitionKey' | 'document';
  /** The event's type; default `Container.type`. CloudEvents wants a reverse DNS name: `com.example.order`. */
  readonly type?: string;
  /** Sent with each event, so that consumers can distinguish shapes: `2`, `2026-11`. */
  readonly schemaVersion?: string;
  /** The data is `{ before, after }`; `before` only if the container's feed has it (all versions and deletes). */
  readonly images?: boolean;
  /**
   * Where it begins: `beginning`, `now` (default), or a time such as `2026-06-03T12:00:00Z`. `now` is when the first host
   * that declares it starts. Recorded once for a version; documents that change afterwards count, whatever their age.
   */
  readonly start?: StartOption;
  /** A whole number from 1 on; default 1. Another version is another projection: it begins where its `start` says, and its events have other ids. */
  readonly version?: number;
}

/** The same without the user's types. */
interface Untyped extends Omit<PublishOptions<Doc>, 'from'> {
  readonly from: SourceRef;
}

/** Publishes a container's changes as events of an event hub, in order for each key, at least once. */
export function publish<S extends object>(name: string, spec: PublishOptions<S>): Declaration<PublishSpec>;
export function publish(name: string, spec: Untyped): Declaration<PublishSpec> {
  const { from, to, where, map, type, schemaVersion, version = 1 } = spec;
  const { format = 'cloudevents', order = 'partitionKey', images = false } = spec;
  const findings = [...nameFindings(name, version), ...hubFindings(`Projection ${name}`, to)];
  const { findings: wrong, ...started } = startFields(name, spec.start);
  findings.push(...wrong);
  if (!['cloudevents', 'raw'].includes(format)) {
    const message = `Projection ${name} has format ${JSON.stringify(format)}, which isn't valid`;
    findings.push(error('publish-format', message, 'Write cloudevents or raw.'));
  }
  if (!['partitionKey', 'document'].includes(order)) {
    const message = `Projection ${name} has order ${JSON.stringify(order)}, which isn't valid`;
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
    ...started,
    findings,
  };
}
