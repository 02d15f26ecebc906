import { hostname } from 'node:os';
import { UsageError } from '../../base/errors.ts';
import { type Settings, loadSettings } from '../../base/settings.ts';
import { HubReader, type HubReaderOptions } from '../../ingest/hub-reader.ts';
import { hubFailure } from '../../access/event-hub.ts';
import { eventHubs } from '../../runtime/event-hubs.ts';
import type { HubHostSettings } from './app-files.ts';
import type { RunningTrigger } from './cosmos-triggers.ts';
import type { FunctionMetadata, Invocation, TriggerRetryOptions } from './core.ts';
import { type EventShape, invocationOf } from './event-hub-data.ts';
import { resolveNames } from './names.ts';
import { refuseShared } from './refuse-shared.ts';
import { type RetryingOptions, retrying } from './retrying.ts';
import { hostError } from '../errors.ts';
import { sharedError } from '../../base/shared-errors.ts';

/** An Event Hubs trigger, with the values of its settings. */
export interface EventHubTrigger extends EventShape {
  readonly name: string;
  /** The setting that names its namespace. */
  readonly connection: string;
  readonly settings: Pick<Settings, 'eventHubs' | 'storage'>;
  readonly hub: string;
  readonly consumerGroup: string;
  readonly retry: TriggerRetryOptions | undefined;
}

/** The container of the Functions host's checkpoints, so that either host can resume where the other stopped. */
const POSITIONS = 'azure-webjobs-eventhub';
const STORAGE = 'AzureWebJobsStorage';

export const eventHubTrigger = ({ bindings }: FunctionMetadata) =>
  Object.values(bindings).find(({ type }) => String(type).toLowerCase() === 'eventhubtrigger');

/**
 * The Event Hubs triggers of an app, ready to run.
 * @throws UsageError `setting-missing`, `setting-invalid`, `app-invalid`
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
      hostError(
        'app-invalid',
        `${one.name} and ${name} read ${hub} in consumer group ${consumerGroup}: each would get the events of half the partitions`,
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

/** Reads the settings of the connection and of the host's storage by the rules of EVENTHUBS and STORAGE. */
function settingsOf(connection: string, environment: NodeJS.ProcessEnv): EventHubTrigger['settings'] {
  const account = environment[`${STORAGE}__accountName`];
  const processEnv = {
    // The Functions host accepts a connection string that names a hub, but the binding's name decides.
    EVENTHUBS: environment[connection]?.replace(/(?:;\s*)?EntityPath=[^;]*/i, ''),
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
    throw sharedError('setting-missing', `The setting ${STORAGE} is missing; the host stores its checkpoints there`, {
      hint: 'Put it into "Values" of local.settings.json, for example UseDevelopmentStorage=true with Azurite running.',
    });
  }
  return { ...(namespace && { eventHubs: namespace }), storage };
}

/** Runs `run`, and makes its errors name the app's settings instead of EVENTHUBS and STORAGE. */
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
  const { code, message, hint = '', cause } = error;
  return UsageError.from({ code, message: words(message), hint: words(hint) }, { cause });
}

export interface EventHubTriggersOptions extends RetryingOptions {
  readonly host: HubHostSettings;
  /** Runs a function; rejects when it rejects. `count`: how many events it gets. */
  readonly deliver: (name: string, invocation: Invocation, count: number) => Promise<void>;
}

/**
 * Reads a hub for a trigger with the reader of Millrace's ingests. The checkpoints have the form and the place of the
 * Functions host's, so that either host can resume where the other stopped.
 * @throws UsageError `missing`, `denied`, `unreachable`
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
      const known = hubFailure(error, `${hub} (consumer group ${consumerGroup})`) ?? error;
      const where = partition === '' ? name : `${name}, partition ${partition}`;
      options.say(`${where}: ${known instanceof Error ? known.message : String(known)}`);
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
