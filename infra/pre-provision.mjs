// azd runs this before provisioning. It stops a deployment that would switch off the sign-in of HTTP callers only because
// a variable is missing, and one of apps for shards that can't find their map. Without MILLRACE_ENTRA_CLIENT_ID the app requires only the key, and MILLRACE_AUTH must say so.
const {
  MILLRACE_ENTRA_CLIENT_ID: clientId = '',
  MILLRACE_AUTH: auth = '',
  MILLRACE_PROFILE: profile = '',
  MILLRACE_SHARD_APPS: shardApps = '',
  SHARD_MAPS_DATABASE: maps = '',
} = process.env;
/** From here on `millrace run` is the better choice: docs/functions.md. */
const MOST_APPS = 10;
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
} else if (auth === '' && clientId === '' && (inWorkflow || profile === 'production')) {
  refuse(
    'MILLRACE_ENTRA_CLIENT_ID is empty, so callers of HTTP would then need only the key.',
    'Set MILLRACE_ENTRA_CLIENT_ID, or set MILLRACE_AUTH to key if that is intended.',
  );
} else if (shardApps !== '' && maps === '') {
  refuse(
    'MILLRACE_SHARD_APPS names shards, and SHARD_MAPS_DATABASE is empty.',
    'Set SHARD_MAPS_DATABASE to the database of the shard maps.',
  );
} else {
  const apps = shardApps === '' ? 0 : shardApps.split(',').length;
  if (apps > MOST_APPS)
    console.log(
      `MILLRACE_SHARD_APPS makes ${apps} apps. Above ${MOST_APPS} shards run the pipeline with \`millrace run\`.`,
    );
  console.log(`Callers of HTTP need ${clientId === '' ? 'only the key' : 'the key and a role of the application'}.`);
}

function refuse(why, remedy) {
  console.error(`pre-provision: ${why} ${remedy}`);
  process.exitCode = 1;
}
