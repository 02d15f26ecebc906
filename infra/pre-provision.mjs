// azd runs this before provisioning. It stops a deployment that would switch off the sign-in of HTTP callers only because
// a variable is missing, one of apps for shards that can't find their map, one of production whose app would be the
// administrator of PostgreSQL, and ids of what exists that are none. Without MILLRACE_ENTRA_CLIENT_ID the app requires only
// the key, and MILLRACE_AUTH must say so.
const {
  MILLRACE_ENTRA_CLIENT_ID: clientId = '',
  MILLRACE_AUTH: auth = '',
  MILLRACE_PROFILE: profile = '',
  MILLRACE_SHARD_APPS: shardApps = '',
  SHARD_MAPS_DATABASE: maps = '',
  MILLRACE_POSTGRES_ADMINISTRATOR: administrator = '',
  MILLRACE_DEPLOY_JOBS: jobs = '',
  MILLRACE_JOBS_STORE: store = '',
  MILLRACE_TABLES_NODES: nodes = '',
  MILLRACE_DEPLOY_APP: app = '',
  MILLRACE_DEPLOY_HOST: host = '',
  MILLRACE_APP_SUBNET: appSubnet = '',
  MILLRACE_CONTAINERS_SUBNET: containersSubnet = '',
  MILLRACE_ENDPOINTS_SUBNET: endpointsSubnet = '',
  AZURE_SUBSCRIPTION_ID: subscription = '',
} = process.env;
/** From here on `millrace run` is the better choice: docs/functions.md. */
const MOST_APPS = 10;
const makesPostgres = (jobs === 'true' && store !== 'redis') || Number(nodes) > 0;
const hasApp = app !== 'false';
const SUBNET = 'Microsoft.Network/virtualNetworks/[^/]+/subnets';
const EXISTING = {
  MILLRACE_COSMOS_ACCOUNT: 'Microsoft.DocumentDB/databaseAccounts',
  MILLRACE_LOG_WORKSPACE: 'Microsoft.OperationalInsights/workspaces',
  MILLRACE_PLAN: 'Microsoft.Web/serverfarms',
  MILLRACE_APP_SUBNET: SUBNET,
  MILLRACE_CONTAINERS_SUBNET: SUBNET,
  MILLRACE_ENDPOINTS_SUBNET: SUBNET,
};
const noId = Object.entries(EXISTING).find(
  ([name, type]) =>
    process.env[name] &&
    !new RegExp(`^/subscriptions/[^/]+/resourceGroups/[^/]+/providers/${type}/[^/]+$`, 'i').test(process.env[name]),
);
const account = process.env['MILLRACE_COSMOS_ACCOUNT'] ?? '';
const unreached =
  endpointsSubnet !== '' &&
  [
    [hasApp && appSubnet === '', 'MILLRACE_APP_SUBNET'],
    [(host === 'true' || jobs === 'true') && containersSubnet === '', 'MILLRACE_CONTAINERS_SUBNET'],
  ].find(([lacks]) => lacks);
const inWorkflow = Boolean(process.env['CI']);

if (auth !== '' && auth !== 'key' && auth !== 'entra') {
  refuse(`MILLRACE_AUTH is ${JSON.stringify(auth)}.`, 'Set it to key or entra.');
} else if (auth === 'key' && clientId !== '') {
  refuse('MILLRACE_AUTH is key, but MILLRACE_ENTRA_CLIENT_ID is set, which requires sign-in.', 'Set one of them.');
} else if (auth === 'entra' && clientId === '') {
  refuse(
    'MILLRACE_AUTH is entra, but MILLRACE_ENTRA_CLIENT_ID is empty.',
    'Set it to the client id of the application.',
  );
} else if (hasApp && auth === '' && clientId === '' && (inWorkflow || profile === 'production')) {
  refuse(
    'MILLRACE_ENTRA_CLIENT_ID is empty, so callers of HTTP would then need only the key.',
    'Set MILLRACE_ENTRA_CLIENT_ID, or set MILLRACE_AUTH to key if that is intended.',
  );
} else if (administrator !== '' && !/^[0-9a-f-]{36},[^,]+$/i.test(administrator)) {
  refuse(
    `MILLRACE_POSTGRES_ADMINISTRATOR is ${JSON.stringify(administrator)}.`,
    'Set it to the object id and the name of an Entra group, with a comma between them.',
  );
} else if (administrator === '' && makesPostgres && profile === 'production') {
  refuse(
    'MILLRACE_POSTGRES_ADMINISTRATOR is empty, so the app would be the administrator of PostgreSQL.',
    'Set it to the object id and the name of an Entra group, with a comma between them.',
  );
} else if (shardApps !== '' && maps === '') {
  refuse(
    'MILLRACE_SHARD_APPS names shards, and SHARD_MAPS_DATABASE is empty.',
    'Set SHARD_MAPS_DATABASE to the database of the shard maps.',
  );
} else if (noId) {
  refuse(
    `${noId[0]} is ${JSON.stringify(process.env[noId[0]])}, which is no resource id of ${noId[1].replace('[^/]+', 'NAME')}.`,
    'Copy it from the portal (JSON view), or from `az … show --query id`.',
  );
} else if (
  account !== '' &&
  subscription !== '' &&
  account.split('/')[2]?.toLowerCase() !== subscription.toLowerCase()
) {
  refuse('MILLRACE_COSMOS_ACCOUNT is of another subscription than AZURE_SUBSCRIPTION_ID.', 'Deploy into that one.');
} else if (unreached) {
  refuse(
    `MILLRACE_ENDPOINTS_SUBNET is set, and ${unreached[1]} not, so nothing there would reach the endpoints.`,
    'Set it to the id of a subnet of the same network.',
  );
} else {
  const apps = shardApps === '' ? 0 : shardApps.split(',').length;
  if (apps > MOST_APPS)
    console.log(
      `MILLRACE_SHARD_APPS makes ${apps} apps. Above ${MOST_APPS} shards run the pipeline with \`millrace run\`.`,
    );
  if (hasApp)
    console.log(`Callers of HTTP need ${clientId === '' ? 'only the key' : 'the key and a role of the application'}.`);
}

function refuse(why, remedy) {
  console.error(`pre-provision: ${why} ${remedy}`);
  process.exitCode = 1;
}
