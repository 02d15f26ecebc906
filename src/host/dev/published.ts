import type { Database } from '@azure/cosmos';
import { canonical, isObject } from '../../base/json.ts';
import { type Doc, type Pipeline, type PublishSpec, projectionId } from '../../pipeline/specs.ts';
import { visible } from '../../pipeline/oracle/recompute.ts';
import type { PublishedEvent } from '../../emulator/index.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { plural, textTable } from '../../procedures/table.ts';

/** The events of a hub, compared with the documents that they were published from. */
export interface PublishedCheck {
  readonly projection: string;
  readonly hub: string;
  readonly events: number;
  /** How many of them have the id of an earlier event. */
  readonly repeated: number;
  /** Documents that must have an event. */
  readonly documents: number;
  /** Documents whose last event doesn't show their current content. */
  readonly missing: number;
  /** Events that come after a newer event of the same document. */
  readonly disordered: number;
}

/** The fields of an event that the check needs. */
interface Envelope {
  readonly id: string;
  readonly subject: string;
  readonly sequence: string;
  readonly data: unknown;
}

/**
 * Compares the published events with the current documents: the last event of each document must show its current
 * content, and no event may come after a newer one of its document. Nothing may write to the sources meanwhile.
 */
export async function checkPublished(
  { publishes, sources }: Pick<Pipeline, 'publishes' | 'sources'>,
  database: Database,
  eventsOf: (hub: string) => readonly PublishedEvent[],
  signal: AbortSignal,
): Promise<PublishedCheck[]> {
  const checks: PublishedCheck[] = [];
  for (const spec of publishes) {
    const { container, type } = spec.from;
    const rule = sources.find((of) => of.container === container && of.type === type);
    const { last, ...counted } = read(eventsOf(spec.to));
    let documents = 0;
    let missing = 0;
    for await (const stored of fetchAll<Doc>(database.container(container), 'SELECT * FROM c', signal)) {
      if (stored['type'] !== type) continue;
      const doc = rule?.upcast ? rule.upcast(visible(stored)) : visible(stored);
      if (spec.where && !spec.where(doc)) continue;
      documents += 1;
      if (!last.has(canonical(dataOf(spec, doc)))) missing += 1;
    }
    checks.push({ projection: projectionId(spec), hub: spec.to, ...counted, documents, missing });
  }
  return checks;
}

/** Reads the events of a hub in the order of each partition. `last`: the data of each document's last event. */
function read(events: readonly PublishedEvent[]) {
  const newest = new Map<string, Envelope>();
  const ids = new Set<string>();
  let repeated = 0;
  let disordered = 0;
  for (const event of events) {
    const envelope = envelopeOf(event);
    if (ids.has(envelope.id)) {
      repeated += 1;
      continue;
    }
    ids.add(envelope.id);
    const before = newest.get(envelope.subject);
    if (before && before.sequence > envelope.sequence) disordered += 1;
    else newest.set(envelope.subject, envelope);
  }
  const last = new Set([...newest.values()].map(({ data }) => canonical(data)));
  return { events: events.length, repeated, disordered, last };
}

function envelopeOf({ body, properties }: PublishedEvent): Envelope {
  const envelope = isObject(body) && body['specversion'] === '1.0' ? body : { ...properties, data: body };
  return {
    id: String(envelope['id']),
    subject: String(envelope['subject']),
    sequence: String(envelope['sequence']),
    data: withoutTtl(envelope['data']),
  };
}

const dataOf = (spec: PublishSpec, doc: Doc): unknown => {
  const shaped = withoutTtl(spec.map ? JSON.parse(JSON.stringify(spec.map(doc) ?? null)) : doc);
  return spec.images ? { after: shaped } : shaped;
};

/** A change of `ttl` alone publishes no event, so the last event may have the earlier `ttl`. */
function withoutTtl(data: unknown): unknown {
  if (!isObject(data)) return data;
  const { ttl: _, before: _before, ...rest } = data;
  return rest;
}

export const formatPublished = (checks: readonly PublishedCheck[]): string =>
  [
    textTable(
      ['publish', 'hub', 'events', 'repeated', 'documents', 'missing', 'disordered'],
      checks.map((check) => [
        check.projection,
        check.hub,
        check.events,
        check.repeated,
        check.documents,
        check.missing,
        check.disordered,
      ]),
    ),
    checks.every(isRight)
      ? `The last event of each of ${plural(
          checks.reduce((sum, { documents }) => sum + documents, 0),
          'document',
        )} shows its current content.`
      : 'Events are missing or out of order.',
  ].join('\n');

export const isRight = ({ missing, disordered }: PublishedCheck): boolean => missing + disordered === 0;
