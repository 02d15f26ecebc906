// What `model infra` says of a pipeline as data, which infra/ and Terraform's module are made of.
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type PipelineFacts, factsOf } from '../../../src/procedures/apply/infra.ts';
import { loadPipeline } from '../../../src/runtime/pipeline/load-pipeline.ts';
import { cli } from '../../cli/cli.ts';
import { bicepFiles } from '../../infra/bicep.ts';
import { ALL_VERSIONS, SHOP } from '../../support/stage.ts';

const TELEMETRY = join(import.meta.dirname, '../../../examples/telemetry');
const VECTORS = join(import.meta.dirname, '../../fixtures/vectors');
const NAMES = { leases: 'leases', state: 'millrace' };
const containerOf = ({ containers }: PipelineFacts, id: string) =>
  containers.find(({ resource }) => resource.id === id);

let place = '';
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'millrace-infra-'));
});
afterEach(() => rmSync(place, { recursive: true }));

it('`model infra --check --json` prints containers, policies, leases and roles, and writes nothing', async () => {
  const { code, stdout } = await cli(['model', 'infra', SHOP, '--check', '--json', '--out', join(place, 'infra')]);
  expect(code).toBe(1);
  const { infrastructure, written, stale } = JSON.parse(stdout) as {
    infrastructure: PipelineFacts;
    written: boolean;
    stale: string[];
  };
  expect([written, stale.length, readdirSync(place)]).toEqual([false, 2, []]);
  expect(infrastructure).toMatchObject({
    name: 'millrace',
    feeds: [
      { container: 'Orders', leasePrefix: 'millrace.Orders.', mode: 'latest-version' },
      { container: 'Customers', leasePrefix: 'millrace.Customers.', mode: 'latest-version' },
    ],
    awake: [],
    leases: { container: 'leases' },
  });
  await cli(['model', 'infra', SHOP, '--out', join(place, 'infra')]);
  expect(JSON.parse(readFileSync(join(place, 'infra/pipeline.json'), 'utf8'))).toEqual(infrastructure);
});

it('what `model infra` says has the policies of containers: keys, indexes, vectors, time to live, throughput', async () => {
  const loaded = await loadPipeline(VECTORS);
  const [first, ...others] = loaded.model.containers;
  const indexingPolicy = { includedPaths: [{ path: '/*' }], compositeIndexes: [] };
  const changed = {
    ...first!,
    partitionKey: ['/storeId', '/id'],
    indexingPolicy,
    uniqueKeys: [{ paths: ['/number'] }],
    throughput: { kind: 'manual' as const, max: 400 },
  };
  const facts = factsOf({ ...loaded, model: { ...loaded.model, containers: [changed, ...others] } }, NAMES);
  expect(containerOf(facts, first!.name)).toEqual({
    resource: {
      id: first!.name,
      partitionKey: { paths: ['/storeId', '/id'], kind: 'MultiHash', version: 2 },
      indexingPolicy,
      defaultTtl: -1,
      uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/number'] }] },
      vectorEmbeddingPolicy: { vectorEmbeddings: [expect.objectContaining({ path: '/embedding' })] },
    },
    throughput: { kind: 'manual', max: 400 },
  });
  expect(containerOf(facts, 'leases')?.resource.partitionKey.paths).toEqual(['/id']);
});

it('what `model infra` says names why a host must always run', async () => {
  const loaded = await loadPipeline(ALL_VERSIONS);
  const { awake, feeds, containers } = factsOf(loaded, NAMES);
  expect(awake).toEqual(['Orders is read by all versions']);
  expect(feeds).toContainEqual(expect.objectContaining({ container: 'Orders', mode: 'all-versions' }));
  expect(JSON.stringify(containers), 'the resource manager does not know the policy').not.toContain('changeFeedPolicy');
  expect(factsOf(await loadPipeline(TELEMETRY), NAMES).awake).toEqual(['hub device-readings is read']);
});

it('what `model infra` says has the roles that infra/ assigns', async () => {
  const { roles } = factsOf(await loadPipeline(TELEMETRY), NAMES);
  const assigned = new Set(
    bicepFiles().flatMap(({ text }) =>
      [...text.matchAll(/'([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22})'/g)].map(([, id]) => id),
    ),
  );
  expect(roles.filter(({ id }) => !assigned.has(id))).toEqual([]);
  expect(roles.map(({ identity, on, role }) => `${identity}, ${on}: ${role}`)).toEqual([
    'app, database: Cosmos DB Built-in Data Contributor',
    'router, database: Cosmos DB Built-in Data Reader',
    'applier, resourceGroup: Cosmos DB Operator',
    'app, storage: Storage Blob Data Contributor',
    'app, eventHubs: Azure Event Hubs Data Sender',
    'app, eventHubs: Azure Event Hubs Data Receiver',
  ]);
});
