// Node --import watched.ts walk.ts KIND: writes one document to the shop on an embedded server, and prints as JSON where its change passes.
import { setTimeout as delay } from 'node:timers/promises';
import { compose } from '../../../src/runtime/processor-host.ts';
import { openStage } from '../stage.ts';
import { stopsOf } from './stops.ts';
import { watch, watched, watchedPosition } from './watched.ts';

const ID = 'order-on-its-way';
const ORDER = {
  id: ID,
  type: 'order',
  storeId: 's1',
  customerId: 'c1',
  placedAt: '2026-01-01T10:00:00.000Z',
  cents: 1200,
};
const HOUR = 3_600_000;

const kind = process.argv[2] ?? 'copy';
await using stage = await openStage();
const { pipeline, ...rest } = stage.loaded;
const projections = pipeline.projections.filter((spec) => spec.kind === kind);
const app = await compose({
  settings: stage.settings,
  services: stage.services,
  loaded: { ...rest, pipeline: { ...pipeline, projections } },
  host: 'way',
  readLagMs: 0,
  // Nothing but the change moves.
  timings: { pollMs: 20, checkpointMs: 1, renewMs: HOUR, acquireMs: HOUR, expirationMs: 4 * HOUR },
});
const isStored = async (): Promise<boolean> => {
  const query = 'SELECT VALUE c.ContinuationToken FROM c';
  const { resources } = await stage.services.global.leases.items.query<string>(query).fetchAll();
  return resources.some((position) => position === watchedPosition());
};
await app.start();
await app.drained(AbortSignal.timeout(60_000));
watch(ID);
await stage.container('Orders').items.create(ORDER);
while (watchedPosition() === undefined || !(await isStored())) await delay(20);
console.log(JSON.stringify(stopsOf(watched())));
await app.stop();
