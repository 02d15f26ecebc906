// azd runs this before provisioning. It stops a deployment that would switch off the sign-in of HTTP callers only because
// a variable is missing. Without MILLRACE_ENTRA_CLIENT_ID the app requires only the key, and MILLRACE_AUTH must say so.
const {
  MILLRACE_ENTRA_CLIENT_ID: clientId = '',
  MILLRACE_AUTH: auth = '',
  MILLRACE_PROFILE: profile = '',
} = process.env;
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
} else {
  console.log(`Callers of HTTP need ${clientId === '' ? 'only the key' : 'the key and a role of the application'}.`);
}

function refuse(why, remedy) {
  console.error(`pre-provision: ${why} ${remedy}`);
  process.exitCode = 1;
}
