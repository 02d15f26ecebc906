// azd runs this after provisioning. It writes local.settings.json, so that the app on this machine uses the new resources,
// signed in as you (`az login`). Your own values in the file stay.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const FILE = 'local.settings.json';
const NAMES = [
  'COSMOS__accountEndpoint',
  'COSMOS_DATABASE',
  'LEASES__accountEndpoint',
  'LEASES_DATABASE',
  'LEASES_CONTAINER',
  'STORAGE__blobServiceUri',
  'EVENTHUBS__fullyQualifiedNamespace',
];

const missing = NAMES.slice(0, 5).filter((name) => !process.env[name]);
if (missing.length > 0) {
  console.error(`post-provision: ${missing.join(', ')} not set; azd sets them from the outputs of infra/main.bicep.`);
  process.exit(1);
}
const settings = existsSync(FILE) ? JSON.parse(readFileSync(FILE, 'utf8')) : { IsEncrypted: false };
const found = Object.fromEntries(NAMES.filter((name) => process.env[name]).map((name) => [name, process.env[name]]));
const defaults = { FUNCTIONS_WORKER_RUNTIME: 'node', AzureWebJobsStorage: 'UseDevelopmentStorage=true' };
const kept = { ...settings.Values };
// A connection string overrides an address, so that of the emulator would still be used.
for (const name of ['COSMOS', 'LEASES', 'STORAGE', 'EVENTHUBS']) delete kept[name];
writeFileSync(FILE, `${JSON.stringify({ ...settings, Values: { ...defaults, ...kept, ...found } }, undefined, 2)}\n`);
console.log(`${FILE} written.`);
const { FUNCTION_APP_URL: url } = process.env;
if (url) console.log(`To check the app:\n  curl ${url}/api/millrace/health`);
if (process.env['MILLRACE_SCALE_HOSTS'] === 'true' && process.env['HOSTS_SCALE'] === 'false')
  console.log('The number of hosts is fixed: KEDA of Container Apps is older than 2.21, whose scaler they need.');
