// What infra/ does for a pipeline that reads an all-versions feed (ASM-F19). The Azure CLI is a script here, which notes
// what it is asked: there is no account to ask.
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { loadPipeline } from '../../src/runtime/pipeline/load-pipeline.ts';
import { filesOf } from '../../src/procedures/apply/infra.ts';
import { ALL_VERSIONS } from '../support/stage.ts';

const ACCOUNT = { AZURE_SUBSCRIPTION_ID: 'sub', AZURE_RESOURCE_GROUP: 'rg-shop', COSMOS_ACCOUNT_NAME: 'cosmos-shop' };

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'feed-'));
  cpSync(join(import.meta.dirname, '../../infra/all-versions-feed.mjs'), join(folder, 'all-versions-feed.mjs'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function run(allVersions: boolean, env: Readonly<Record<string, string>>, az?: string) {
  writeFileSync(join(folder, 'pipeline.json'), JSON.stringify({ allVersions }));
  if (az !== undefined) {
    writeFileSync(join(folder, 'az'), `#!/bin/sh\necho "$@" >> ${join(folder, 'asked')}\n${az}\n`);
    chmodSync(join(folder, 'az'), 0o755);
  }
  const path = az === undefined ? folder : `${folder}:/bin:/usr/bin`;
  const script = join(folder, 'all-versions-feed.mjs');
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], {
    env: { PATH: path, ...env },
    encoding: 'utf8',
  });
  return { status, said: `${stdout}${stderr}` };
}
const asked = (): string[] => readFileSync(join(folder, 'asked'), 'utf8').trim().split('\n');

it('`model infra` states that the pipeline needs the feed, and gives Bicep nothing that it does not know', async () => {
  const files = await filesOf(await loadPipeline(ALL_VERSIONS), { leases: 'leases', state: 'millrace' });
  const textOf = (name: string) => files.find(({ file }) => file === name)?.text ?? '';
  expect(JSON.parse(textOf('pipeline.json'))).toMatchObject({ allVersions: true });
  expect(textOf('modules/containers.bicep')).not.toContain('changeFeedPolicy');
});

it('the deployment of the feed does nothing for a pipeline without such a feed', () => {
  expect(run(false, {})).toEqual({ status: 0, said: '' });
});

it('the deployment of the feed switches the feed on where it is off, by the preview of the API', () => {
  expect(run(true, ACCOUNT, 'echo false')).toEqual({ status: 0, said: expect.stringContaining('up to 30 minutes') });
  const [get, patch] = asked();
  const uri =
    '/subscriptions/sub/resourceGroups/rg-shop/providers/Microsoft.DocumentDB/databaseAccounts/cosmos-shop?api-version=2024-12-01-preview';
  expect(get).toContain(`rest --method get --uri ${uri}`);
  expect(patch).toContain(`rest --method patch --uri ${uri}`);
  expect(patch).toContain('{"properties":{"enableAllVersionsAndDeletesChangeFeed":true}}');
});

it('the deployment of the feed asks once where it is on', () => {
  expect(run(true, ACCOUNT, 'echo true')).toEqual({ status: 0, said: expect.stringContaining('is on') });
  expect(asked()).toHaveLength(1);
});

it.each([
  [
    'a variable is missing',
    {},
    'echo true',
    'AZURE_SUBSCRIPTION_ID, AZURE_RESOURCE_GROUP, COSMOS_ACCOUNT_NAME not set',
  ],
  ['there is no Azure CLI', ACCOUNT, undefined, 'Install az'],
  ['Azure refuses', ACCOUNT, 'echo "no rights" >&2; exit 3', 'no rights'],
])('the deployment of the feed fails with the reason: %s', (_, env, az, why) => {
  expect(run(true, env, az)).toEqual({ status: 1, said: expect.stringContaining(why) });
});
