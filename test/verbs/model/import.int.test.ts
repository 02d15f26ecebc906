// An account that exists, as it is found in production, becomes a model, and a pipeline over the model runs.
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ContainerRequest, PartitionKeyDefinitionVersion, PartitionKeyKind } from '@azure/cosmos';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { containerDefinitions, diffContainer } from '../../../src/model/container-definitions.ts';
import { loadPipeline } from '../../../src/runtime/pipeline/load-pipeline.ts';
import { liveContainers } from '../../../src/procedures/apply/live.ts';
import { cli } from '../../cli/cli.ts';
import { SOURCES, millrace } from '../../support/process.ts';
import { type Stage, openStage } from '../../support/stage.ts';

const ROOT = join(import.meta.dirname, '../../..');
const { signal } = new AbortController();

let stage: Stage;
let root: string;
let count = 0;

const CONTAINERS: readonly ContainerRequest[] = [
  {
    id: 'Shop-Orders',
    partitionKey: {
      paths: ['/tenantId', '/customer/id'],
      kind: PartitionKeyKind.MultiHash,
      version: PartitionKeyDefinitionVersion.V2,
    },
    defaultTtl: -1,
    uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/number'] }] },
    throughput: 4_000,
  },
  { id: 'People', partitionKey: { paths: ['/tenantId'] } },
  {
    id: 'Notes',
    partitionKey: { paths: ['/id'] },
    indexingPolicy: {
      automatic: true,
      indexingMode: 'consistent',
      includedPaths: [{ path: '/tenantId/?' }],
      excludedPaths: [{ path: '/*' }],
      compositeIndexes: [
        [
          { path: '/tenantId', order: 'ascending' },
          { path: '/at', order: 'descending' },
        ],
      ],
    } as never,
  },
  { id: 'processor-leases', partitionKey: { paths: ['/id'] } },
];

const person = (n: number, more: object = {}): object => ({
  id: `3f2504e0-4f89-41d3-9a0c-0305e82c330${n}`,
  docType: 'Person',
  tenantId: 'acme-17',
  Name: `Ada Lovelace ${n}`,
  Mail: n % 2 === 0 ? null : `ada${n}@example.com`,
  BornOn: n === 1 ? '0001-01-01T00:00:00' : `198${n}-03-17T00:00:00`,
  Salary: 48_211 + n,
  ...more,
});

const order = (n: number, more: object = {}): object => ({
  id: `A-2026-${n}`,
  type: 'order',
  tenantId: 'acme-17',
  number: 70_211 + n,
  customer: { id: `3f2504e0-4f89-41d3-9a0c-0305e82c330${n % 5}`, name: 'Ada Lovelace' },
  placedAt: `2026-03-0${1 + (n % 7)}T10:15:0${n % 10}.123Z`,
  personId: `3f2504e0-4f89-41d3-9a0c-0305e82c330${n % 5}`,
  lines: [
    { sku: `sku-${n}`, quantity: n, parts: [{ code: `secret-${n}` }, { code: null, weight: 12.75 }] },
    { sku: 'sku-0', quantity: 1, parts: [] },
  ],
  ...more,
});

const DOCUMENTS: Readonly<Record<string, readonly object[]>> = {
  'Shop-Orders': [
    ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => order(n)),
    order(10, { customer: { id: '3f2504e0-4f89-41d3-9a0c-0305e82c3303' }, lines: [], couponCode: 'SPRING' }),
    order(11, { number: 'X-9', prices: { 'ada@example.com': 12, '2026-03-01': 40 } }),
    {
      id: 'r1',
      type: 'refund',
      tenantId: 'acme-17',
      number: 5,
      customer: { id: 'c' },
      reason: "didn't fit",
      ttl: 3_600,
    },
    { id: 'none', tenantId: 'acme-17', number: 6, customer: { id: 'c' }, placedAt: 1_772_359_200_000 },
  ],
  People: [
    ...[1, 2, 3, 4].map((n) => person(n)),
    person(5, { Salary: 12.5, Tags: ['vip', 7] }),
    {
      id: 'c1',
      docType: 'Shop.Company, Shop',
      tenantId: 'acme-17',
      Name: 'Analytical Engines',
      Site: { type: 'Point', coordinates: [13.4, 52.52] },
    },
  ],
  Notes: [{ id: 'n1', tenantId: 'acme-17', at: '2026-03-01', 'the text': 'call Ada', default: true }],
  'processor-leases': [
    { id: 'host_db_coll..0', LeaseToken: '0', Owner: 'me', ContinuationToken: '"17"' },
    { id: 'host_db_coll.info' },
  ],
};

