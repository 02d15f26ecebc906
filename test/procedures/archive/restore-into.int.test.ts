// `archive restore --into` and `--id`, by the command line, on Azurite. ARC-H25 to ARC-H28.
import type { ContainerClient } from '@azure/storage-blob';
import { expect, it } from 'vitest';
import type { Doc } from '../../../src/pipeline/specs.ts';
import { Views } from '../../../src/engine/views/views.ts';
import { erase } from '../../../src/procedures/erase/erase.ts';
import { assertInto } from '../../../src/procedures/archive/into.ts';
import { loadPipeline } from '../../../src/runtime/pipeline/load-pipeline.ts';
import { compose } from '../../../src/runtime/hosts/processor-host.ts';
import { cli } from '../../cli/cli.ts';
import { useArchiveStage } from '../../support/each-stage.ts';
import { ERASE, eraseOptions } from '../tenants/leaving.ts';
import { COLD, type Stage } from '../../support/stage.ts';

let stage: Stage;
let blobs: ContainerClient;
useArchiveStage(COLD, async (opened) => {
  ({ stage, blobs } = opened);
  for (let n = 0; n < 6; n++) await stage.container('Orders').items.create(order(n));
  await derived();
  const { code, stderr } = await cli(['archive', 'sweep']);
  if (code !== 0) throw new Error(stderr);
});

const order = (n: number): Doc & { id: string } => ({
  id: `o${n}`,
  type: 'order',
  storeId: `s${n % 2}`,
  customerId: 'c1',
  placedAt: `${n < 4 ? '2025-12' : '2026-01'}-05T10:00:00.000Z`,
  cents: 100 + n,
});

async function restore(...args: string[]): Promise<{ code: number; value: unknown }> {
  const { code, stdout } = await cli(['archive', 'restore', ...args, '--json']);
  return { code, value: JSON.parse(stdout) };
}

async function derived(): Promise<void> {
  const app = await compose({ ...stage, host: 'test', readLagMs: 0, timings: { pollMs: 40 } });
  await app.start();
  await app.drained(AbortSignal.timeout(30_000));
  await app.stop();
}

async function ids(name: string): Promise<unknown[]> {
  const query = stage.container(name).items.query<Doc>('SELECT * FROM c ORDER BY c.id');
  return (await query.fetchAll()).resources.map(({ id }) => id);
}

it('several ids of a key come back', async () => {
  const ask = ['orders-cold', '--key', '["s1"]', '--id', 'o1', '--id', 'o5', '--id', 'o1'];
  expect((await restore(...ask, '--dry-run')).value).toEqual({
    steps: [expect.stringMatching(/^orders-cold: read 2 blobs \(\d+ B\), write up to 2 documents back to Orders$/)],
    ru: 0,
  });
  await blobs.getBlockBlobClient('orders-cold@1/s1/2026/01/manifest.json').upload('{', 1);
  expect((await restore(...ask, '--dry-run')).value).toMatchObject({
    steps: ['orders-cold: read 2 blobs (size unknown), write up to 2 documents back to Orders'],
  });
  expect(await restore(...ask)).toMatchObject({ code: 0, value: [{ restored: 2, skipped: 0 }] });
  expect(await ids('Orders')).toEqual(['o1', 'o5']);
  const unknown = await cli(['archive', 'restore', '--key', '["s1"]', '--id', 'o3', '--id', 'o2', '--id', 'x']);
  expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('never had a document ["s1"] o2, x') });
  expect(await ids('Orders')).toEqual(['o1', 'o5']);
});

it('a tenant and a range go into another container, the archive stays, and what stands there is kept', async () => {
  await stage.container('Customers').items.create({ ...order(3), cents: 1 });
  const ask = ['--tenant', 's1', '--from', '2025', '--to', '2025-12', '--into', 'Customers'];
  expect((await restore(...ask, '--dry-run')).value).toMatchObject({
    steps: [expect.stringMatching(/^orders-cold: read 1 blob \(\d+ B\), write up to 2 documents into Customers$/)],
  });
  expect(await ids('Customers')).toEqual(['o3']);
  expect(await restore(...ask)).toMatchObject({
    code: 1,
    value: [{ into: 'Customers', copied: 1, differ: 1, different: ['Customers/["s1"]/o3'] }],
  });
  expect(await ids('Customers')).toEqual(['o1', 'o3']);
  expect((await stage.container('Customers').item('o1', 's1').read<Doc>()).resource).toMatchObject(order(1));
  const said = await cli(['archive', 'restore', ...ask]);
  expect(said.stdout).toMatch(
    /orders-cold@1 +Customers +0 +0 +1 +1\n.*--replace writes over them:\n {2}Customers\/\["s1"\]\/o3/,
  );
  expect(await restore(...ask, '--replace')).toMatchObject({
    code: 0,
    value: [{ replaced: 1, skipped: 1, differ: 0 }],
  });
  expect((await stage.container('Customers').item('o3', 's1').read<Doc>()).resource).toMatchObject(order(3));
  expect(await ids('Orders')).toEqual([]);
  expect((await cli(['archive', 'verify'])).stdout).toMatch(/orders-cold@1 +4 +6 +6 /);
  const audit = JSON.parse((await cli(['audit', '--json'])).stdout) as unknown[];
  expect(audit).toContainEqual(expect.objectContaining({ arguments: expect.objectContaining({ into: 'Customers' }) }));
});

