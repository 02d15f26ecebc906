// Three sides that must agree: what the app's bindings and code ask for, what Bicep sets, and what `model infra` writes.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi, afterEach } from 'vitest';
import { SETTING_NAMES } from '../../src/base/settings.ts';
import { settingsOf } from '../../src/host/functions/app-settings.ts';
import { loadPipeline } from '../../src/runtime/pipeline/load-pipeline.ts';
import { type PipelineFacts, filesOf } from '../../src/procedures/apply/infra.ts';
import { SHOP, openStage } from '../support/stage.ts';
import { indexApp } from '../functions/host.ts';
import { type Value, at, bicepFiles, declarations } from './bicep.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

const ROOT = join(import.meta.dirname, '../..');
const STOREFRONT = join(ROOT, 'examples/storefront');
const NAMES = { leases: 'leases', state: 'millrace' };
const files = bicepFiles();
const textOf = (name: string): string => files.find(({ file }) => file === name)?.text ?? '';

/** Names of all app settings that infra/ sets, whatever the parameters. */
function settingsSet(): string[] {
  const settings = files.find(({ file }) => file === 'modules/settings.bicep');
  const shared = declarations(settings!, 'variable').flatMap(({ body }) => Object.keys(body as object));
  const own =
    /properties: union\(settings, \{([\s\S]*?)\n {2}\}\)/.exec(textOf('modules/function-app.bicep'))?.[1] ?? '';
  return [...shared, ...[...own.matchAll(/^ {4}(\w+):/gm)].map(([, name]) => name ?? '')];
}

/** Read by the platform, the extension or the identity library; not by us. */
const PLATFORM =
  /^(AzureWebJobsStorage__|APPLICATIONINSIGHTS_|FUNCTIONS_|WEBSITE_RUN_FROM_PACKAGE$|AZURE_CLIENT_ID$|\w+__(credential|clientId)$)/;
/** Read by the code and not for the app settings: what only a machine with keys, a checkout or a command line has. */
const ELSEWHERE = new Set([
  'COSMOS',
  'COSMOS_ACCOUNTS',
  'LEASES',
  'STORAGE',
  'EVENTHUBS',
  'SHARD_MAPS__accountEndpoint',
  'SHARD_COSMOS',
  'SHARD_COSMOS__accountEndpoint',
]);
/** Names the code looks up beside the schema of settings. */
const BESIDE = ['MILLRACE_AUTH'];

it('the infrastructure sets what every binding names, as identity, and nothing by key', async () => {
  const { functions } = await indexApp({ JOBS_URL: 'postgres://nowhere' });
  const set = settingsSet();
  const named = settingsOf(functions.flatMap(({ bindings }) => Object.values(bindings)));
  expect(named.length).toBeGreaterThan(4);
  const byName = named.filter(({ or }) => or.length === 0).map(({ name }) => name);
  expect(byName.filter((name) => !set.includes(name))).toEqual([]);
  const connections = named.filter(({ or }) => or.length > 0);
  const lacking = connections.filter(
    ({ name, or }) =>
      set.includes(name) ||
      !or.some((each) => set.includes(each)) ||
      !['credential', 'clientId'].every((suffix) => set.includes(`${name}__${suffix}`)),
  );
  expect(lacking).toEqual([]);
});

it('the infrastructure sets every setting that the code reads', () => {
  const set = settingsSet();
  const read = [...SETTING_NAMES, ...BESIDE].filter((name) => !ELSEWHERE.has(name));
  expect(read.filter((name) => !set.includes(name))).toEqual([]);
});