/** What a user adds to the imported model: a container for what is derived. */
const SINK = `
    CustomerOrders: container('/tenantId, /customerId', {
      summary: document({ id: text, tenantId: text, customerId: text, name: nullable(text), lines: int }),
      total: document({ id: text, tenantId: text, customerId: text, orders: int }),
    }),`;

const PIPELINE = `import { aggregate, copy, definePipeline, source } from 'millrace';
import { m } from './model.ts';

export default definePipeline({
  name: 'shop',
  model: m,
  tenant: 'tenantId',
  sources: [source({ of: m.People.Person, discriminator: 'docType' })],
  projections: [
    copy('summaries', {
      from: m['Shop-Orders'].order,
      with: { person: { of: m.People.Person, on: { tenantId: 'tenantId', id: 'personId' } } },
      into: m.CustomerOrders.summary,
      map: (order, { person }) => ({
        id: order.id,
        tenantId: order.tenantId,
        customerId: order.customer.id,
        name: person?.Name ?? null,
        lines: order.lines.length,
      }),
    }),
    aggregate('totals', {
      from: m['Shop-Orders'].order,
      into: m.CustomerOrders.total,
      groupBy: (order) => ({ tenantId: order.tenantId, customerId: order.customer.id }),
      measures: { orders: (q) => q.count() },
    }),
  ],
});
`;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'millrace-import-'));
  await mkdir(join(root, 'node_modules'));
  await symlink(ROOT, join(root, 'node_modules/millrace'), 'dir');
  stage = await openStage();
  const { database } = stage.services.place;
  await database.containers.createIfNotExists({ id: 'Days', partitionKey: { paths: ['/id'] } });
  for (const { id } of await liveContainers(stage.services, signal)) await database.container(id).delete();
  for (const definition of CONTAINERS) {
    const { container } = await database.containers.create(definition);
    for (const doc of DOCUMENTS[definition.id ?? ''] ?? []) await container.items.create(doc);
  }
  for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await stage[Symbol.asyncDispose]();
  await rm(root, { recursive: true, force: true });
});

const imported = async (
  ...flags: string[]
): Promise<{ folder: string; stdout: string; model: string; examples: string }> => {
  const folder = join(root, `new/${count++}`);
  const { code, stdout, stderr } = await cli(['model', 'import', folder, ...flags], { directory: root });
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const [model = '', examples = ''] = await Promise.all(
    ['model.ts', 'model.examples.json'].map((name) => readFile(join(folder, name), 'utf8')),
  );
  return { folder, stdout, model, examples };
};

/** The imported folder with a pipeline that a user wrote over it. */
async function withPipeline(folder: string): Promise<void> {
  const file = join(folder, 'model.ts');
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace('defineModel(\n  {', `defineModel(\n  {${SINK}`));
  await writeFile(join(folder, 'pipeline.ts'), PIPELINE);
}

const SECRETS =
  /ada|lovelace|acme|3f2504e0|secret|spring|fit|2026|198\d|analytical|\d*4821\d|70[23]\d\d|13\.4|12\.5|17723/i;

