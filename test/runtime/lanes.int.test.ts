// Bulk work marks its requests, and live work doesn't: judged by the requests that leave the process.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { registry } from '../../src/host/registry.ts';
import { operationName } from '../../src/verbs/operation.ts';
import { openWorkspace } from '../../src/runtime/open-workspace.ts';
import { openServices } from '../../src/runtime/services.ts';
import { VERSIONS, live } from '../verbs/projections/versions.ts';
import { type Stage, openStage } from '../support/stage.ts';

/** The marks of the requests on documents of each container, as `priority bucket`. */
const marks = new Map<string, Set<string>>();
const CHANNEL = 'http.client.request.start';
const note = (message: unknown): void => {
  const { request } = message as { readonly request: ClientRequest };
  const [, container] = /\/colls\/([^/]+)\/docs/.exec(request.path) ?? [];
  if (container === undefined) return;
  const mark = ['x-ms-cosmos-priority-level', 'x-ms-cosmos-throughput-bucket'].map((name) => request.getHeader(name));
  marks.set(container, (marks.get(container) ?? new Set()).add(mark.map((value) => value ?? '-').join(' ')));
};

let stage: Stage;
beforeEach(async () => {
  stage = await openStage({}, VERSIONS);
  for (let n = 0; n < 20; n++)
    await stage.container('Orders').items.create({
      id: `o${n}`,
      type: 'order',
      storeId: 's1',
      customerId: `c${n % 7}`,
      placedAt: '2020-01-01T10:00:00.000Z',
      cents: n,
    });
  marks.clear();
  subscribe(CHANNEL, note);
});
afterEach(async () => {
  unsubscribe(CHANNEL, note);
  vi.unstubAllEnvs();
  await stage[Symbol.asyncDispose]();
});

/** Runs an operation as the command line does. */
async function run(name: string, input: object, settings: Readonly<Record<string, string>> = {}): Promise<void> {
  for (const [key, value] of Object.entries({ ...stage.env, ...settings })) vi.stubEnv(key, value);
  const workspace = openWorkspace({ directory: VERSIONS, pipeline: VERSIONS });
  const { signal } = new AbortController();
  const screen = { live: false, line: () => undefined, draw: () => undefined, progress: () => undefined };
  await registry.get(name)?.run(input, { workspace, actor: 'test', signal, screen });
  await workspace.close();
}

it('live hosts send no marks', async () => {
  // Those of the stage send nothing: their server is in this process.
  const services = await openServices(stage.settings);
  const app = await live({ ...stage, services });
  await app.drained(AbortSignal.timeout(30_000));
  await app.stop();
  services.close();
  expect([...marks.values()].flatMap((of) => [...of])).not.toHaveLength(0);
  expect(new Set([...marks.values()].flatMap((of) => [...of]))).toEqual(new Set(['- -']));
});

it('a rebuild marks what it reads and writes of documents, and no lease and no record', async () => {
  await run('projections rebuild', { name: 'summaries@2' }, { BULK_THROUGHPUT_BUCKET: '3' });
  expect(marks.get('Orders')).toEqual(new Set(['Low 3']));
  expect(marks.get('SummariesTwo')).toEqual(new Set(['Low 3']));
  expect(marks.get('leases')).toEqual(new Set(['- -']));
});

it('a verification marks what it reads, without a bucket unless one is set', async () => {
  await run('projections verify', {});
  for (const name of ['Orders', 'Summaries', 'Days']) expect(marks.get(name)).toEqual(new Set(['Low -']));
});

it('the operations that work through whole containers are bulk', () => {
  const bulk = registry.all().filter((of) => of.bulk);
  expect(bulk.map(operationName).toSorted()).toEqual([
    'archive compact',
    'archive expire',
    'archive restore',
    'archive sweep',
    'archive verify',
    'dead-letters redrive',
    'migrate',
    'projections rebuild',
    'projections replay',
    'projections rerun',
    'projections verify',
    'recover',
    'shards merge',
    'shards move',
    'shards split',
    'tenants backfill',
    'tenants erase',
    'tenants export',
    'tenants list',
  ]);
});