it('an erasure of the tenant removes the copies too', async () => {
  await restore('--into', 'Customers');
  expect(await ids('Customers')).toEqual(['o0', 'o1', 'o2', 'o3', 'o4', 'o5']);
  const certificate = await erase(await eraseOptions(stage, undefined, 's1'));
  expect(certificate.removed).toMatchObject({ Customers: 3, 'archived versions': 3 });
  expect(await ids('Customers')).toEqual(['o0', 'o2', 'o4']);
  expect(await restore('--into', 'Customers')).toMatchObject({ code: 0, value: [{ copied: 0, skipped: 3 }] });
});

it.each([
  [['--into', 'Orders'], 'Orders is a container that pipeline cold reads or writes'],
  [['--into', 'Days'], 'Days is a container that pipeline cold reads or writes'],
  [['--into', 'millrace'], 'The model has no container millrace'],
  [['--into', 'Customer'], 'did you mean Customers?'],
  [['--into', 'Sum/maries'], '--into: A container name has 1 to 255 characters'],
  [['--replace'], '--replace is for --into'],
  [['--key', '["s1"]', '--id', 'o1', '--from', '2025'], 'and --from chooses among all'],
])('%j is refused, and nothing is written', async (args, message) => {
  for (const more of [[], ['--dry-run']]) {
    const { code, stderr } = await cli(['archive', 'restore', ...args, ...more]);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  }
  for (const name of ['Orders', 'Customers']) expect(await ids(name)).toEqual([]);
});

it('a container that an earlier version or another pipeline fills, or that is not there, is refused', async () => {
  const ask = ['archive', 'restore', '--into', 'Summaries'];
  const views = new Views(stage.services.global.state, 'other');
  const version = { version: 1, container: 'Summaries', type: 'summary', reads: [] };
  await views.change('summaries', (view) => ({ ...view, current: version }));
  expect(await cli(ask)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('that pipeline other reads or writes'),
  });
  const reading = { ...version, container: 'Elsewhere', reads: [{ container: 'Summaries', type: 'summary' }] };
  await views.change('summaries', (view) => ({
    ...view,
    current: null,
    previous: null,
    staged: { ...reading, phase: 'filling', since: '' },
  }));
  expect((await cli(ask)).stderr).toContain('that pipeline other reads or writes');
  await views.change('summaries', (view) => ({ ...view, staged: null }));
  await stage.container('Summaries').delete();
  const { code, stderr } = await cli([...ask, '--dry-run']);
  expect(stderr).toContain('There is no container Summaries');
  expect(code).toBe(2);
});

it('a container with another key, or where an erasure wouldn’t look, is refused, and two archives of different containers', async () => {
  const loaded = await loadPipeline(ERASE);
  const [spec] = loaded.pipeline.archives;
  if (!spec) throw new Error('The pipeline has an archive');
  const unused = { ...loaded, pipeline: { ...loaded.pipeline, projections: [], embeds: [] } };
  const into = (name: string, ...archives: { spec: typeof spec }[]): Promise<void> =>
    assertInto(name, archives, unused, stage.services);
  await expect(into('StoreCountries', { spec })).rejects.toMatchObject({ code: 'container-unfit' });
  const other = { ...spec, name: 'stores-cold', from: { container: 'Stores', type: 'store' } };
  await expect(into('Summaries', { spec }, { spec: other })).rejects.toMatchObject({
    code: 'input-invalid',
    hint: 'Name one archive: orders-cold, stores-cold.',
  });
  await expect(into('Summaries', { spec })).resolves.toBeUndefined();
  const containers = loaded.model.containers.map((of) => (of.name === 'Summaries' ? { ...of, types: [] } : of));
  const untold = { ...unused, model: { ...loaded.model, containers } };
  await expect(assertInto('Summaries', [{ spec }], untold, stage.services)).rejects.toMatchObject({
    code: 'not-found',
  });
});
