// What a pipeline publishes, on a stand-in for an Event Hubs namespace: the last event of each document says what the
// document is now.
import { EventHubProducerClient } from '@azure/event-hubs';
import { canonical, isObject } from '../../base/json.ts';
import { isOfType, typeRules } from '../../definition/discriminator.ts';
import type { Doc, Pipeline, PublishSpec } from '../../definition/kinds.ts';
import { ownFields } from '../../definition/recompute.ts';
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

/** One hub of two partitions for each that is published to. */
export async function openHubs(publishes: readonly PublishSpec[], seed: number): Promise<Hubs> {
  const { startEventHubs } = await import('../../emulator/eventhubs/index.ts');
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

/** One row a document that was published, and the first whose events say something else. */
export function askEvents(
  spec: PublishSpec,
  events: readonly PublishedEvent[],
  stored: ByContainer,
  { pipeline, model }: { pipeline: Pipeline; model: Model },
): Asked {
  const rules = typeRules(pipeline.sources, spec.from);
  const paths = model.containers.find(({ name }) => name === spec.from.container)?.partitionKey ?? [];
  const said = new Map<string, { readonly sequence: string; readonly data: unknown }>();
  const asked = (first?: string): Asked => ({
    runs: events.length,
    rows: said.size,
    ru: 0,
    loaded: 0,
    ...(first !== undefined && { first }),
  });
  for (const event of events) {
    const { subject, sequence, data } = contentOf(spec, event);
    const before = said.get(subject);
    if (before && sequence < before.sequence)
      return asked(`${spec.name}: ${subject} says ${sequence} after ${before.sequence}`);
    said.set(subject, { sequence, data });
  }
  for (const raw of stored.get(spec.from.container) ?? []) {
    if (!isOfType(spec.from.type, rules, raw)) continue;
    const own = ownFields(raw);
    const doc = rules.upcast ? rules.upcast(own) : own;
    const subject = canonical([...paths.map((path) => valueAt(raw, path)), raw['id']]);
    const last = said.get(subject);
    const gone = rules.deleted?.(doc) ?? false;
    if (!gone && spec.where && !spec.where(doc)) continue;
    const wanted = gone ? null : (spec.map?.(doc) ?? doc);
    // What was never published needn't be taken back.
    if (gone && !last) continue;
    if (canonical(last?.data ?? null) !== canonical(JSON.parse(JSON.stringify(wanted))))
      return asked(
        `${spec.name}: ${subject} says ${canonical(last?.data ?? null)} where ${canonical(wanted)} is right`,
      );
  }
  return asked();
}

function contentOf({ format }: PublishSpec, { body, properties }: PublishedEvent) {
  const about: Doc = format === 'raw' ? properties : isObject(body) ? body : {};
  return {
    subject: String(about['subject']),
    sequence: String(about['sequence']),
    data: format === 'raw' ? body : about['data'],
  };
}
