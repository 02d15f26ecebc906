// From a live account to the documents and back: `model import`, and `model check --env`.
import { mkdtemp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { containerDefinitions, diffContainer } from '../../../src/model/container-definitions.ts';
import type { Model } from '../../../src/model/model.ts';
import { readDesign } from '../../../src/model/reader/design.ts';
import { readRequirements } from '../../../src/model/reader/requirements.ts';
import { liveContainers } from '../../../src/procedures/apply/live.ts';
import { cli } from '../../cli/cli.ts';
import { SHOP, type Stage, openStage } from '../../support/stage.ts';

const STOREFRONT = join(import.meta.dirname, '../../../examples/storefront');
const { signal } = new AbortController();

let root: string;
let count = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'millrace-reality-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));
async function folder(files: Readonly<Record<string, string>> = {}): Promise<string> {
  const path = join(root, String(count++));
  await mkdir(path);
  for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text);
  return path;
}

/** The account of the stage is in the variables of the process, so the file of settings has nothing to add. */
async function against(pipeline: string): Promise<string[]> {
  await writeFile(join(root, 'millrace.live.env'), '');
  return ['model', 'check', pipeline, '--env', 'live'];
}

let stage: Stage;
const open = async (of: string): Promise<void> => {
  stage = await openStage({}, of);
  for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
  for (const { name, types } of stage.loaded.model.containers)
    for (const { examples } of types) for (const doc of examples) await stage.container(name).items.upsert(doc);
};
const close = async (): Promise<void> => {
  vi.unstubAllEnvs();
  await stage[Symbol.asyncDispose]();
};

describe('the storefront', () => {
  beforeEach(() => open(STOREFRONT));
  afterEach(close);

  test('the storefront, imported, is read back without errors and with the same containers, keys and policies', async () => {
    const to = await folder({ 'rps.json': JSON.stringify({ Orders: { reads: { peak: 90, average: 12 } } }) });
    const { code, stdout } = await cli(['model', 'import', '.', '--metrics', 'rps.json'], { directory: to });
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('cosmosdb_data_model.md') });
    const design = await readDesign(join(to, 'cosmosdb_data_model.md'));
    const requirements = await readRequirements(join(to, 'cosmosdb_requirements.md'));
    const errors = [...design.findings, ...requirements.findings].filter(({ severity }) => severity === 'error');
    expect(errors).toEqual([]);
    const written = containerDefinitions(design.model, new Map());
    const live = await liveContainers(stage.services, signal);
    expect(written.map(({ id }) => id)).toEqual(live.map(({ id }) => id));
    expect(live.length).toBe(11);
    for (const [at, definition] of written.entries()) {
      const there = live[at];
      if (!there) throw new Error('not there');
      expect(diffContainer(there, definition)).toEqual([]);
      expect([definition.defaultTtl, definition.throughput]).toEqual([there.defaultTtl, there.throughput]);
      expect(definition.indexingPolicy).toBeDefined();
    }
    const types = ({ containers }: Model): string[] =>
      containers.flatMap(({ name, types: list }) => list.map((type) => `${name}/${type.name}`)).toSorted();
    expect(types(design.model)).toEqual(types(stage.loaded.model));
    expect(requirements.patterns.find(({ description }) => /Read .* Orders/.test(description))?.rate).toMatchObject({
      peak: 90,
      average: 12,
    });
  });

  test('the storefront, redacted, has nothing that a person wrote, and its references stay', async () => {
    const to = await folder();
    expect((await cli(['model', 'import', '.', '--redact'], { directory: to })).code).toBe(0);
    const text = await readFile(join(to, 'cosmosdb_data_model.md'), 'utf8');
    for (const secret of ['Ada', 'ada@example.com', 'Trail Jacket', 'customer-1', 'store-1', '2026-03'])
      expect(text).not.toContain(secret);
    const { model } = await readDesign(join(to, 'cosmosdb_data_model.md'));
    const examples = (container: string) =>
      model.containers.find(({ name }) => name === container)?.types.flatMap((type) => type.examples) ?? [];
    const customers = new Set(examples('Customers').map(({ id }) => id));
    expect(examples('Orders').some(({ customerId }) => customers.has(customerId))).toBe(true);
    expect(examples('Orders')[0]?.['placedAt']).toMatch(/^2000-01-01T00:00:00Z$/);
  });

  test('the storefront is refused where documents are there, and planned without writing', async () => {
    const to = await folder({ 'cosmosdb_data_model.md': '# mine\n' });
    const refused = await cli(['model', 'import', '.'], { directory: to });
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('already exists') });
    const planned = await cli(['model', 'import', '.', '--overwrite', '--dry-run'], { directory: to });
    expect(planned).toMatchObject({ code: 0, stdout: expect.stringContaining('write cosmosdb_requirements.md') });
    expect(await readFile(join(to, 'cosmosdb_data_model.md'), 'utf8')).toBe('# mine\n');
  });

  test('metrics of a container that isn’t there, or in another form, are usage errors', async () => {
    const to = await folder({ 'a.json': '{"Ordres":{}}', 'b.json': '{"Orders":{"reads":"many"}}' });
    const misnamed = await cli(['model', 'import', '.', '--metrics', 'a.json'], { directory: to });
    expect(misnamed).toMatchObject({ code: 2, stderr: expect.stringContaining('did you mean Orders?') });
    const misformed = await cli(['model', 'import', '.', '--metrics', 'b.json'], { directory: to });
    expect(misformed).toMatchObject({ code: 2, stderr: expect.stringContaining('Orders.reads') });
  });

  test('the storefront doesn’t drift from its own examples', async () => {
    const { code, stdout } = await cli(await against(STOREFRONT), { directory: root });
    expect(stdout).toContain('no drift');
    expect(code).toBe(0);
    expect((await cli(['model', 'check', STOREFRONT])).stdout).not.toContain('drift');
  });
});

