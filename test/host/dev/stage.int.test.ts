import Module from 'node:module';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openStage } from '../../../src/host/dev/stage.ts';
import { registry } from '../../../src/host/registry.ts';
import { openWorkspace } from '../../../src/runtime/open-workspace.ts';
import { loadPipeline } from '../../../src/runtime/pipeline/load-pipeline.ts';
import { SHOP } from '../../support/stage.ts';

it('a project without the embedded PostgreSQL is told to install it for jobs, and not to name an account', async () => {
  const resolving = Module as unknown as { _resolveFilename: (name: string, ...more: unknown[]) => string };
  const { _resolveFilename: resolve } = resolving;
  // The packages are there for other tests.
  const hidden = vi.spyOn(resolving, '_resolveFilename').mockImplementation((name, ...more) => {
    if (name.startsWith('@electric-sql/')) throw new Error(`Cannot find module '${name}'`);
    return resolve(name, ...more);
  });
  onTestFinished(() => hidden.mockRestore());
  const said: string[] = [];
  const screen = { live: false, line: (text: string) => said.push(text), draw: () => {}, progress: () => {} };
  const workspace = openWorkspace({ directory: SHOP, pipeline: SHOP });
  const context = { workspace, screen, actor: 'tester', signal: new AbortController().signal };
  await using stage = await openStage(
    { port: 0, account: false, once: false, seed: 1, adverse: false },
    context,
    await loadPipeline(SHOP),
    () => registry,
  );
  expect(said).toContainEqual(expect.stringMatching(/^For background jobs: `npm install .*@electric-sql/));
  await expect(stage.workspace.jobs()).rejects.toMatchObject({
    code: 'setting-missing',
    hint: expect.stringContaining('npm install'),
  });
});
