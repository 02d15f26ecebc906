import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { declaredPipeline, loadPipeline } from '../../../src/runtime/pipeline/load-pipeline.ts';
import { type Entity, accessOf, needsOf } from '../../../src/model/propose/needs.ts';
import { filesOf } from '../../../src/procedures/apply/infra.ts';
import { cli } from '../../cli/cli.ts';
import { millrace } from '../../support/process.ts';
import { SHOP } from '../../support/stage.ts';

const LINE: Entity = { name: 'Line', fields: [{ name: 'orderId' }], bytes: 100, count: 1 };
const STOREFRONT = join(import.meta.dirname, '../../../examples/storefront');
const TEMPLATE = join(import.meta.dirname, '../../../src/host/init/template');
let place: string;
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'millrace-init-'));
});
afterEach(() => {
  rmSync(place, { recursive: true, force: true });
});
const run = (...args: string[]) => cli(args, { directory: place });

describe('init', () => {
  it('`init` writes a whole project, under its own name', async () => {
    const { code, stdout } = await run('init', 'my-shop', '--package', 'file:../millrace.tgz');
    expect([code, stdout]).toEqual([0, expect.stringContaining('cd my-shop')]);
    const app = join(place, 'my-shop');
    const files = readdirSync(app, { recursive: true }).map((file) => String(file).replaceAll('\\', '/'));
    for (const file of [
      '.funcignore',
      '.github/workflows/ci.yml',
      '.github/workflows/deploy.yml',
      '.github/workflows/plan.yml',
      '.gitignore',
      'AGENTS.md',
      'Dockerfile',
      'azure.yaml',
      'compose.yaml',
      'docs/design-the-model.md',
      'docs/review-the-model.md',
      'functions/index.ts',
      'host.json',
      'infra/main.bicep',
      'infra/post-provision.mjs',
      'local.settings.example.json',
      'pipeline/pipeline.ts',
      'test/pipeline.test.ts',
      'test/scenario.test.ts',
    ])
      expect(files).toContain(file);
    expect(JSON.parse(readFileSync(join(app, 'package.json'), 'utf8'))).toMatchObject({
      name: 'my-shop',
      dependencies: { millrace: 'file:../millrace.tgz' },
    });
    expect(readFileSync(join(app, 'azure.yaml'), 'utf8')).toContain('name: my-shop\n');
    const compose = readFileSync(join(app, 'compose.yaml'), 'utf8');
    expect(compose).not.toMatch(/hub/i);
    const images = compose.match(/image: \S+/g) ?? [];
    expect(images).toHaveLength(3);
    for (const image of images) expect(image).toMatch(/:[\w-]*\d{1,}[\w.-]*$/);
    // Of the template's pipeline, not of Millrace's own.
    expect(JSON.parse(readFileSync(join(app, 'infra/pipeline.json'), 'utf8'))).toMatchObject({ name: 'shop' });
    expect(readFileSync(join(app, 'infra/modules/containers.bicep'), 'utf8')).toContain("name: 'OrderLists'");
    expect(readFileSync(join(app, 'local.settings.example.json'), 'utf8')).toContain('"COSMOS_DATABASE": "shop"');
  });

  it('`init --bare` begins with model.ts alone, and everything of it runs without a document', async () => {
    expect(await run('init', 'bare', '--bare', '--yes')).toMatchObject({ code: 0, stderr: '' });
    const app = join(place, 'bare');
    mkdirSync(join(app, 'node_modules'));
    symlinkSync(join(import.meta.dirname, '../../..'), join(app, 'node_modules/millrace'), 'dir');
    expect(readdirSync(join(app, 'pipeline')).toSorted()).toEqual(['model.ts', 'pipeline.ts', 'workload.ts']);
    expect(readdirSync(app)).not.toContain('README.md');
    expect(readFileSync(join(app, 'pipeline/model.ts'), 'utf8')).toMatch(/^\/\/ by hand\n/);
    const [first] = readFileSync(join(app, 'pipeline/pipeline.ts'), 'utf8').split('\n');
    expect(first).toMatch(/model\.ts is written by hand, or `npx millrace model import` reads it/);
    expect(await run('model', 'types', 'bare/pipeline')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/There is no cosmosdb_data_model\.md[^]*model\.ts is written by hand/),
    });
    await using check = millrace(['model', 'check'], { directory: app });
    expect((await check.ended).code).toBe(0);
    expect(check.stdout).toBe(
      'pipeline: no findings; there is no cosmosdb_data_model.md, so nothing was compared with one\n',
    );
    await using dev = millrace(['dev', '--once', '--json'], { directory: app });
    expect((await dev.ended).code).toBe(0);
    expect(JSON.parse(dev.stdout)).toMatchObject({ verification: { different: 0, documents: { found: 114 } } });
    await using plan = millrace(['plan'], { directory: app });
    expect((await plan.ended).code).toBe(0);
    expect(plan.stdout).toContain('The model has no examples');
    await using infra = millrace(['model', 'infra', '--check'], { directory: app });
    expect((await infra.ended).code).toBe(0);
    expect(await run('init', 'both', '--bare', '--from', SHOP)).toMatchObject({ code: 2 });
  });

  it('`init` begins with somebody’s own documents', async () => {
    expect(await run('init', 'own', '--yes', '--from', join(SHOP, 'cosmosdb_data_model.md'))).toMatchObject({
      code: 0,
      stderr: '',
    });
    const app = join(place, 'own');
    const text = (file: string): string => readFileSync(join(app, file), 'utf8');
    expect(text('pipeline/cosmosdb_data_model.md')).toBe(readFileSync(join(SHOP, 'cosmosdb_data_model.md'), 'utf8'));
    expect(text('pipeline/model.ts')).toContain('export const m = defineModel(');
    expect(text('pipeline/pipeline.ts')).toContain("name: 'own'");
    expect(text('infra/modules/containers.bicep')).toContain("name: 'Summaries'");
    expect(text('local.settings.example.json')).toContain('"COSMOS_DATABASE": "own"');
    expect(readdirSync(join(app, 'test'))).toEqual(['pipeline.test.ts']);
    // It runs before anything is declared: its documents are loaded, and nothing is derived.
    mkdirSync(join(app, 'node_modules'));
    symlinkSync(join(import.meta.dirname, '../../..'), join(app, 'node_modules/millrace'), 'dir');
    await using dev = millrace(['dev', '--once', '--json'], { directory: app });
    expect((await dev.ended).code).toBe(0);
    expect(JSON.parse(dev.stdout)).toMatchObject({
      loaded: { loaded: expect.any(Number), rejected: 0 },
      projections: [],
      verification: { different: 0 },
    });
    for (const check of [
      ['model', 'types', '--check'],
      ['model', 'infra', '--check'],
    ]) {
      await using process = millrace(check, { directory: app });
      expect((await process.ended).code).toBe(0);
    }
    expect(await run('init', 'none', '--from', place)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('There is no cosmosdb_data_model.md in'),
    });
  });

  it('`init` leaves the projections of the documents to a person, and names them', async () => {
    const { code, stdout } = await run('init', 'asked', '--yes', '--json', '--from', STOREFRONT);
    expect(code).toBe(0);
    const { toDeclare } = JSON.parse(stdout) as { toDeclare: string[] };
    expect(toDeclare).toContain('store-days');
    const app = join(place, 'asked');
    mkdirSync(join(app, 'node_modules'));
    symlinkSync(join(import.meta.dirname, '../../..'), join(app, 'node_modules/millrace'), 'dir');
    const found = await declaredPipeline(join(app, 'pipeline'));
    if (!found || 'unloadable' in found) throw new Error('It has no pipeline');
    const { pipeline } = found;
    expect(pipeline).toMatchObject({ tenant: 'storeId', projections: [], embeds: [] });
    const text = readFileSync(join(app, 'pipeline/pipeline.ts'), 'utf8');
    expect(text).toContain('source({ of: m.Catalog.variant, deleted: (document) => document.deletedAt != null })');
    expect(text).toContain(
      '    // sku-cards: copy Catalog (variant) with Catalog (product), waits for it → Skus (skuCard)\n',
    );
    await using check = millrace(['model', 'check', '--json'], { directory: app });
    expect((await check.ended).code).toBe(1);
    const { findings } = JSON.parse(check.stdout) as { findings: { severity: string; message: string }[] };
    const errors = findings.filter(({ severity }) => severity === 'error').map(({ message }) => message);
    expect(toDeclare.filter((name) => !errors.some((message) => message.includes(name)))).toEqual([]);
  });

  it('`init` writes a project that takes a second version of a projection, with a row of its own or by --fix', async () => {
    await run('init', 'versions', '--yes');
    const app = join(place, 'versions');
    mkdirSync(join(app, 'node_modules'));
    symlinkSync(join(import.meta.dirname, '../../..'), join(app, 'node_modules/millrace'), 'dir');
    const file = join(app, 'pipeline/pipeline.ts');
    const text = readFileSync(file, 'utf8');
    const [declared = ''] = /^ {4}copy\('order-lists'[^]*?^ {4}\}\),\n/m.exec(text) ?? [];
    const second = declared.replace('{\n', "{\n      version: 2,\n      onDelete: 'keep',\n");
    writeFileSync(file, text.replace(declared, declared + second));
    // One row is about both versions, and one of them keeps what is deleted.
    expect((await run('model', 'check', 'versions/pipeline')).stdout).toContain('but keep in the code');
    const { stdout } = await run('model', 'check', 'versions/pipeline', '--fix');
    expect(stdout).toContain('+ | order-lists@2 | copy |');
    const { pipeline } = await loadPipeline(join(app, 'pipeline'));
    expect(pipeline.projections.map(({ name, version }) => `${name}@${version}`)).toEqual([
      'order-lists@1',
      'order-lists@2',
      'days@1',
    ]);
  });

  it('`init` says what it would write, and writes nothing', async () => {
    expect(await run('init', 'my-shop', '--dry-run')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('write my-shop/'),
    });
    expect(readdirSync(place)).toEqual([]);
  });

  it('`init` takes a folder that holds a new repository alone, and refuses one that holds more, or a name that isn’t valid', async () => {
    mkdirSync(join(place, 'fresh/.git'), { recursive: true });
    expect(await run('init', 'fresh')).toMatchObject({ code: 0 });
    expect(await run('init', 'fresh')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('not an empty folder'),
    });
    writeFileSync(join(place, 'file'), '');
    expect(await run('init', 'file')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('not an empty folder'),
    });
    expect(await run('init', 'My App')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("can't be the name"),
    });
  });
});