describe('the shop', () => {
  beforeEach(() => open(SHOP));
  afterEach(close);

  const drift = async () => {
    const { code, stdout } = await cli([...(await against(SHOP)), '--json'], { directory: root });
    const {
      account: { drifts },
    } = JSON.parse(stdout) as {
      account: { drifts: { container: string; type?: string; kind: string; what: string }[] };
    };
    return {
      code,
      drifts: drifts.map(({ container, type = '', kind, what }) => [container, type, kind, what].join(' | ')),
    };
  };

  test('each kind of drift is told with its counts; exit code 1', async () => {
    const orders = stage.container('Orders').items;
    const order = { type: 'order', storeId: 's1', placedAt: '2026-01-01T10:00:00.000Z' };
    await orders.create({ ...order, id: 'x1', customerId: 'c1', cents: '12' });
    await orders.create({ ...order, id: 'x2', cents: 5, coupon: { code: 'A' }, note: 'n'.repeat(2_000) });
    await orders.create({ id: 'x3', type: 'refund', storeId: 's1' });
    await stage.container('Customers').items.create({ id: 'c9', type: 'customer', storeId: 's1', name: 'B', ttl: 60 });
    await stage.container('Days').delete();
    await stage.services.place.database.containers.create({ id: 'Invoices', partitionKey: { paths: ['/id'] } });
    const { resource } = await stage.container('Orders').read();
    await stage.container('Orders').replace({ ...resource, defaultTtl: 60 });
    expect(await drift()).toEqual({
      code: 1,
      drifts: [
        'Invoices |  | container-extra | is in the account and not in the model',
        'Orders |  | ttl | defaultTtl is 60; the model says -1',
        expect.stringMatching(
          /^Orders \| order \| json-type \| cents is string in 1 document; the examples have number$/,
        ),
        'Orders | order | field-extra | coupon is in 1 of 4 documents, but in no example',
        'Orders | order | field-missing | customerId is in every example, but not in 1 of 4 documents',
        'Orders | order | field-extra | note is in 1 of 4 documents, but in no example',
        'Orders | refund | type-extra | 1 document of this type, which has no example',
        expect.stringMatching(/^Orders \| {2}\| size \| the average is \d+ B; the examples have \d+ B$/),
        'Customers | customer | field-extra | ttl is in 1 of 2 documents, but in no example',
        "Customers |  | ttl | 1 document with a ttl that has no effect, because the container's TTL is off",
        'Days |  | container-missing | is in the model and not in the account',
      ],
    });
  });
});
