// Run by azd before provisioning: refuses to take sign-in away from callers of HTTP because a variable wasn't handed on.
// Without MILLRACE_ENTRA_CLIENT_ID the app asks for the key alone, and that must be said where others depend on it.
const {
  MILLRACE_ENTRA_CLIENT_ID: clientId = '',
  MILLRACE_AUTH: auth = '',
  MILLRACE_PROFILE: profile = '',
} = process.env;
const inWorkflow = Boolean(process.env['CI']);

if (auth !== '' && auth !== 'key' && auth !== 'entra') {
  refuse(`MILLRACE_AUTH is ${JSON.stringify(auth)}.`, 'Set it to key or entra.');
} else if (auth === 'key' && clientId !== '') {
  refuse('MILLRACE_AUTH says key, and MILLRACE_ENTRA_CLIENT_ID asks for sign-in.', 'Set one of them.');
} else if (auth === 'entra' && clientId === '') {
  refuse(
    'MILLRACE_AUTH says entra, and MILLRACE_ENTRA_CLIENT_ID is empty.',
    'Set it to the client id of the application.',
  );
} else if (auth === '' && clientId === '' && (inWorkflow || profile === 'production')) {
  refuse(
    'MILLRACE_ENTRA_CLIENT_ID is empty, so callers of HTTP would need the key alone from now on.',
    'Set MILLRACE_ENTRA_CLIENT_ID, or set MILLRACE_AUTH to key where that is meant.',
  );
} else {
  console.log(`Callers of HTTP need ${clientId === '' ? 'the key alone' : 'the key, and a role of the application'}.`);
}

function refuse(why, remedy) {
  console.error(`pre-provision: ${why} ${remedy}`);
  process.exitCode = 1;
}
