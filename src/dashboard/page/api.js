// Requests to the dashboard's server. Operations run by POST alone, with a header that other sites can't send.

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
  throw new Refused(body.error ?? { code: 'unexpected', message: `The dashboard answered with ${response.status}.` });
}

export const session = () => answerOf(fetch('/api/session'));
export const signIn = (token) => post('/api/sign-in', { token });
export const signOut = () => post('/api/sign-out', {});
const post = (path, body) => answerOf(fetch(path, { method: 'POST', headers: HEADERS, body: JSON.stringify(body) }));

/** Runs an operation. → { ok, result, text } */
export const run = (name, input = {}, more = {}) => post(`/api/run/${name.replace(' ', '/')}`, { input, ...more });

/** What an operation would do. → { steps, ru, seconds } */
export const plan = async (name, input) => (await run(name, input, { dryRun: true })).plan;

/**
 * The results of each place: of one account there is one, without a name. A place that failed has `failure` and no value.
 */
export function placesOf(value) {
  return Array.isArray(value?.places) ? value.places : [{ place: null, value }];
}