it('`init` has a template whose generated files follow from its documents', async () => {
  const loaded = await loadPipeline(join(TEMPLATE, 'pipeline'));
  expect(await run('model', 'types', '--check', '--pipeline', join(TEMPLATE, 'pipeline'))).toMatchObject({ code: 0 });
  for (const { file, text } of await filesOf(loaded, { leases: 'leases', state: 'millrace' }))
    expect(readFileSync(join(TEMPLATE, 'infra', file), 'utf8')).toBe(text);
});

it('`init` has a template whose documents are complete, and that derives what is right under hardships', async () => {
  const pipeline = ['--pipeline', join(TEMPLATE, 'pipeline')];
  expect(await run('model', 'check', ...pipeline)).toMatchObject({ code: 0 });
  const hardships = ['--replica-lag', '50', '--throttle', '0.02', '--fail-after-effect', '0.02'];
  const { code, stdout } = await run('dev', '--once', '--json', ...hardships, ...pipeline);
  const { projections, verification } = JSON.parse(stdout) as {
    projections: { changes: number }[];
    verification: { different: number };
  };
  expect([code, verification.different]).toEqual([0, 0]);
  for (const { changes } of projections) expect(changes).toBeGreaterThan(0);
});

/** Runs a test of a new project. */
async function tested(change: (app: string) => void, ...args: string[]) {
  await run('init', 'tested', '--yes');
  const app = join(place, 'tested');
  mkdirSync(join(app, 'node_modules'));
  symlinkSync(join(import.meta.dirname, '../../..'), join(app, 'node_modules/millrace'), 'dir');
  change(app);
  return spawnSync(process.execPath, ['--conditions=millrace-source', '--test', ...args], {
    cwd: app,
    encoding: 'utf8',
  });
}

