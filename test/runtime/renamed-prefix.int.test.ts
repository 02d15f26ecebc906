import { afterEach, beforeEach, expect, it } from 'vitest';
import { registry } from '../../src/host/registry.ts';
import { run as runOver } from '../../src/host/run/run.operation.ts';
import { refuseRenamedPrefix } from '../../src/runtime/renamed-prefix.ts';
import type { Workspace } from '../../src/runtime/workspace.ts';
import { type Stage, openStage } from '../support/stage.ts';

let stage: Stage;
beforeEach(async () => {
  stage = await openStage();
});
afterEach(() => stage[Symbol.asyncDispose]());

/** `millrace run --once` of the stage's pipeline under a name. */
async function runAs(name: string, startAnew?: string): Promise<unknown> {
  const { loaded, settings, services } = stage;
  const never = (): never => {
    throw new Error('run asks for something else');
  };
  const workspace: Workspace = {
    directory: loaded.folder,
    folder: loaded.folder,
    at: never,
    settings: () => ({ ...settings, ...(startAnew !== undefined && { startAnew }) }),
    pipeline: async () => ({ ...loaded, pipeline: { ...loaded.pipeline, name } }),
    services: async () => services,
    model: never,
    declared: never,
    jobs: never,
    tables: never,
    close: never,
  };
  const screen = { live: false, line: () => undefined, draw: () => undefined, progress: () => undefined };
  const signal = AbortSignal.timeout(50_000);
  const input = { once: true, pollDelay: 10, host: 'here' };
  return (await runOver(() => registry).run(input, { workspace, actor: 'tester', signal, screen })).value;
}

it('`run` refuses a renamed pipeline, which would read everything from the beginning, unless it is meant', async () => {
  await stage
    .container('Orders')
    .items.create({ id: '1', type: 'order', storeId: 's', placedAt: '2026-01-01', cents: 1 });
  await runAs('before');
  await expect(runAs('after')).rejects.toMatchObject({
    code: 'lease-prefix-renamed',
    message: expect.stringContaining('changed from "before." to "after.".'),
    hint: expect.stringContaining('LEASES_START_ANEW=after.'),
  });
  await expect(runAs('after', 'other.')).rejects.toMatchObject({ code: 'lease-prefix-renamed' });
  expect(await runAs('after', 'after.')).toMatchObject({ host: 'here' });
  // Its own leases have been at work by now.
  expect(await runAs('after')).toMatchObject({ host: 'here' });
});

it('the check of the prefix says nothing of what isn’t there: others name it better', async () => {
  const { loaded, services, settings } = stage;
  const check = async (): Promise<void> => refuseRenamedPrefix(loaded.pipeline, services, settings);
  await stage.container('Orders').delete();
  await expect(check()).resolves.toBeUndefined();
  await services.global.leases.delete();
  await expect(check()).resolves.toBeUndefined();
  await services.place.database.delete();
  await expect(check()).resolves.toBeUndefined();
});
