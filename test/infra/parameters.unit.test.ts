// What can be set without editing infra/: from the azd environment, and from the workflow that deploys.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { bicepFiles, parameters } from './bicep.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const valuesOf = (file: string): Readonly<Record<string, { readonly value: unknown }>> =>
  (JSON.parse(read(file)) as { parameters: Record<string, { value: unknown }> }).parameters;
const main = bicepFiles().find(({ file }) => file === 'main.bicep')!;
const ACCOUNT = '/subscriptions/s/resourceGroups/g/providers/Microsoft.DocumentDB/databaseAccounts/a';
const SUBNET = '/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/n';
const names = parameters(main).map(({ name }) => name);
const given = valuesOf('infra/main.parameters.json');
const variables = Object.values(given).map(({ value }) => /^\$\{(\w+)/.exec(String(value))?.[1] ?? '');

it('every parameter can be set by a variable of the azd environment', () => {
  expect(Object.keys(given).toSorted()).toEqual(names.toSorted());
  expect(variables.filter((name) => name === '')).toEqual([]);
  expect(new Set(variables).size).toBe(variables.length);
});

it('a default is the same in both places', () => {
  for (const [name, { value }] of Object.entries(given)) {
    const [, fallback] = /^\$\{\w+=(.*)\}$/.exec(String(value)) ?? [];
    if (fallback === undefined) continue;
    const [, declared = ''] = new RegExp(`^param ${name} \\w+ = (.*)$`, 'm').exec(main.text) ?? [];
    expect([name, fallback]).toEqual([name, declared.replaceAll("'", '')]);
  }
});

it('the profiles set what there is', () => {
  for (const profile of ['development', 'production'])
    expect(names).toEqual(expect.arrayContaining(Object.keys(valuesOf(`infra/parameters/${profile}.json`))));
});

it('the workflow that deploys hands on every variable, and docs/deploy.md has those that a person sets', () => {
  const workflow = read('.github/workflows/deploy.yml');
  const handedOn = [...workflow.matchAll(/^ {6}([A-Z]\w+): /gm)].map(([, name]) => name);
  // Set by azd itself, or by the workflow's own context.
  const own = ['AZURE_PRINCIPAL_ID', 'SERVICE_JOBS_IMAGE_NAME', 'SERVICE_HOST_IMAGE_NAME', 'GITHUB_REPOSITORY'];
  expect(variables.filter((name) => !handedOn.includes(name) && !own.includes(name))).toEqual([]);
  expect(handedOn).toEqual(expect.arrayContaining(['MILLRACE_ENTRA_CLIENT_ID', 'MILLRACE_AUTH', 'LEASES_START_ANEW']));
  const documented = read('docs/deploy.md');
  const azd = [
    'AZURE_ENV_NAME',
    'AZURE_LOCATION',
    'AZURE_PRINCIPAL_ID',
    'SERVICE_JOBS_IMAGE_NAME',
    'SERVICE_HOST_IMAGE_NAME',
  ];
  expect(variables.filter((name) => !azd.includes(name) && !documented.includes(`| \`${name}\` |`))).toEqual([]);
});

it.each<[string, Record<string, string>, number, RegExp]>([
  ['a workflow that says nothing', { CI: 'true' }, 1, /would then need only the key.*MILLRACE_AUTH to key/],
  ['production that says nothing', { MILLRACE_PROFILE: 'production' }, 1, /would then need only the key/],
  ['a workflow that means keys', { CI: 'true', MILLRACE_AUTH: 'key' }, 0, /need only the key/],
  ['a workflow that hands sign-in on', { CI: 'true', MILLRACE_ENTRA_CLIENT_ID: 'app' }, 0, /the key and a role/],
  ['both at once', { MILLRACE_AUTH: 'key', MILLRACE_ENTRA_CLIENT_ID: 'app' }, 1, /Set one of them/],
  ['sign-in without an application', { MILLRACE_AUTH: 'entra' }, 1, /is empty/],
  ['a word that is neither', { MILLRACE_AUTH: 'none' }, 1, /key or entra/],
  ['apps of shards without their map', { MILLRACE_SHARD_APPS: 'west,east' }, 1, /SHARD_MAPS_DATABASE is empty/],
  [
    'production whose app is the administrator',
    { MILLRACE_PROFILE: 'production', MILLRACE_AUTH: 'key', MILLRACE_DEPLOY_JOBS: 'true' },
    1,
    /app would be the administrator of PostgreSQL.*object id and the name/,
  ],
  [
    'an administrator without a name',
    { MILLRACE_POSTGRES_ADMINISTRATOR: '6f5c2a7e-1111-2222-3333-444455556666' },
    1,
    /MILLRACE_POSTGRES_ADMINISTRATOR is "6f5c/,
  ],
  [
    'production with an administrator',
    {
      MILLRACE_PROFILE: 'production',
      MILLRACE_AUTH: 'key',
      MILLRACE_TABLES_NODES: '2',
      MILLRACE_POSTGRES_ADMINISTRATOR: '6f5c2a7e-1111-2222-3333-444455556666,dba',
    },
    0,
    /need only the key/,
  ],
  [
    'apps of eleven shards',
    { MILLRACE_SHARD_APPS: 'a,b,c,d,e,f,g,h,i,j,k', SHARD_MAPS_DATABASE: 'maps' },
    0,
    /makes 11 apps\. Above 10 shards run the pipeline with `millrace run`/,
  ],
  ['a first try on one’s own', {}, 0, /need only the key/],
  ['production without a function app', { MILLRACE_PROFILE: 'production', MILLRACE_DEPLOY_APP: 'false' }, 0, /^$/],
  [
    'a name instead of an id',
    { MILLRACE_COSMOS_ACCOUNT: 'cosmos-shop' },
    1,
    /MILLRACE_COSMOS_ACCOUNT is "cosmos-shop", which is no resource id of Microsoft.DocumentDB\/databaseAccounts/,
  ],
  [
    'the id of something else',
    { MILLRACE_APP_SUBNET: '/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v' },
    1,
    /no resource id of Microsoft.Network\/virtualNetworks\/NAME\/subnets/,
  ],
  [
    'an account of another subscription',
    { MILLRACE_COSMOS_ACCOUNT: ACCOUNT, AZURE_SUBSCRIPTION_ID: 'other' },
    1,
    /another subscription/,
  ],
  ['an account that exists', { MILLRACE_COSMOS_ACCOUNT: ACCOUNT, AZURE_SUBSCRIPTION_ID: 'S' }, 0, /need only the key/],
  [
    'endpoints that the app doesn’t reach',
    { MILLRACE_ENDPOINTS_SUBNET: SUBNET },
    1,
    /MILLRACE_APP_SUBNET not, so nothing there would reach/,
  ],
  [
    'endpoints that hosts don’t reach',
    { MILLRACE_ENDPOINTS_SUBNET: SUBNET, MILLRACE_APP_SUBNET: SUBNET, MILLRACE_DEPLOY_HOST: 'true' },
    1,
    /MILLRACE_CONTAINERS_SUBNET not/,
  ],
])('the infrastructure stops what would take sign-in away unsaid, or lacks a map: %s', (_, env, code, says) => {
  const script = join(ROOT, 'infra/pre-provision.mjs');
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], { env, encoding: 'utf8' });
  expect([status, stdout + stderr]).toEqual([code, expect.stringMatching(says)]);
});

it.each(['isolateNetwork', 'legalHolds', 'logDataAccess'])(
  'the profile production has %s unless it is refused, and the profile development has it not',
  (name) => {
    expect(main.text).toContain(`param ${name} string = ''`);
    expect(main.text).toMatch(new RegExp(`^var \\w+ = ${name} == '' \\? production : ${name} == 'true'$`, 'm'));
    // Only the variable uses it.
    expect(main.text).not.toMatch(new RegExp(`: ${name}$|\\(${name}\\)`, 'm'));
    expect(Object.keys(valuesOf('infra/parameters/production.json'))).not.toContain(name);
  },
);
