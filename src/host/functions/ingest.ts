import { type InvocationContext, app } from '@azure/functions';
import { MillraceError } from '../../base/errors.ts';
import { emit } from '../../base/diagnostics.ts';
import { isObject } from '../../base/json.ts';
import { Meter } from '../../cosmos/meter.ts';
import { spendingOf } from '../../cosmos/spending.ts';
import { type IngestSpec, projectionId } from '../../definition/specs.ts';
import { DeadLetters } from '../../engine/dead-letters/dead-letters.ts';
import { ViewControl } from '../../engine/views/view-control.ts';
import { Views } from '../../engine/views/views.ts';
import { sinkContainer } from '../../engine/runners.ts';
import { untilStopped } from '../../feed/tenure/fences.ts';
import { type RawEvent, takeEvents } from '../../ingest/take.ts';
import type { Workspace } from '../../runtime/workspace.ts';
import { CosmosSession } from '../../sinks/cosmos-session.ts';
import type { Drain } from './drain.ts';

/** What the host is told of an ingest's trigger. */
export const ingestOptions = ({ from, consumerGroup }: IngestSpec) => ({
  connection: 'EVENTHUBS',
  eventHubName: from,
  consumerGroup,
  cardinality: 'many' as const,
  // As bytes: the host's JSON library would rewrite dates, and give up a batch for one event that is no JSON.
  dataType: 'binary',
});

/** Registers an Event Hubs trigger for each ingest. Positions are the host's, in its own storage account. */
export function registerIngests(ingests: readonly IngestSpec[], workspace: Workspace, drain: Drain): void {
  let opening: Promise<ViewControl> | undefined;
  const control = (): Promise<ViewControl> => {
    const opened = (opening ??= openControl(workspace));
    opened.catch(() => (opening = undefined));
    return opened;
  };
  for (const spec of ingests) {
    app.eventHub(`ingest-${spec.name}`, {
      ...ingestOptions(spec),
      // Never gives up: the host would move its checkpoint past the batch.
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
              await control(),
              signal,
            );
            context.debug(`${spec.name}: ${created} created, ${duplicates} there already, ${parked} parked`);
          } catch (error) {
            // The host shows a message alone, and would show it without the mend.
            if (error instanceof MillraceError && error.mend !== undefined)
              context.error(`${error.message}. ${error.mend}`);
            throw error;
          }
        }),
    });
  }
}

async function openControl(workspace: Workspace): Promise<ViewControl> {
  const [{ pipeline }, { state }] = await Promise.all([workspace.pipeline(), workspace.services()]);
  return new ViewControl(new Views(state, pipeline.name), pipeline.projections);
}

async function take(
  spec: IngestSpec,
  events: readonly RawEvent[],
  workspace: Workspace,
  control: ViewControl,
  signal: AbortSignal,
) {
  const [{ model }, { database, state }] = await Promise.all([workspace.pipeline(), workspace.services()]);
  const fence = untilStopped(signal);
  await control.admitEvents(spec.name, fence);
  const session = new CosmosSession(database, fence, new Meter(), spendingOf(database, 'live'));
  const taken = await takeEvents(spec, sinkContainer(spec.into.container, model), events, session);
  const id = projectionId(spec);
  await new DeadLetters(state).park(id, taken.refusals, new Date(), { whole: true, fence });
  for (const { change, error } of taken.refusals)
    emit('engine:parked', { projection: id, container: spec.from, id: change.id, error });
  return { ...taken, parked: taken.refusals.length };
}

/** The host hands bodies over as one list, and what else it knows of them as one list a property. */
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
    // Told apart by nothing, events without an id of their own would be taken for one.
    const why = `The host delivered ${list.length} events with ${sequences?.length ?? 0} sequence numbers`;
    throw new MillraceError('event-metadata-missing', why, {
      mend: 'Use version 5 or later of the Event Hubs extension.',
    });
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

/** Offsets come as numbers from one version of the extension, as text from another. */
const text = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? `${value}` : '');
