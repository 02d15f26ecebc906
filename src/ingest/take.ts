import { roundedIn } from '../base/whole-numbers.ts';
import { isUtf8 } from 'node:buffer';
import { type Clock, systemClock } from '../base/clock.ts';
import { MillraceError, messageOf } from '../base/errors.ts';
import { digest, isObject } from '../base/json.ts';
import { mapSettled } from '../base/map-settled.ts';
import { type KeyPath, fullKey } from '../cosmos/paths.ts';
import type { IngestEvent, IngestSpec, Pipeline } from '../pipeline/specs.ts';
import { type TenantRule, tenantOf, tenantRuleOf } from '../pipeline/tenant.ts';
import type { Erased } from '../engine/erasures/watch.ts';
import { sinkContainer } from '../engine/runners.ts';
import type { Change, Key } from '../feed/reading/change.ts';
import type { Fence } from '../feed/tenure/fence.ts';
import { untilStopped, whileFresh } from '../feed/tenure/fences.ts';
import type { Model } from '../model/model.ts';
import type { Refusal } from '../kinds/runner.ts';
import { sharedError } from '../base/shared-errors.ts';
import { ingestError } from './errors.ts';
import type { IngestAccess } from './sink.ts';

/** An event as the hub delivered it, before its body is parsed. */
export interface RawEvent extends Omit<IngestEvent, 'body'> {
  readonly body: Uint8Array | string | number | boolean | object | null | undefined;
}

/** The container that an ingest writes to. */
export interface IngestTarget {
  readonly name: string;
  readonly keyPaths: readonly KeyPath[];
  /** How a document states its tenant. Absent: the container's documents belong to no tenant. */
  readonly tenant?: TenantRule;
}

/** The target of an ingest. @throws UsageError `not-found` */
export function targetOf({ into }: IngestSpec, pipeline: Pipeline, model: Model): IngestTarget {
  const tenant = tenantRuleOf(pipeline, model, into.container);
  return { ...sinkContainer(into.container, model), ...(tenant && { tenant }) };
}

export interface Taken {
  readonly created: number;
  /** Events whose document existed: the event had come before, or another one with the same id. */
  readonly duplicates: number;
  /** Events that were dropped, because the tenant of their document is erased. */
  readonly erased: number;
  /** Events that can never become a document, each with its place in the hub. */
  readonly refusals: readonly Refusal[];
}

/**
 * A second create of a document does no harm, so a host that lost the partition may finish. With tenants it has to finish
 * within the write bound: an erasure waits for no longer (ERASE-S4).
 */
export const ingestFence = (signal: AbortSignal, erasures: object | undefined, clock: Clock = systemClock): Fence =>
  erasures ? whileFresh(clock.monotonic(), signal, { clock }) : untilStopped(signal);

interface Row {
  readonly event: RawEvent;
  readonly key: Key;
  readonly id: string;
  readonly body: object;
  readonly tenant: string | undefined;
}

/** The access sends many of them in one request. */
const AT_ONCE = 512;
const ATTEMPTS = 20;

/**
 * Creates the documents of some events, each on the condition that it doesn't exist. Resolves when every event is
 * durable, refused or dropped. Rejects only for infrastructure, and may then be called again with the same events.
 */
export async function takeEvents(
  spec: IngestSpec,
  target: IngestTarget,
  events: readonly RawEvent[],
  access: IngestAccess,
  isErased: Erased = () => undefined,
): Promise<Taken> {
  const rows = new Map<string, Row>();
  const refusals: Refusal[] = [];
  let duplicates = 0;
  let erased = 0;
  for (const event of events) {
    try {
      const row = rowOf(spec, target, event);
      if (!row) continue;
      // A dead letter would hold the event.
      if (isErased(row.tenant)) {
        erased += 1;
        continue;
      }
      const place = JSON.stringify([row.key, row.id]);
      if (rows.has(place)) duplicates += 1;
      else rows.set(place, row);
    } catch (error) {
      refusals.push({ change: placeOf(spec, event), error: refusal(error, event) });
    }
  }
  let created = 0;
  await mapSettled(
    rows.values(),
    async (row) => {
      const answer = await create(target, row, access);
      if (answer === 'created') created += 1;
      else if (answer === 'there') duplicates += 1;
      else refusals.push({ change: placeOf(spec, row.event), error: refusal(answer, row.event) });
    },
    { concurrency: AT_ONCE },
  );
  return { created, duplicates, erased, refusals };
}

async function create(
  target: IngestTarget,
  row: Row,
  access: IngestAccess,
): Promise<'created' | 'there' | MillraceError> {
  const { key, id, body } = row;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const answer = await access.create(target.name, key, id, body);
    if (answer.kind === 'done') return 'created';
    if (answer.kind === 'refused')
      return sharedError('document-refused', answer.why, {
        hint: 'Check the size of the document, its id and its partition key.',
      });
    // The document exists, or the answer was lost; then the read finds our own document.
    const [found] = await access.read(target.name, key, [id]);
    if (found) return 'there';
  }
  throw sharedError('contended', `${target.name}/${id} could be neither created nor found`);
}

