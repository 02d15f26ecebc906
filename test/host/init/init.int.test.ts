import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadPipeline } from '../../../src/runtime/load-pipeline.ts';
import { generateTypes } from '../../../src/model/types/generate.ts';
import { filesOf } from '../../../src/operations/model/infra.ts';
import { millrace } from '../../support/process.ts';

const TEMPLATE = join(import.meta.dirname, '../../../src/host/init/template');
let place: string;
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'millrace-init-'));
});
afterEach(() => {
  rmSync(place, { recursive: true, force: true });
});
const run = async (...args: string[]) => {
  await using process = millrace(args, { directory: place });
  const { code } = await process.ended;
  return { code, stdout: process.stdout, stderr: process.stderr };
};

describe('init', () => {
  it('writes a whole project, under its own name', async () => {
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
      'Dockerfile',
      'azure.yaml',
      'compose.yaml',
      'functions/index.ts',
      'host.json',
      'infra/main.bicep',
      'infra/post-provision.mjs',
      'local.settings.example.json',
      'pipeline/pipeline.ts',
      'test/pipeline.test.ts',
    ])
      expect(files).toContain(file);
    expect(JSON.parse(readFileSync(join(app, 'package.json'), 'utf8'))).toMatchObject({
      name: 'my-shop',
      dependencies: { millrace: 'file:../millrace.tgz' },
    });
    expect(readFileSync(join(app, 'azure.yaml'), 'utf8')).toContain('name: my-shop\n');
    // Of the template's pipeline, not of Millrace's own.
    expect(JSON.parse(readFileSync(join(app, 'infra/pipeline.json'), 'utf8'))).toMatchObject({ name: 'shop' });
    expect(readFileSync(join(app, 'infra/modules/containers.bicep'), 'utf8')).toContain("name: 'OrderLists'");
    expect(readFileSync(join(app, 'local.settings.example.json'), 'utf8')).toContain('"COSMOS_DATABASE": "shop"');
  });

  it('says what it would write, and writes nothing', async () => {
    expect(await run('init', 'my-shop', '--dry-run')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('write my-shop/'),
    });
    expect(readdirSync(place)).toEqual([]);
  });

  it('takes a folder that holds a new repository alone, and refuses one that holds more, or a name that is none', async () => {
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

it('has a template whose generated files follow from its documents', async () => {
  const loaded = await loadPipeline(join(TEMPLATE, 'pipeline'));
  expect(readFileSync(join(TEMPLATE, 'pipeline/model.types.ts'), 'utf8')).toBe(generateTypes(loaded.model));
  for (const { file, text } of await filesOf(loaded, { leases: 'leases', state: 'millrace' }))
    expect(readFileSync(join(TEMPLATE, 'infra', file), 'utf8')).toBe(text);
});

it('has a template whose documents are complete, and that derives what is right under hardships', async () => {
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
