import { react } from 'millrace';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { registry } from '../../src/host/registry.ts';
import { run as runOver } from '../../src/host/run/run.operation.ts';
import { assertPositions } from '../../src/runtime/lease-positions.ts';
import type { LoadedPipeline, Workspace } from '../../src/runtime/workspace.ts';
import { type Stage, openStage } from '../support/stage.ts';

let stage: Stage;
beforeEach(async () => {
  stage = await openStage();
});
afterEach(() => stage[Symbol.asyncDispose]());

/** `millrace run --once` of the stage's pipeline under a name. */
async function runAs(
  name: string,
  startAnew?: string,
  { loaded = stage.loaded, said = [] }: { readonly loaded?: LoadedPipeline; readonly said?: string[] } = {},
): Promise<unknown> {
  const { settings, services } = stage;
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
  const screen = {
    live: false,
    line: (line: string) => void said.push(line),
    draw: () => undefined,
    progress: () => undefined,
  };
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
    message: expect.stringContaining('changed from "before.Orders." to "after.Orders.".'),
    hint: expect.stringContaining('LEASES_START_ANEW=after.'),
  });
  await expect(runAs('after', 'other.')).rejects.toMatchObject({ code: 'lease-prefix-renamed' });
  expect(await runAs('after', 'after.')).toMatchObject({ host: 'here' });
  // Its own leases have been at work by now.
  expect(await runAs('after')).toMatchObject({ host: 'here' });
});

it('the check of the prefix says nothing of what isn’t there: others name it better', async () => {
  const { loaded, services, settings } = stage;
  const check = async (): Promise<unknown> => assertPositions(loaded.pipeline, services, settings);
  await stage.container('Orders').delete();
  await expect(check()).resolves.toBeUndefined();
  await services.global.leases.delete();
  await expect(check()).resolves.toBeUndefined();
  await services.place.database.delete();
  await expect(check()).resolves.toBeUndefined();
});

describe('a lease container that was made again', () => {
  const again = async (): Promise<void> => {
    const { leases, leaseDatabase } = stage.services.global;
    await leases.delete();
    await leaseDatabase.containers.create({ id: leases.id, partitionKey: '/id', defaultTtl: -1 });
  };
  const order = (id: string) => ({ id, type: 'order', storeId: 's', placedAt: '2026-01-01', cents: 1 });
  /** The stage's pipeline with a reaction. */
  const calling = (called: string[]): LoadedPipeline => {
    const from = { container: 'Orders', type: 'order' };
    const call = react('calls', {
      from,
      start: 'beginning',
      run: async ({ id }: { readonly id?: string }) => void called.push(String(id)),
    });
    const { pipeline } = stage.loaded;
    return { ...stage.loaded, pipeline: { ...pipeline, effects: [call] } };
  };

  it('a pipeline that only derives begins again, and says so', async () => {
    await stage.container('Orders').items.create(order('1'));
    await runAs('shop');
    await again();
    const said: string[] = [];
    expect(await runAs('shop', undefined, { said })).toMatchObject({ host: 'here' });
    expect(said).toContainEqual(expect.stringContaining('read from the beginning again'));
  });

  it('a host starts no reaction again until a person says so', async () => {
    const called: string[] = [];
    const loaded = calling(called);
    await stage.container('Orders').items.create(order('1'));
    await runAs('shop', undefined, { loaded });
    await runAs('shop', undefined, { loaded });
    expect(called).toEqual(['1']);
    await again();
    await expect(runAs('shop', undefined, { loaded })).rejects.toMatchObject({
      code: 'leases-lost',
      message: expect.stringContaining('run calls@1 again for every change'),
      hint: expect.stringContaining('LEASES_START_ANEW=shop.'),
    });
    expect(called).toEqual(['1']);
    await runAs('shop', 'shop.', { loaded });
    expect(called).toEqual(['1', '1']);
    // What was said once holds for the container that there is now.
    await runAs('shop', undefined, { loaded });
    expect(called).toEqual(['1', '1']);
  });
});