it('`init` has a template whose scenario passes', async () => {
  const { status, stdout } = await tested(() => undefined, 'test/scenario.test.ts');
  expect(stdout).toMatch(/pass 2\b/);
  expect(status).toBe(0);
});

it('`init` has a template whose tests print the findings of the documents as text', async () => {
  const { status, stdout } = await tested(
    (app) => {
      const file = join(app, 'pipeline/cosmosdb_data_model.md');
      writeFileSync(file, readFileSync(file, 'utf8').replace('orders = count; cents', 'ordrs = count; cents'));
    },
    '--test-name-pattern=the documents are complete',
    'test/pipeline.test.ts',
  );
  expect(stdout).toMatch(/^ *error G2 .*\n *days has measure ordrs/m);
  expect(stdout).not.toContain('"findings"');
  expect(status).toBe(1);
});

describe('what it writes for assistants', () => {
  const text = (file: string): string => readFileSync(join(TEMPLATE, file), 'utf8');

  it('the file that init writes for assistants is small enough to be read whole, and is named where assistants look', () => {
    for (const file of ['docs/design-the-model.md', 'docs/review-the-model.md']) {
      expect(Buffer.byteLength(text(file))).toBeLessThanOrEqual(8 * 1024);
      expect(text('AGENTS.md')).toContain(`\`${file}\``);
    }
  });

  it('the file that init writes for assistants has each question of a review once', () => {
    const asked = [...text('docs/review-the-model.md').matchAll(/^- (K\d+) .+\?/gm)].map(([, id]) => id);
    expect(asked).toEqual(Array.from({ length: 45 }, (_, at) => `K${at + 1}`));
  });

  it('the file that init writes for assistants shows requirements from which a design can be proposed', () => {
    const [, shown = ''] = /```\n([^]*?)```/.exec(text('docs/design-the-model.md')) ?? [];
    const { needs, questions } = needsOf(shown, 'r.md');
    expect(questions).toEqual([]);
    expect(needs.entities.map(({ name }) => name)).toEqual(['Customer', 'Order']);
    for (const [, access = ''] of text('docs/design-the-model.md').matchAll(
      /`((?:read|list|total|create|update|delete) order\b[^`]*)`/g,
    ))
      expect(accessOf(access, [...needs.entities, LINE])).toBeTypeOf('object');
  });
});
