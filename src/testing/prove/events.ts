// The events that a pipeline publishes, on a stand-in for an Event Hubs namespace: the last event of each document must
// agree with the document.
import { canonical, isObject } from '../../base/json.ts';
import { isOfType, typeRules } from '../../definition/discriminator.ts';
import type { Doc, Pipeline, PublishSpec } from '../../definition/specs.ts';
import { isEmptied } from '../../definition/emptied.ts';
import { ownFields } from '../../definition/oracle/recompute.ts';
import type { PublishedEvent } from '../../emulator/eventhubs/index.ts';
import { valueAt } from '../../model/rules/facts.ts';
import type { Model } from '../../model/model.ts';
import { EventHubSink } from '../../sinks/event-hub.ts';
import type { Asked } from './ask.ts';
import type { ByContainer } from './oracle.ts';

export interface Hubs extends AsyncDisposable {
  readonly sink: (hub: string) => EventHubSink;
  readonly events: (hub: string) => readonly PublishedEvent[];
}

/** Opens a stand-in with each hub that the pipeline publishes to, with two partitions. */
export async function openHubs(publishes: readonly PublishSpec[], seed: number): Promise<Hubs> {
  const { startEventHubs } = await import('../../emulator/eventhubs/index.ts');
  const { EventHubProducerClient } = await import('@azure/event-hubs');
  const names = [...new Set(publishes.map(({ to }) => to))];
  const namespace = await startEventHubs({
    hubs: Object.fromEntries(names.map((name) => [name, { partitions: 2 }])),
    seed,
  });
  const producers = new Map(
    names.map((name) => [name, new EventHubProducerClient(namespace.connectionString, name)] as const),
  );
  return {
    sink: (hub) =>
      new EventHubSink(hub, () => {
        const producer = producers.get(hub);
        return producer ? Promise.resolve(producer) : Promise.reject(new Error(`no hub ${hub}`));
      }),
    events: (hub) => namespace.events(hub),
    [Symbol.asyncDispose]: async () => {
      for (const producer of producers.values()) await producer.close();
      await namespace.close();
    },
  };
}

/** Counts each published document as a row, and finds the first document whose last event is wrong. */
export function askEvents(
  spec: PublishSpec,
  events: readonly PublishedEvent[],
  stored: ByContainer,
  { pipeline, model }: { pipeline: Pipeline; model: Model },
): Asked {
  const rules = typeRules(pipeline.sources, spec.from);
  const paths = model.containers.find(({ name }) => name === spec.from.container)?.partitionKey ?? [];
  const said = new Map<string, { readonly sequence: string; readonly op: string; readonly data: unknown }>();
  const asked = (first?: string): Asked => ({
    runs: events.length,
    rows: said.size,
    ru: 0,
    loaded: 0,
    ...(first !== undefined && { first }),
  });
  /** The content that the last event of a document must have; with a delete mark it is a delete with the document. */
  const due = (raw: Doc): { is: 'due' | 'left out' | 'refused'; op: string; data: unknown } => {
    const own = ownFields(raw);
    try {
      const doc = rules.upcast ? rules.upcast(own) : own;
      const op = isEmptied(raw) || rules.deleted?.(doc) ? 'delete' : 'upsert';
      const is = spec.where && !spec.where(doc) ? 'left out' : 'due';
      const data: unknown = is === 'due' && spec.map ? spec.map(doc) : doc;
      return { is, op, data: JSON.parse(JSON.stringify(data ?? null)) };
    } catch {
      return { is: 'refused', op: '', data: null };
    }
  };
  for (const event of events) {
    const { subject, ...content } = contentOf(spec, event);
    const before = said.get(subject);
    if (before && content.sequence < before.sequence)
      return asked(`${spec.name}: ${subject} has sequence ${content.sequence} after ${before.sequence}`);
    said.set(subject, content);
  }
  const keyOf = (raw: Doc): unknown[] => paths.map((path) => valueAt(raw, path));
  const documents = (stored.get(spec.from.container) ?? [])
    .filter((raw) => isOfType(spec.from.type, rules, raw))
    .map((raw) => ({ key: canonical(keyOf(raw)), subject: canonical([...keyOf(raw), raw['id']]), ...due(raw) }));
  // Millrace parks documents for which the pipeline's functions throw, and with them later changes of their key.
  const waiting = new Set(documents.flatMap(({ key, is }) => (is === 'refused' ? [key] : [])));
  for (const { key, subject, is, op, data } of documents) {
    if (is !== 'due' || (spec.order === 'partitionKey' && waiting.has(key))) continue;
    const last = said.get(subject) ?? { op: 'nothing', data: null };
    if (last.op === op && canonical(last.data) === canonical(data)) continue;
    const [wrong, right] = [last, { op, data }].map((of) => `${of.op} ${canonical(of.data)}`);
    return asked(`${spec.name}: the last event of ${subject} is ${wrong} instead of ${right}`);
  }
  return asked();
}

function contentOf({ format }: PublishSpec, { body, properties }: PublishedEvent) {
  const about: Doc = format === 'raw' ? properties : isObject(body) ? body : {};
  return {
    subject: String(about['subject']),
    sequence: String(about['sequence']),
    op: String(about['op']),
    data: format === 'raw' ? body : about['data'],
  };
}