describe('model import', () => {
  it('`model import` makes the folder and writes a model by hand with what the account has', async () => {
    const { model, stdout } = await imported();
    expect(model).toMatch(
      /^\/\/ by hand from now on: this file is the truth\. `millrace model import` made it from database "shop"\n/,
    );
    for (const part of [
      "'Shop-Orders': container(\n      '/tenantId, /customer/id',",
      "{ ttl: 'per document', unique: [['/number']], throughput: manual(4_000) }",
      "index: ordered(indexed('/tenantId'), '/tenantId', '/at desc')",
      "docType: oneOf('Shop.Company, Shop'),",
      'number: any,',
      'Mail: nullable(text),',
      'Tags: optional(list(any)),',
      'prices: optional(any),',
      'customer: object({ id: text, name: optional(text) }),',
      'parts: list({ code: nullable(text), weight: optional(number) })',
      "'the text': text",
      'reason: text,',
    ])
      expect(model).toContain(part);
    expect(model).not.toMatch(/leases|LeaseToken/);
    expect(stdout).toContain('People: 6 documents sampled, 2 types: Person, Shop.Company, Shop');
    expect(stdout).toContain("source({ of: m.People.Person, discriminator: 'docType' }),");
    expect(stdout).toContain("source({ of: m.People['Shop.Company, Shop'], discriminator: 'docType' }),");
    expect(stdout).toContain('processor-leases: left out');
  });

  it('The files have nothing that a person stored, and keys still match', async () => {
    const { model, examples } = await imported();
    expect(model).not.toMatch(SECRETS);
    expect(examples).not.toMatch(SECRETS);
    type Examples = Record<string, Record<string, { id: string; customer?: { id: string } }[]>>;
    const { People, 'Shop-Orders': orders } = JSON.parse(examples) as Examples;
    const people = new Set(People?.['Person']?.map(({ id }) => id));
    expect(people.size).toBeGreaterThan(2);
    expect(orders?.['order']?.filter(({ customer }) => people.has(customer?.id ?? '')).length).toBeGreaterThan(1);
    const kept = await imported('--values');
    expect(kept.model).toBe(model);
    expect(kept.examples).toMatch(/Ada Lovelace/);
  });

  it('A pipeline over the imported files loads, and its containers are those of the account', async () => {
    const { folder } = await imported();
    await withPipeline(folder);
    const { model } = await loadPipeline(folder);
    const wanted = containerDefinitions(model, new Map());
    const live = await liveContainers(stage.services, signal);
    for (const there of live.filter(({ id }) => id !== 'processor-leases')) {
      const definition = wanted.find(({ id }) => id === there.id);
      expect(definition && diffContainer(there, definition)).toEqual([]);
      expect([definition?.defaultTtl, definition?.throughput]).toEqual([there.defaultTtl, there.throughput]);
    }
    await writeFile(join(root, 'millrace.live.env'), '');
    const check = await cli(['model', 'check', folder, '--env', 'live'], { directory: root });
    expect(check.stdout).toMatch(/CustomerOrders +container-missing/);
    expect(check.stdout).toMatch(/processor-leases +container-extra/);
    expect(check.stdout).toContain('read, 2 drifts.');
    const { containers } = stage.services.place.database;
    const { container } = await containers.create({ id: 'CustomerOrders', partitionKey: { paths: ['/tenantId'] } });
    for (const type of ['summary', 'stray']) await container.items.create({ id: type, type, tenantId: 't' });
    const { stdout } = await cli(['model', 'check', folder, '--env', 'live'], { directory: root });
    await container.delete();
    expect(stdout).toMatch(/CustomerOrders +stray +type-extra/);
    expect(stdout).not.toMatch(/CustomerOrders +summary/);
  });

  it('`dev --once` derives from the imported sample, and a recomputation agrees', async () => {
    const { folder } = await imported();
    await withPipeline(folder);
    await using dev = millrace(['dev', '--once', '--pipeline', folder], { directory: root, bin: SOURCES });
    expect(await dev.ended).toMatchObject({ code: 0 });
    expect(dev.stdout).toMatch(/compared with \d+ sink documents: no difference/);
    expect(dev.stdout).toMatch(/summaries@1 +[1-9]/);
  });

  it('Files that exist are kept, and --dry-run writes nothing', async () => {
    const { folder, model } = await imported();
    await writeFile(join(folder, 'model.ts'), '// mine\n');
    const refused = await cli(['model', 'import', folder], { directory: root });
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('already exists') });
    const planned = await cli(['model', 'import', folder, '--overwrite', '--dry-run'], { directory: root });
    expect(planned).toMatchObject({ code: 0, stdout: expect.stringContaining('write ') });
    expect(await readFile(join(folder, 'model.ts'), 'utf8')).toBe('// mine\n');
    expect((await cli(['model', 'import', folder, '--overwrite'], { directory: root })).code).toBe(0);
    expect(await readFile(join(folder, 'model.ts'), 'utf8')).toBe(model);
  });
});
