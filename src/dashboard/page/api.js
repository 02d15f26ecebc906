// Requests to the dashboard's server. Operations run by POST alone, with a header that other sites can't send.

/** Between two tries while the pipeline is being opened. */
const STARTING_MS = 1_000;
const HEADERS = { 'content-type': 'application/json', 'x-millrace': 'dashboard' };

/** An answer of the server that is an error: its code, message and hint. */
export class Refused extends Error {
  constructor({ code, message, hint }) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}

async function answerOf(request) {
  let response;
  try {
    response = await request;
  } catch {
    throw new Refused({
      code: 'unreachable',
      message: 'The dashboard does not answer.',
      hint: 'Is its process still running?',
    });
  }
  const body = await response.json().catch(() => ({}));
  if (response.ok) return body;
  // The platform before the dashboard answers without a body of ours.
  if (!body.error && response.status === 401)
    throw new Refused({ code: 'unauthenticated', message: 'You are not signed in, or not any more.' });
  throw new Refused(body.error ?? { code: 'unexpected', message: `The dashboard answered with ${response.status}.` });
}

/** Addresses have no leading slash: in a function app the dashboard is below a path of its own. */
export const session = () => answerOf(fetch('api/session'));
export const signIn = (token) => post('api/sign-in', { token });
export const signOut = () => post('api/sign-out', {});
const post = (path, body) => answerOf(fetch(path, { method: 'POST', headers: HEADERS, body: JSON.stringify(body) }));

/** Runs an operation, once the pipeline is open. → { ok, result, text } */
export async function run(name, input = {}, more = {}) {
  for (;;) {
    try {
      return await post(`api/run/${name.replace(' ', '/')}`, { input, ...more });
    } catch (error) {
      if (error.code !== 'dashboard-starting') throw error;
      await new Promise((resolve) => setTimeout(resolve, STARTING_MS));
    }
  }
}

/** What an operation would do. → { steps, ru, seconds } */
export const plan = async (name, input) => (await run(name, input, { dryRun: true })).plan;

/**
 * The results of each place: of one account there is one, without a name. A place that failed has `failure` and no value.
 */
export function placesOf(value) {
  return Array.isArray(value?.places) ? value.places : [{ place: null, value }];
}