it('the infrastructure knows every name that the code looks up in the environment', () => {
  const names = new Set<string>();
  for (const file of globSync('src/**/*.ts', { cwd: ROOT, exclude: (of) => /emulator|template/.test(of) })) {
    const text = readFileSync(join(ROOT, file), 'utf8');
    for (const [, name = ''] of text.matchAll(/process\.env(?:\[')?\.?([A-Z][A-Z_]+)/g)) names.add(name);
  }
  // Of the machine one types at; what App Service sets itself; what replaces the pipeline of the build; of an
  // application; of a host that no function app runs.
  const local = [
    'NO_COLOR',
    'MILLRACE_PIPELINE',
    'NODE_ENV',
    'MILLRACE_PROBES_ADDRESS',
    'AZURE_FUNCTIONS_ENVIRONMENT',
    'FUNCTIONS_WORKER_RUNTIME',
  ];
  const unknown = [...names].filter((name) => ![...SETTING_NAMES, ...BESIDE, ...local].includes(name));
  expect(unknown.filter((name) => !name.startsWith('WEBSITE_'))).toEqual([]);
});

it('the infrastructure sets nothing that no code reads', () => {
  const read = new Set<string>([...SETTING_NAMES, ...BESIDE]);
  expect(settingsSet().filter((name) => !read.has(name) && !PLATFORM.test(name))).toEqual([]);
});

it('the infrastructure deploys the containers that the bindings read, under the names the settings give', async () => {
  const { functions } = await indexApp({});
  const bicep = files.find(({ file }) => file === 'modules/containers.bicep');
  const deployed = declarations(bicep!, 'resource').map(({ body }) => at(body, 'name'));
  const triggers = functions.flatMap(({ bindings }) => Object.values(bindings));
  const readByThem = triggers.filter(({ type }) => type === 'cosmosDBTrigger').map((of) => of['containerName']);
  expect(readByThem).not.toEqual([]);
  expect(deployed).toEqual(expect.arrayContaining(readByThem));
  expect(deployed).toEqual(expect.arrayContaining(['leases', 'millrace']));
  const settings = textOf('modules/settings.bicep');
  expect(settings).toContain("LEASES_CONTAINER: 'leases'");
  expect(settings).toContain("STATE_CONTAINER: 'millrace'");
  for (const name of ['archive', 'checkpoints']) {
    expect(settings).toMatch(new RegExp(`_CONTAINER: '${name}'`));
    expect(textOf('modules/archive.bicep')).toContain(`'${name}'`);
  }
  const { feeds, leases } = JSON.parse(readFileSync(join(ROOT, 'infra/pipeline.json'), 'utf8')) as PipelineFacts;
  const read = triggers.filter(({ type }) => type === 'cosmosDBTrigger');
  expect(new Map(feeds.map(({ container, leasePrefix }) => [container, leasePrefix]))).toEqual(
    new Map(read.map((of) => [of['containerName'], of['leaseContainerPrefix']])),
  );
  expect(leases.container).toBe('leases');
});

it('the infrastructure asks the lines of the timers for what they hold', async () => {
  await using stage = await openStage();
  vi.spyOn(console, 'error').mockImplementation(() => {});
  // What no one can apply is parked, and the others go on.
  await stage.container('Days').delete();
  const app = await indexApp({ ...stage.env, MILLRACE_PIPELINE: SHOP });
  await app.deliver('feed-Orders', [
    { id: '1', type: 'order', storeId: 's', placedAt: 'today', cents: 1, _lsn: 1, _etag: '"1"', _ts: 1 },
  ]);
  await app.fire('metrics');
  await app.terminate();
  vi.restoreAllMocks();
  const text = app.logged.findLast((of) => of.includes('"operation":"status"')) ?? '';
  const line = JSON.parse(text.slice(text.indexOf('{'))) as { value: { projections: Record<string, unknown>[] } };
  const alerts = textOf('modules/alerts.bicep');
  expect(alerts).toContain('line.value.projections');
  const asked = new Set([...alerts.matchAll(/projection\.(\w+)/g)].map(([, name = '']) => name));
  expect([...asked]).toEqual(['parked', 'parkedSince']);
  const days = line.value.projections.find(({ id }) => id === 'days@1');
  expect(days).toMatchObject({ parked: 1, parkedSince: expect.stringMatching(/^\d{4}-.*Z$/) });
  expect(line.value.projections.find(({ id }) => id === 'summaries@1')).toMatchObject({ parked: 0, parkedSince: null });
});

it('the infrastructure is as `model infra` writes it', async () => {
  for (const { file, text } of await filesOf(await loadPipeline(STOREFRONT), NAMES))
    expect(readFileSync(join(ROOT, 'infra', file), 'utf8')).toBe(text);
});

it('the infrastructure deploys the containers as `model apply` makes them', async () => {
  await using stage = await openStage({}, STOREFRONT, undefined);
  const bicep = files.find(({ file }) => file === 'modules/containers.bicep');
  for (const { body } of declarations(bicep!, 'resource')) {
    const wanted = at(body, 'properties.resource') as { id?: string } & Record<string, Value>;
    if (wanted?.id === undefined) continue;
    const { resource } = await stage.container(wanted.id).read();
    expect({ id: wanted.id, ...resource }).toMatchObject({
      partitionKey: wanted['partitionKey'],
      ...('defaultTtl' in wanted ? { defaultTtl: wanted['defaultTtl'] } : {}),
      ...('uniqueKeyPolicy' in wanted ? { uniqueKeyPolicy: wanted['uniqueKeyPolicy'] } : {}),
    });
  }
});
