import { isUtf8 } from 'node:buffer';
import { MillraceError, messageOf } from '../base/errors.ts';
import { digest, isObject } from '../base/json.ts';
import { mapSettled } from '../base/map-settled.ts';
import { type KeyPath, fullKey } from '../cosmos/paths.ts';
import type { IngestEvent, IngestSpec } from '../definition/specs.ts';
import type { Change, Key } from '../feed/reading/change.ts';
import type { SinkSession } from '../sinks/session.ts';
import type { Refusal } from '../projections/runner.ts';

/** An event as it came, before anything of it was understood. */
export interface RawEvent extends Omit<IngestEvent, 'body'> {
  readonly body: Uint8Array | string | number | boolean | object | null | undefined;
}

/** The container that an ingest writes to. */
export interface Target {
  readonly name: string;
  readonly keyPaths: readonly KeyPath[];
}

export interface Taken {
  readonly created: number;
  /** Their document was there: the event had come before, or one with the same id had. */
  readonly duplicates: number;
  /** What can't become a document however often it is tried, each with its place in the hub. */
  readonly refusals: readonly Refusal[];
}

interface Row {
  readonly event: RawEvent;
  readonly key: Key;
  readonly id: string;
  readonly body: object;
}

/** The session sends many of them in one request. */
const AT_ONCE = 512;
const ATTEMPTS = 20;

/**
 * Creates the documents of some events, each on the condition that it isn't there. Resolves when every event is durable
 * or refused; rejects for infrastructure alone, and may then be called again with the same events.
 */
export async function takeEvents(
  spec: IngestSpec,
  target: Target,
  events: readonly RawEvent[],
  session: SinkSession,
): Promise<Taken> {
  const rows = new Map<string, Row>();
  const refusals: Refusal[] = [];
  let duplicates = 0;
  for (const event of events) {
    try {
      const row = rowOf(spec, target, event);
      if (!row) continue;
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
      const outcome = await create(target, row, session);
      if (outcome === 'created') created += 1;
      else if (outcome === 'there') duplicates += 1;
      else refusals.push({ change: placeOf(spec, row.event), error: refusal(outcome, row.event) });
    },
    { concurrency: AT_ONCE },
  );
  return { created, duplicates, refusals };
}

async function create(target: Target, row: Row, session: SinkSession): Promise<'created' | 'there' | MillraceError> {
  const { key, id, body } = row;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const answer = await session.commit(target.name, key, [{ op: 'create', id, body }]);
    if (answer.kind === 'done') return 'created';
    if (answer.kind === 'refused') return new MillraceError('document-refused', answer.why);
    // It is there, or nobody knows: whose answer was lost finds its own document.
    const [found] = await session.read(target.name, key, [id]);
    if (found) return 'there';
  }
  throw new MillraceError('contended', `${target.name}/${id} could be neither created nor found`, { retryable: true });
}

/** The document of an event; undefined where `map` makes none of it. */
function rowOf(spec: IngestSpec, target: Target, raw: RawEvent): Row | undefined {
  const event: IngestEvent = { ...raw, properties: namesOf(raw.properties), body: bodyOf(spec, raw.body) };
  const mapped: unknown = spec.map(event);
  if (mapped === null || mapped === undefined) return undefined;
  if (!isObject(mapped))
    throw new MillraceError('event-mapped-wrong', `map returned ${typeof mapped}, and no document`);
  const { partition, sequence, offset, enqueuedAt } = raw;
  // The time tells a hub that was made anew, whose sequence begins at 0 again, from the one before it.
  const { id = digest([spec.from, partition, sequence, offset, enqueuedAt.getTime()]) } = mapped;
  if (typeof id !== 'string' || id === '') {
    const mend = 'Return an id of one character or more, or none at all.';
    throw new MillraceError('event-id-wrong', `map returned the id ${JSON.stringify(id)}`, { mend });
  }
  const body = { ...mapped, id, type: spec.into.type };
  const keyed = fullKey(body, target.keyPaths);
  if ('key' in keyed) return { event: raw, key: keyed.key, id, body };
  throw new MillraceError('event-key-missing', `The document has no value at ${keyed.missing}, part of its key`, {
    mend: `Return ${keyed.missing.slice(1)} from map, or null where the event is to become nothing.`,
  });
}

/** As `toCamelCase` of `@azure/functions` makes them of what a trigger gets, which leaves no way to what was sent. */
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
    const mend = "Mend the producer, or declare the ingest with format: 'raw' and read the bytes in map.";
    throw new MillraceError('event-not-json', `The event is no JSON: ${messageOf(cause)}`, { cause, mend });
  }
}

/** An event's place in its hub, in the form of a change: what a dead letter is told by. */
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

/** A body as JSON keeps it: bytes as text where they are text, so that whoever reads the letter can. */
function writtenOf(body: RawEvent['body']): { body: unknown; encoding?: 'utf8' | 'base64' } {
  if (!(body instanceof Uint8Array)) return { body };
  const bytes = Buffer.from(body);
  const encoding = isUtf8(bytes) ? 'utf8' : 'base64';
  return { body: bytes.toString(encoding), encoding };
}

/** The event that a dead letter's change was made of; undefined where it isn't of an event. */
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
    return new MillraceError('ingest-threw', `${messageOf(error)} (${at})`, { cause: error });
  const { code, message, mend } = error;
  return new MillraceError(code, `${message} (${at})`, { cause: error, ...(mend === undefined ? {} : { mend }) });
}
