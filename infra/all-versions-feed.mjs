// azd runs this after provisioning. It switches on the account's all-versions-and-deletes feed, if the pipeline reads a
// container by it. Only a preview version of the resource manager's API knows the property, and only for an account that
// exists already (docs/assumptions.md, ASM-F19), so Bicep can't set it.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const API = '2024-12-01-preview';
const { AZURE_SUBSCRIPTION_ID, AZURE_RESOURCE_GROUP, COSMOS_ACCOUNT_NAME } = process.env;
const { allVersions } = JSON.parse(readFileSync(new URL('pipeline.json', import.meta.url), 'utf8'));
if (allVersions) switchOn();

function switchOn() {
  const missing = Object.entries({ AZURE_SUBSCRIPTION_ID, AZURE_RESOURCE_GROUP, COSMOS_ACCOUNT_NAME })
    .filter(([, value]) => !value)
    .map(([name]) => name);
  if (missing.length > 0)
    return fail(`${missing.join(', ')} not set; azd sets them from the outputs of infra/main.bicep.`);
  const account = `/subscriptions/${AZURE_SUBSCRIPTION_ID}/resourceGroups/${AZURE_RESOURCE_GROUP}/providers/Microsoft.DocumentDB/databaseAccounts/${COSMOS_ACCOUNT_NAME}?api-version=${API}`;
  const query = 'properties.enableAllVersionsAndDeletesChangeFeed';
  const asked = az('rest', '--method', 'get', '--uri', account, '--query', query, '--output', 'tsv');
  if (asked.error)
    return fail(
      `The Azure CLI is needed (${asked.error.message}). Install az, sign in with \`az login\`, and run this again.`,
    );
  if (asked.status !== 0) return fail(asked.stderr.trim());
  if (asked.stdout.trim() === 'true') return console.log('The all-versions feed of the account is on.');
  const body = JSON.stringify({ properties: { enableAllVersionsAndDeletesChangeFeed: true } });
  const patched = az('rest', '--method', 'patch', '--uri', account, '--body', body, '--output', 'none');
  if (patched.status !== 0) return fail(patched.stderr.trim());
  console.log(
    'The account switches its all-versions feed on. This takes up to 30 minutes; until then /health/ready answers 503.',
  );
}

function az(...args) {
  return spawnSync('az', args, { encoding: 'utf8', shell: process.platform === 'win32' });
}

function fail(why) {
  console.error(`all-versions-feed: ${why}`);
  process.exitCode = 1;
}
