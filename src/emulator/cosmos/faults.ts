import type { Account } from './account.ts';
import { refusalOf, strike } from './rules.ts';
import { WireError } from './wire.ts';
import type { Call, Reply } from './wire.ts';

/** What becomes of one request, drawn before it is handled: a reset without effect, or another answer after it. */
export type Fate = 'normal' | 'reset-before' | 'reset-after' | { readonly answer: Reply };

/** Without a rule only requests on items fail: clients that can't reach the account at all are no interesting case. */
export function fateOf(account: Account, call: Call, kind: string): Fate {
  const { throttle = 0, failBefore = 0, failAfterEffect = 0, rules = [] } = account.faults;
  const rule = rules.length > 0 ? strike(rules, call, kind, account.random) : undefined;
  if (rule) {
    if (rule.status === 'reset') return rule.effect === 'after' ? 'reset-after' : 'reset-before';
    if (rule.effect === 'after') return { answer: refusalOf(rule).reply() };
    throw refusalOf(rule);
  }
  if (call.segments[4] !== 'docs' || throttle + failBefore + failAfterEffect === 0) return 'normal';
  if (account.random() < throttle) throw tooManyRequests(1 + Math.floor(account.random() * 20));
  if (account.random() < failBefore) {
    switch (Math.floor(account.random() * 4)) {
      case 0:
        throw new WireError(408, 'The request timed out before it was carried out.');
      case 1:
        throw new WireError(503, 'The service is currently unavailable; nothing was done.');
      case 2:
        throw new WireError(449, 'Conflicting request to the resource has been attempted. Retry to avoid conflicts.');
      default:
        return 'reset-before';
    }
  }
  if (!isWrite(call) || account.random() >= failAfterEffect) return 'normal';
  const way = Math.floor(account.random() * 3);
  return way === 2 ? 'reset-after' : { answer: lostAnswer(way === 0 ? 408 : 503) };
}

export function tooManyRequests(retryAfterMs: number): WireError {
  const error = new WireError(
    429,
    'Request rate is large. More Request Units may be needed, so no changes were made.',
    3200,
  );
  error.headers['x-ms-retry-after-ms'] = String(retryAfterMs);
  return error;
}

/** The write has happened; only its answer is gone. */
const lostAnswer = (status: number): Reply =>
  new WireError(status, 'The answer was lost: the request may have been carried out.').reply();

function isWrite(call: Call): boolean {
  return call.method !== 'GET' && call.headers['x-ms-documentdb-isquery'] === undefined;
}
