import type { EventHubs } from '../../emulator/index.ts';
import type { EventStep } from '../../pipeline/workload.ts';
import type { Pipeline } from '../../pipeline/specs.ts';
import { untilStopped } from '../../feed/tenure/fences.ts';
import { EventHubSink } from '../../access/event-hub.ts';
import type { HubClients } from '../../access/hub-clients.ts';

/** Starts a stand-in with the event hubs of a pipeline: of its publishes and its ingests. Undefined if it has none. */
export async function startHubs(
  { publishes, ingests }: Pick<Pipeline, 'publishes' | 'ingests'>,
  folder: string | undefined,
): Promise<EventHubs | undefined> {
  const groups = new Map<string, string[]>(publishes.map(({ to }) => [to, []]));
  for (const { from, consumerGroup } of ingests) groups.set(from, [...(groups.get(from) ?? []), consumerGroup]);
  if (groups.size === 0) return undefined;
  const hubs = Object.fromEntries([...groups].map(([name, consumerGroups]) => [name, { consumerGroups }]));
  // A dynamic import, because a deployment doesn't contain the stand-in.
  const { startEventHubs } = await import('../../emulator/eventhubs/index.ts');
  return startEventHubs({ hubs, ...(folder === undefined ? {} : { data: folder }) });
}

/** Bytes that a body may have: the limit of a message, less room for its other parts (quotas: publication size). */
const MAX_EVENT = 1_000_000;

/** Checks an event before it is sent. Returns a text, the reason, if the hub would refuse it. */
export function admitEvent({ hub, send }: EventStep, known: ReadonlySet<string>): string | undefined {
  if (!known.has(hub)) return `the pipeline has no event hub ${hub}`;
  const bytes = Buffer.byteLength(JSON.stringify(send.body) ?? '');
  return bytes > MAX_EVENT
    ? `its body has ${bytes.toLocaleString('en-US')} bytes, more than an event hub accepts`
    : undefined;
}

/** Sends events to their hubs, in order within each key. Resolves when the hubs have stored them. */
export async function sendEvents(steps: readonly EventStep[], hubs: HubClients, signal: AbortSignal): Promise<void> {
  const fence = untilStopped(signal);
  for (const [hub, own] of Map.groupBy(steps, (step) => step.hub)) {
    const messages = own.map(({ send: { body, partitionKey, messageId } }) => ({
      partitionKey,
      event: { body, contentType: 'application/json', ...(messageId === undefined ? {} : { messageId }) },
    }));
    await new EventHubSink(hub, (instead) => hubs.producer(hub, instead)).publish(messages, fence);
  }
}
