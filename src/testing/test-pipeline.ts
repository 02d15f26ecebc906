import { CosmosClient } from '@azure/cosmos';
import type { Model } from '../model/model.ts';
import type { Doc, Pipeline } from '../pipeline/specs.ts';
import { loadPipeline } from '../runtime/pipeline/load-pipeline.ts';
import { layoutsOf, withTables } from '../runtime/tables.ts';
import { openTables } from './tables.ts';
import { planModel } from '../procedures/apply/apply.ts';
import type { ShardLocation } from '../shards/map/documents.ts';
import type { Services } from '../runtime/workspace.ts';
import { Scenario } from './scenario.ts';
import { ScenarioSends } from './sends.ts';
import type { AnyModel, Documents } from './documents.ts';
import { type LikeOptions, documentsLike } from './documents-like.ts';
import { sharedError } from '../base/shared-errors.ts';

/** A pipeline on an embedded server of its own, for all scenarios of a test file. */
export interface TestPipeline<M extends object = AnyModel> extends AsyncDisposable {
  readonly pipeline: Pipeline;
  readonly model: Model;
  /** Begins a scenario in an empty database, with these documents and everything that is derived from them. */
  given(documents?: Documents<M>): Scenario<M>;
  /**
   * Random documents like the examples of a type, for properties that must hold for any document.
   * @throws UsageError `not-found`
   */
  like<C extends keyof M & string>(container: C, type: keyof M[C] & string, options?: LikeOptions): Doc[];
  close(): Promise<void>;
}

const LAG_MS = 10;

/** Deliveries read each feed as one range, so throughput must not divide a container into several. */
export const onePartitionEach = (model: Model): Model => ({
  ...model,
  containers: model.containers.map((container) => {
    const { throughput, ...rest } = container;
    return throughput ? rest : container;
  }),
});

/**
 * Opens the pipeline of a folder for tests, with the containers of its model, in memory, in this process.
 * `testPipeline<typeof m>(folder)`, with the `m` of model.ts: a container that isn't in the model doesn't compile.
 * @throws UsageError for the same problems as `millrace dev`
 */
export async function testPipeline<M extends object = AnyModel>(folder: string): Promise<TestPipeline<M>> {
  const { pipeline, model: stated } = await loadPipeline(folder);
  const model = onePartitionEach(stated);
  const { startEmulator } = await import('../emulator/index.ts');
  const emulator = await startEmulator();
  const client = new CosmosClient({ ...emulator.clientOptions, consistencyLevel: 'Session' });
  const tables = pipeline.effects.some(({ kind }) => kind === 'table') ? await openTables() : undefined;
  // Tests cover what is written to containers and tables: this kit sweeps no archive, publishes and ingests no events.
  const sends = new ScenarioSends({ ...pipeline, archives: [], publishes: [], ingests: [] });
  const written = { folder, model, pipeline: sends.pipeline };
  const loaded = tables ? withTables(written, tables.database) : written;
  let scenarios = 0;
  let before: Promise<unknown> = Promise.resolve();
  const alone = <T>(work: () => Promise<T>): Promise<T> => {
    const own = before.then(work, work);
    before = own.catch(() => undefined);
    return own;
  };
  const close = async (): Promise<void> => {
    await tables?.[Symbol.asyncDispose]();
    client.dispose();
    await emulator.close();
  };
  return {
    pipeline,
    model,
    given: (documents = {}) => {
      scenarios += 1;
      const services = servicesOn(client, { endpoint: emulator.endpoint, database: `scenario-${scenarios}` });
      const prepare = async (): Promise<void> => {
        for (const step of await planModel(loaded, services)) await step.apply();
        await tables?.prepare(layoutsOf(loaded));
        await sends.prepare();
      };
      const lag = (on: boolean): void => emulator.faults(on ? { replicaLagMs: LAG_MS / 2 } : {});
      const shared = { ...(tables && { tables }), ...((tables ?? sends.any) && { alone }) };
      return new Scenario<M>({ loaded, services, prepare, lag, lagMs: LAG_MS, ...shared }, documents);
    },
    like: (container, type, options) => {
      const of = model.containers.find(({ name }) => name === container);
      const found = of?.types.find(({ name }) => name === type);
      if (of && found) return documentsLike(of, found, options);
      throw sharedError('not-found', `model.ts has no ${container}/${type}`);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/**
 * The services of an embedded server for operations, without blobs and event hubs.
 * @internal
 */
export function servicesOn(cosmos: CosmosClient, { endpoint, database: name }: Required<ShardLocation>): Services {
  const database = cosmos.database(name);
  const state = database.container('millrace');
  const place = { endpoint, database, state };
  const services: Services = {
    place,
    global: { home: place, state, leaseDatabase: database, leases: database.container('leases') },
    places: { connect: (location) => cosmos.database(location.database) },
    at: async (location) => servicesOn(cosmos, { endpoint, ...location }),
    inBulk: async () => services,
    blobs: () => absent('blob storage'),
    hubs: {
      producer: () => absent('event hubs'),
      consumer: () => absent('event hubs'),
      check: () => absent('event hubs'),
      positions: () => absent('event hubs'),
    },
  };
  return services;
}

const absent = (what: string): never => {
  throw sharedError('unsupported', `A test pipeline has no ${what}`, { hint: 'Use `millrace dev`, which has it.' });
};