/** The document of an event; undefined if `map` returns none. */
function rowOf(spec: IngestSpec, target: IngestTarget, raw: RawEvent): Row | undefined {
  const event: IngestEvent = { ...raw, properties: namesOf(raw.properties), body: bodyOf(spec, raw.body) };
  const mapped: unknown = spec.map(event);
  if (mapped === null || mapped === undefined) return undefined;
  if (!isObject(mapped))
    throw sharedError('value-invalid', `map returned a ${typeof mapped}, not a document`, {
      hint: 'Return the document as an object, or null if the event becomes no document.',
    });
  const { partition, sequence, offset, enqueuedAt } = raw;
  // With the time, since a hub that was deleted and created again begins its sequence at 0 again.
  const { id = digest([spec.from, partition, sequence, offset, enqueuedAt.getTime()]) } = mapped;
  if (typeof id !== 'string' || id === '')
    throw sharedError('value-invalid', `map returned the id ${JSON.stringify(id)}`, {
      hint: 'Return an id of one character or more, or no id.',
    });
  const body = { ...mapped, id, type: spec.into.type };
  const rounded = roundedIn(body);
  if (rounded !== undefined)
    throw sharedError('value-invalid', `The document's ${rounded}`, {
      hint: 'Send the number as a text, or leave it out in `map`. Then run `millrace dead-letters redrive`.',
    });
  const keyed = fullKey(body, target.keyPaths);
  if ('key' in keyed) {
    const tenant = target.tenant && tenantOf(target.tenant, body);
    return { event: raw, key: keyed.key, id, body, tenant };
  }
  const what = `The document has no value at ${keyed.missing}, which is part of its partition key`;
  throw sharedError('key-missing', what, {
    hint: `Return ${keyed.missing.slice(1)} from \`map\`, or null if the event becomes no document.`,
  });
}

/** The names that a trigger gets, changed by `toCamelCase` of `@azure/functions`: both ways must give the same. */
const namesOf = (properties: RawEvent['properties']): RawEvent['properties'] =>
  Object.fromEntries(
    Object.entries(properties).map(([name, value]) => [`${name.charAt(0).toLowerCase()}${name.slice(1)}`, value]),
  );

function bodyOf({ format }: IngestSpec, body: RawEvent['body']): unknown {
  if (format === 'raw') return body;
  if (!(body instanceof Uint8Array)) return body;
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (cause) {
    throw ingestError('event-not-json', `The event is not JSON: ${messageOf(cause)}`, { cause });
  }
}

/** An event's place in its hub, in the form of the change that its dead letter stores. */
function placeOf({ from, consumerGroup, into }: IngestSpec, event: RawEvent): Change {
  const { partition, sequence, offset, enqueuedAt, body, properties, partitionKey } = event;
  return {
    container: from,
    key: [consumerGroup, partition],
    id: String(sequence),
    type: into.type,
    version: { epoch: 0, lsn: sequence, etag: offset },
    at: enqueuedAt.getTime(),
    op: 'upsert',
    doc: { ...writtenOf(body), properties, ...(partitionKey === undefined ? {} : { partitionKey }) },
  };
}

/** A body as JSON: bytes that are text as text, so that a person can read the dead letter. */
function writtenOf(body: RawEvent['body']): { body: unknown; encoding?: 'utf8' | 'base64' } {
  if (!(body instanceof Uint8Array)) return { body };
  const bytes = Buffer.from(body);
  const encoding = isUtf8(bytes) ? 'utf8' : 'base64';
  return { body: bytes.toString(encoding), encoding };
}

/** The event from which a dead letter's change was made; undefined if it isn't the change of an event. */
export function rawOf({ doc, key, version, at }: Change): RawEvent | undefined {
  const partition = key[1];
  if (!doc || !('body' in doc) || typeof partition !== 'string') return undefined;
  const { body, encoding, properties, partitionKey } = doc;
  const encoded = typeof body === 'string' && (encoding === 'utf8' || encoding === 'base64');
  return {
    body: encoded ? Buffer.from(body, encoding) : (body as RawEvent['body']),
    properties: isObject(properties) ? properties : {},
    ...(typeof partitionKey === 'string' ? { partitionKey } : {}),
    partition,
    sequence: version.lsn,
    offset: version.etag,
    enqueuedAt: new Date(at),
  };
}

function refusal(error: unknown, { partition, offset }: RawEvent): MillraceError {
  const at = `partition ${partition}, offset ${offset}`;
  if (!(error instanceof MillraceError))
    return ingestError('ingest-threw', `${messageOf(error)} (${at})`, { cause: error });
  const { code, message, hint } = error;
  return MillraceError.from({ code, message: `${message} (${at})`, hint }, { cause: error });
}
