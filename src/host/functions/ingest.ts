import { type InvocationContext, app } from '@azure/functions';
import { MillraceError } from '../../base/errors.ts';
import { emit } from '../../base/telemetry/diagnostics.ts';
import { isObject } from '../../base/json.ts';
import { Meter } from '../../cosmos/budget/charge-meter.ts';
import { type IngestSpec, projectionId } from '../../pipeline/specs.ts';
import { DeadLetters } from '../../engine/dead-letters/dead-letters.ts';
import type { ErasureWatch } from '../../engine/erasures/watch.ts';
import { ViewControl } from '../../engine/views/view-control.ts';
import { Views } from '../../engine/views/views.ts';
import type { IngestSink } from '../../ingest/sink.ts';
import { type RawEvent, ingestFence, takeEvents, targetOf } from '../../ingest/take.ts';
import { ingestSink } from '../../runtime/hosts/ingest-sink.ts';
import { watchErasures } from '../../runtime/open-engine.ts';
import type { Workspace } from '../../runtime/workspace.ts';
import type { Drain } from './drain.ts';
import { hostError } from '../errors.ts';

/** The binding of an ingest's trigger. */
export const ingestOptions = ({ from, consumerGroup }: IngestSpec) => ({
  connection: 'EVENTHUBS',
  eventHubName: from,
  consumerGroup,
  cardinality: 'many' as const,
  // As bytes: the host's JSON library would rewrite dates, and drop a whole batch for one event that is not JSON.
  dataType: 'binary',
});

/** Registers an Event Hubs trigger for each ingest. The Functions host stores the positions, in its storage account. */
export function registerIngests(ingests: readonly IngestSpec[], workspace: Workspace, drain: Drain): void {
  let opening: Promise<Admission> | undefined;
  const admission = (): Promise<Admission> => {
    const opened = (opening ??= openAdmission(workspace));
    opened.catch(() => (opening = undefined));
    return opened;
  };
  for (const spec of ingests) {
    app.eventHub(`ingest-${spec.name}`, {
      ...ingestOptions(spec),
      // Retries without limit: after the last retry the host would move its checkpoint past the batch.
      retry: {
        strategy: 'exponentialBackoff',
        maxRetryCount: -1,
        minimumInterval: { seconds: 1 },
        maximumInterval: { minutes: 1 },
      },
      handler: async (bodies: unknown, context: InvocationContext): Promise<void> =>
        drain.run(async (signal) => {
          try {
            const { created, duplicates, parked } = await take(
              spec,
              eventsOf(bodies, context),
              workspace,
              await admission(),
              signal,
            );
            context.debug(`${spec.name}: ${created} created, ${duplicates} existed already, ${parked} parked`);
          } catch (error) {
            // The host logs only the message of an error, without the hint.
            if (error instanceof MillraceError && error.hint !== undefined)
              context.error(`${error.message}. ${error.hint}`);
            throw error;
          }
        }),
    });
  }
}

/** What decides which events are taken now. */
interface Admission {
  readonly control: ViewControl;
  readonly erasures: ErasureWatch | undefined;
  readonly sinkOf: (spec: IngestSpec) => IngestSink;
}

async function openAdmission(workspace: Workspace): Promise<Admission> {
  const [loaded, services] = await Promise.all([workspace.pipeline(), workspace.services()]);
  const { pipeline } = loaded;
  const control = new ViewControl(new Views(services.global.state, pipeline.name), pipeline);
  const sinks = new Map<IngestSpec, IngestSink>();
  const parts = { loaded, services, settings: workspace.settings() };
  const sinkOf = (spec: IngestSpec): IngestSink => {
    const known = sinks.get(spec) ?? ingestSink(parts, spec, targetOf(spec, loaded.pipeline, loaded.model));
    sinks.set(spec, known);
    return known;
  };
  return { control, erasures: watchErasures({ loaded, services }), sinkOf };
}

async function take(
  spec: IngestSpec,
  events: readonly RawEvent[],
  workspace: Workspace,
  { control, erasures, sinkOf }: Admission,
  signal: AbortSignal,
) {
  const [{ pipeline, model }, { place }] = await Promise.all([workspace.pipeline(), workspace.services()]);
  const fence = ingestFence(signal, erasures);
  await control.admitEvents(spec.name, fence);
  const access = await sinkOf(spec).open(fence, new Meter(), 'live');
  const target = targetOf(spec, pipeline, model);
  const taken = await takeEvents(spec, target, events, access, await erasures?.current());
  const id = projectionId(spec);
  await new DeadLetters(place.state).park(id, taken.refusals, new Date(), { whole: true, fence });
  for (const { change, error } of taken.refusals)
    emit('engine:parked', { projection: id, container: spec.from, id: change.id, error });
  return { ...taken, parked: taken.refusals.length };
}

/** The host delivers the bodies as one list, and each of the other properties as a list of its own. */
export function eventsOf(
  bodies: unknown,
  { triggerMetadata = {} }: Pick<InvocationContext, 'triggerMetadata'>,
): RawEvent[] {
  const list = Array.isArray(bodies) ? (bodies as RawEvent['body'][]) : [bodies as RawEvent['body']];
  const column = (name: string): readonly unknown[] => {
    const found = triggerMetadata[name];
    return Array.isArray(found) ? found : [];
  };
  const [sequences, offsets, times, keys, properties] = [
    'sequenceNumberArray',
    'offsetArray',
    'enqueuedTimeUtcArray',
    'partitionKeyArray',
    'propertiesArray',
  ].map(column);
  if (sequences?.length !== list.length) {
    // Without sequence numbers, events without an id of their own would all count as the same event.
    const why = `The host delivered ${list.length} events with ${sequences?.length ?? 0} sequence numbers`;
    throw hostError('event-metadata-missing', why);
  }
  const place = triggerMetadata['partitionContext'];
  const partition = text(isObject(place) ? place['partitionId'] : undefined);
  return list.map((body, index) => {
    const key = keys?.[index];
    const own = properties?.[index];
    return {
      body,
      properties: isObject(own) ? own : {},
      ...(typeof key === 'string' && key !== '' ? { partitionKey: key } : {}),
      partition,
      sequence: Number(sequences[index]),
      offset: text(offsets?.[index]),
      enqueuedAt: new Date(text(times?.[index]) || 0),
    };
  });
}

/** Some versions of the extension deliver offsets as numbers, others as text. */
const text = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? `${value}` : '');
