import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { ContainerClient } from '@azure/storage-blob';
import type { JSONObject } from '@azure/cosmos';
import { systemClock } from '../../../src/base/clock.ts';
import { Meter } from '../../../src/cosmos/budget/charge-meter.ts';
import type { Doc } from '../../../src/pipeline/specs.ts';
import { DeadLetters } from '../../../src/engine/dead-letters/dead-letters.ts';
import { letterBodies } from '../../../src/engine/dead-letters/letter-bodies.ts';
import { CosmosDeferredStore } from '../../../src/engine/deferred/cosmos-store.ts';
import { REGISTER, type Register, bundleId, headId } from '../../../src/engine/deferred/documents.ts';
import { written } from '../../../src/engine/deferred/store.ts';
import { ErasureRecords } from '../../../src/engine/erasures/record.ts';
import type { Change } from '../../../src/feed/reading/change.ts';
import { untilStopped } from '../../../src/feed/tenure/fences.ts';
import type { Jobs } from '../../../src/jobs/jobs.ts';
import { audited } from '../../../src/procedures/journal/runs.ts';
import { askedTenant } from '../../../src/procedures/tenants/tenant-flag.ts';
import type { EraseOptions } from '../../../src/procedures/erase/erase.ts';
import { EffectRecords } from '../../../src/kinds/effects/records.ts';
import { storeToErase } from '../../../src/runtime/archives.ts';
import { compose } from '../../../src/runtime/hosts/processor-host.ts';
import { CosmosAccess } from '../../../src/access/cosmos-access.ts';
import { cli } from '../../cli/cli.ts';
import type { Stage } from '../../support/stage.ts';

/** A pipeline with every kind of derived document. */
export const ERASE = join(import.meta.dirname, '../../fixtures/erase');
/** Unlike every other text of the tests. */
export const GONE = 'leaving-store';
export const STAYS = 'staying-store';

/** The documents of a store: some go to the archive. The ids are those of other stores too. */
export const documentsOf = (storeId: string): [string, Doc & { id: string }][] => [
  ['Stores', { id: storeId, type: 'store', storeId, name: `Store ${storeId}` }],
  ...['c1', 'c2'].map((id): [string, Doc & { id: string }] => [
    'Customers',
    { id, type: 'customer', storeId, name: `${id} of ${storeId}` },
  ]),
  ...Array.from({ length: 8 }, (_, n): [string, Doc & { id: string }] => [
    'Orders',
    {
      id: `${storeId}-o${n}`,
      type: 'order',
      storeId,
      // Both stores have orders in the partitions of the container.
      customerId: `c${1 + (n % 2)}`,
      placedAt: `2026-0${1 + (n % 3)}-0${1 + (n % 2)}T10:00:00.000Z`,
      cents: 100 + n,
    },
  ]),
];

const { signal } = new AbortController();
const accessOf = ({ services }: Stage) => new CosmosAccess(services.place.database, untilStopped(signal), new Meter());

/** Stores documents of both stores, derives everything, moves old orders to the archive, and adds every other record. */
export async function fill(stage: Stage, stores: readonly string[] = [GONE, STAYS]): Promise<void> {
  await stage.container('Countries').items.upsert({ id: 'AT', type: 'country', region: 'eu', name: 'Austria' });
  for (const storeId of stores)
    for (const [container, document] of documentsOf(storeId)) await stage.container(container).items.upsert(document);
  const app = await compose({ ...stage, host: 'test', readLagMs: 0, timings: { pollMs: 40 } });
  await app.start();
  await app.drained(AbortSignal.timeout(60_000));
  await app.stop();
  const { code, stderr } = await cli(['archive', 'sweep']);
  if (code !== 0) throw new Error(stderr);
  for (const storeId of stores) await addRecords(stage, storeId);
}

const changeOf = (storeId: string, id: string, more: Doc = {}): Change => ({
  container: 'Orders',
  key: ['c1'],
  id: `${storeId}-${id}`,
  type: 'order',
  tenant: storeId,
  version: { epoch: 1, lsn: 1, etag: 'e' },
  at: 1,
  op: 'upsert',
  doc: { id: `${storeId}-${id}`, type: 'order', storeId, customerId: 'c1', ...more },
});

