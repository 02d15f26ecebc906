import type { EventData } from '@azure/event-hubs';
import { canonical, digest } from '../../base/json.ts';
import { type Doc, type PublishSpec, projectionId } from '../../pipeline/specs.ts';
import { feedWithoutSystemFields } from '../../feed/reading/mapper.ts';
import type { Change, Identity } from '../../feed/reading/change.ts';
import { assertStorable } from '../sink-type.ts';
import type { HubMessage } from '../../access/event-hub.ts';

/** The most characters of a partition key in Event Hubs (quotas: partition key length); a longer one is hashed. */
const LONGEST_KEY = 128;

/** The event of a change; undefined where `where` leaves it out. */
export function eventMessageOf(spec: PublishSpec, change: Change): HubMessage | undefined {
  if (isLeftOut(spec, change)) return undefined;
  const { doc } = change;
  const previous = previousOf(change);
  const partitionKey = orderKey(spec, change);
  const content = data(spec, doc, previous);
  const about = attributes(spec, change, partitionKey);
  const { id } = about;
  if (spec.format === 'raw') {
    const event: EventData = {
      messageId: id,
      contentType: 'application/json',
      properties: { ...about },
      body: bytes(content),
    };
    return { partitionKey, event };
  }
  const event: EventData = {
    messageId: id,
    contentType: 'application/cloudevents+json; charset=utf-8',
    properties: { id },
    body: bytes({ specversion: '1.0', ...about, datacontenttype: 'application/json', data: content }),
  };
  return { partitionKey, event };
}

/** Whether `where` leaves a change out: by the document, or where it is gone by what it was. */
export function isLeftOut(spec: PublishSpec, change: Change): boolean {
  const judged = change.doc ?? previousOf(change);
  return judged !== undefined && spec.where !== undefined && !spec.where(judged);
}

const previousOf = ({ before }: Change): Doc | undefined => before && feedWithoutSystemFields(before);

/** Canonical JSON of the key within which events keep their order: the full Cosmos DB key, with the id for `document`. */
export function orderKey({ order }: Pick<PublishSpec, 'order'>, { key, id }: Pick<Identity, 'key' | 'id'>): string {
  const text = canonical(order === 'document' ? [...key, id] : key);
  return text.length > LONGEST_KEY ? digest(text) : text;
}

/**
 * The same for every delivery of one version of a document, by any host: a consumer that stores the ids it has seen can
 * drop duplicates. 43 characters; a message id may have at most 128.
 */
export const eventId = (spec: PublishSpec, { container, key, id, version }: Change): string =>
  digest([projectionId(spec.idsOf ?? spec), container, key, id, version.etag]);

/**
 * Attributes of CloudEvents 1.0, with its extensions `partitionkey` and `sequence`. The sequence rises, as text, with
 * the versions of one document, and says nothing across documents (ASM-A1).
 */
function attributes(spec: PublishSpec, change: Change, partitionkey: string) {
  const { container, type, key, id, version, at, op, operation } = change;
  return {
    id: eventId(spec, change),
    source: `/${encodeURIComponent(container)}`,
    type: spec.type ?? `${container}.${type}`,
    subject: canonical([...key, id]),
    time: new Date(at).toISOString(),
    partitionkey,
    sequence: sequenceOf(version),
    op: operation ?? op,
    ...(spec.schemaVersion !== undefined && { schemaversion: spec.schemaVersion }),
  };
}

/** Sixteen digits, with a fraction where a document was deleted just after the version that was parked. */
function sequenceOf({ epoch, lsn }: Change['version']): string {
  const [whole = '', ...fraction] = String(lsn).split('.');
  return [`${String(epoch).padStart(6, '0')}-${whole.padStart(16, '0')}`, ...fraction].join('.');
}

/** The event's data: the document, or the documents before and after. */
function data(spec: PublishSpec, doc: Doc | undefined, before: Doc | undefined): unknown {
  const shaped = (of: Doc): unknown => {
    const made = spec.map ? spec.map(of) : of;
    assertStorable(made, projectionId(spec));
    return made;
  };
  const after = doc ? shaped(doc) : null;
  return spec.images ? { ...(before && { before: shaped(before) }), after } : after;
}

const bytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value ?? null), 'utf8');
