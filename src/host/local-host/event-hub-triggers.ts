import { hostname } from 'node:os';
import { UsageError } from '../../base/errors.ts';
import { type Settings, loadSettings } from '../../base/settings.ts';
import { HubReader, type HubReaderOptions } from '../../ingest/hub-reader.ts';
import { hubFailure } from '../../sinks/event-hub.ts';
import { eventHubs } from '../../runtime/event-hubs.ts';
import type { HubHostSettings } from './app-files.ts';
import type { RunningTrigger } from './cosmos-triggers.ts';
import type { FunctionMetadata, Invocation, RetryOptions } from './core.ts';
import { type EventShape, invocationOf } from './event-hub-data.ts';
import { resolveNames } from './names.ts';
import { refuseShared } from './refuse-shared.ts';
import { type RetryingOptions, retrying } from './retrying.ts';

/** An Event Hubs trigger with its settings put in. */
export interface EventHubTrigger extends EventShape {
  readonly name: string;
  /** The setting that its namespace comes from. */
  readonly connection: string;
  readonly settings: Pick<Settings, 'eventHubs' | 'storage'>;
  readonly hub: string;
  readonly consumerGroup: string;
  readonly retry: RetryOptions | undefined;
}

/** Where the host keeps how far it is, so that it and this one can take turns. */
const POSITIONS = 'azure-webjobs-eventhub';
const STORAGE = 'AzureWebJobsStorage';

export const eventHubTrigger = ({ bindings }: FunctionMetadata) =>
  Object.values(bindings).find(({ type }) => String(type).toLowerCase() === 'eventhubtrigger');

/**
 * The Event Hubs triggers of an app, ready to be run.
 * @throws UsageError `setting-missing`, `setting-invalid`, `consumer-group-twice`
 */
export function eventHubTriggers(
  functions: readonly FunctionMetadata[],
  environment: NodeJS.ProcessEnv,
): EventHubTrigger[] {
  const triggers = functions.flatMap((of) => {
    const binding = eventHubTrigger(of);
    return binding ? [read(of, binding, environment)] : [];
  });
  refuseShared(
    triggers,
    ({ settings, hub, consumerGroup }) =>
      JSON.stringify([settings.eventHubs?.account, hub, consumerGroup]).toLowerCase(),
    (one, { name, hub, consumerGroup }) =>
      new UsageError(
        'consumer-group-twice',
        `${one.name} and ${name} read ${hub} in consumer group ${consumerGroup}: each would get the events of half the partitions`,
        { mend: 'Give each a consumer group of its own.' },
      ),
  );
  return triggers;
}

function read(
  { name, retryOptions }: FunctionMetadata,
  binding: Readonly<Record<string, unknown>>,
  environment: NodeJS.ProcessEnv,
): EventHubTrigger {
  const text = (field: string, fallback = ''): string => {
    const value = binding[field];
    return typeof value === 'string' && value !== '' ? resolveNames(value, environment, name) : fallback;
  };
  const connection = text('connection');
  const dataType = text('dataType');
  return {
    name,
    connection,
    settings: settingsOf(connection, environment),
    hub: text('eventHubName'),
    consumerGroup: text('consumerGroup', '$Default'),
    cardinality: text('cardinality') === 'many' ? 'many' : 'one',
    dataType: dataType === 'binary' || dataType === 'string' ? dataType : 'json',
    retry: retryOptions,
  };
}

/** A connection's settings, and those of the host's storage, under their own names, read by the rules of EVENTHUBS and STORAGE. */
function settingsOf(connection: string, environment: NodeJS.ProcessEnv): EventHubTrigger['settings'] {
  const account = environment[`${STORAGE}__accountName`];
  const processEnv = {
    // The host takes a connection string that names a hub; the binding has named it already.
    EVENTHUBS: environment[connection]?.replace(/;?\s*EntityPath=[^;]*/i, ''),
    EVENTHUBS__fullyQualifiedNamespace: environment[`${connection}__fullyQualifiedNamespace`],
    STORAGE: environment[STORAGE],
    STORAGE__blobServiceUri:
      environment[`${STORAGE}__blobServiceUri`] ?? (account && `https://${account}.blob.core.windows.net`),
    CHECKPOINTS_CONTAINER: POSITIONS,
    COSMOS__accountEndpoint: 'https://none.invalid/',
    COSMOS_DATABASE: 'none',
  };
  const { eventHubs: namespace, storage } = named(connection, () => loadSettings({ processEnv }));
  if (!storage) {
    throw new UsageError('setting-missing', `The setting ${STORAGE} is missing; the host keeps there how far it is`, {
      mend: 'Put it into "Values" of local.settings.json: UseDevelopmentStorage=true, with Azurite running.',
    });
  }
  return { ...(namespace && { eventHubs: namespace }), storage };
}

/** Says of errors the names that the app's settings have. */
function named<T>(connection: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw renamed(error, connection);
  }
}

function renamed(error: unknown, connection: string): unknown {
  if (!(error instanceof UsageError)) return error;
  const words = (text: string): string =>
    text.replaceAll(/\bEVENTHUBS(?=\b|_)/g, connection).replaceAll(/\bSTORAGE(?=\b|_)/g, STORAGE);
  const { code, message, mend, cause } = error;
  return new UsageError(code, words(message), { cause, ...(mend === undefined ? {} : { mend: words(mend) }) });
}

export interface EventHubTriggersOptions extends RetryingOptions {
  readonly host: HubHostSettings;
  /** Runs a function; rejects when it does. `count`: how many events it is given. */
  readonly deliver: (name: string, invocation: Invocation, count: number) => Promise<void>;
}

/**
 * Reads a hub for a trigger by the reader of our own ingests, with positions in the form and the place that the host
 * would use, so that both can take turns.
 * @throws UsageError `event-hub-missing`, `event-hub-denied`, `event-hubs-unreachable`, `checkpoints-unavailable`
 */
export async function runEventHubTrigger(
  trigger: EventHubTrigger,
  options: EventHubTriggersOptions,
): Promise<RunningTrigger> {
  const { name, connection, hub, consumerGroup } = trigger;
  const clients = eventHubs(trigger.settings);
  const reader = new HubReader({
    hubs: clients,
    hub,
    consumerGroup,
    host: `local-${hostname()}`,
    batch: options.host.maxEventBatchSize,
    start: options.host.start,
    handle: handlerOf(trigger, options),
    failed: (error, partition) => {
      const told = hubFailure(error, `${hub} (consumer group ${consumerGroup})`) ?? error;
      options.say(
        `${name}, partition ${partition || 'of none'}: ${told instanceof Error ? told.message : String(told)}`,
      );
    },
  });
  try {
    await reader.start();
  } catch (error) {
    await clients.close();
    throw renamed(error, connection);
  }
  return {
    name,
    [Symbol.asyncDispose]: async () => {
      await reader.stop();
      await clients.close();
    },
  };
}

function handlerOf(trigger: EventHubTrigger, options: EventHubTriggersOptions): HubReaderOptions['handle'] {
  const { name, hub, consumerGroup, cardinality, retry } = trigger;
  return async (events, partition) => {
    const batches = cardinality === 'many' ? [events] : events.map((event) => [event]);
    for (const batch of batches) {
      const what = `${batch.length} ${batch.length === 1 ? 'event' : 'events'} of partition ${partition}`;
      await retrying({ name, retry, what }, options, (retryCount) => {
        const invocation = invocationOf(batch, trigger, { hub, consumerGroup, partition });
        return options.deliver(name, { ...invocation, ...(retryCount > 0 && { retryCount }) }, batch.length);
      });
    }
  };
}