/** What hosts and operators leave in the state container. */
async function addRecords(stage: Stage, storeId: string): Promise<void> {
  const { state } = stage.services.place;
  const access = accessOf(stage);
  const refused = (change: Change) => ({
    change,
    error: { code: 'refused', message: `Refused for ${storeId}` } as never,
  });
  const park = (letters: DeadLetters, change: Change): Promise<void> =>
    letters.park('days@1', [refused(change)], new Date(), { whole: true });
  await park(new DeadLetters(state), changeOf(storeId, 'small'));
  await park(new DeadLetters(state), changeOf(storeId, 'parts', { text: 'x'.repeat(700_000) }));
  await park(
    new DeadLetters(state, letterBodies(stage.services)),
    changeOf(storeId, 'blob', { text: 'y'.repeat(1_100_000) }),
  );
  // A crash left these without their letter.
  const text = JSON.stringify(changeOf(storeId, 'orphan'));
  const bytes = Buffer.from(text).toString('base64');
  await state.items.create({
    id: `${storeId.slice(0, 2)}.0`,
    pk: 'dead-letters|days@1',
    kind: 'dead-letter-part',
    bytes,
  });
  await letterBodies(stage.services).put(text);
  await new EffectRecords({ stateContainer: 'millrace', projection: 'out@1', ignored: () => [] }).baseline(
    [changeOf(storeId, 'o0'), changeOf(storeId, 'o2')],
    access,
  );
  const context = { workspace: { services: async () => stage.services } as never, actor: 'test' };
  await audited(context, 'archive sweep', { tenant: storeId }, async () => ({ tenants: [storeId] }));
  await state.items.create({ id: storeId, pk: 'status', type: 'millrace.status', tenants: [{ tenant: storeId }] });
  await defer(stage, storeId);
}

/** Defers a change of the store. Hosts drain it. */
export async function defer(
  {
    services: {
      place: { state },
    },
  }: Stage,
  storeId: string,
): Promise<void> {
  const deferred = new CosmosDeferredStore(
    state,
    { pipeline: 'erase', source: 'Orders' },
    untilStopped(signal),
    new Meter(),
  );
  const register = await deferred.read<Register>(REGISTER);
  const queue = { id: `q-${storeId.slice(0, 2)}`, tenant: storeId, min: '', max: 'FF' };
  const body: Register = { id: REGISTER, owners: [], queues: [...(register?.body.queues ?? []), queue] };
  const { doc: _, ...item } = changeOf(storeId, 'o1');
  await deferred.commit([
    written(body, register),
    written({ id: headId(queue.id), first: 0, next: 1 }, undefined),
    written({ id: bundleId(queue.id, 0), items: [item] }, undefined),
  ]);
}

/** Without a wait: no host runs. */
export async function eraseOptions(stage: Stage, jobs?: Jobs, of = GONE): Promise<EraseOptions> {
  const { services, loaded, settings } = stage;
  const records = new ErasureRecords(services.place.state, loaded.pipeline.name);
  return {
    loaded,
    services,
    settings,
    asked: askedTenant(loaded, of),
    store: await storeToErase(services, signal),
    jobs,
    tables: undefined,
    places: async () => ({
      all: [{ services, access: accessOf(stage), containers: loaded.model.containers }],
      detached: [],
    }),
    assertStill: async () => undefined,
    readLagMs: 0,
    clock: systemClock,
    signal,
    records,
    record: await records.begin(of, Date.now()),
    actor: 'test',
    stopped: async () => undefined,
    passed: async () => undefined,
  };
}

/** Everything that is stored, as text: each document with its place, each blob unpacked, each name of a blob. */
export async function everything(stage: Stage, blobs: ContainerClient): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const { services, loaded } = stage;
  const containers = [
    ...loaded.model.containers.map(({ name }) => services.place.database.container(name)),
    services.place.state,
    services.global.leases,
  ];
  for (const container of containers) {
    const parts: { name: string; n: number; bytes: string }[] = [];
    for (const document of (await container.items.readAll<JSONObject & { id: string }>().fetchAll()).resources) {
      const { _etag, _ts, _rid, _self, _attachments, ...rest } = document as Record<string, unknown>;
      found.set(
        `${container.id}/${JSON.stringify(rest['pk'] ?? '')}/${document.id}/${String(_rid)}`,
        JSON.stringify(rest),
      );
      const [, name, n] = /^(.*)\.(\d+)$/.exec(document.id) ?? [];
      if (rest['kind'] === 'dead-letter-part') parts.push({ name: name!, n: Number(n), bytes: String(rest['bytes']) });
    }
    for (const [name, of] of Map.groupBy(parts, (part) => part.name)) {
      const whole = of.toSorted((a, b) => a.n - b.n).map(({ bytes }) => Buffer.from(bytes, 'base64'));
      found.set(`parts ${name}`, Buffer.concat(whole).toString());
    }
  }
  for await (const { name } of blobs.listBlobsFlat()) {
    const bytes = await blobs.getBlobClient(name).downloadToBuffer();
    found.set(`blob ${name}`, (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString());
  }
  return found;
}

/** The places whose name or text has the tenant anywhere. */
export const naming = (all: ReadonlyMap<string, string>, tenant: string): string[] =>
  [...all].filter(([place, text]) => place.includes(tenant) || text.includes(tenant)).map(([place]) => place);
