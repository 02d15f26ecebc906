import { isObject } from '../base/json.ts';

/**
 * The meaning of an SDK error for the caller.
 * - `throttled` (429, 449) and `unreachable` (no connection): nothing happened; the caller may send the same call again
 * - `ambiguous` (408, 5xx, a lost connection): a write may have taken effect; read again and compare (ASM-A5)
 * - the others are answers: the same call gets the same answer again
 */
export type FailureKind =
  | 'throttled'
  | 'unreachable'
  | 'ambiguous'
  | 'precondition'
  | 'conflict'
  | 'not-found'
  | 'gone'
  | 'too-large'
  | 'denied'
  | 'refused'
  | 'unknown';

export interface Failure {
  readonly kind: FailureKind;
  readonly status: number | undefined;
  readonly substatus: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly message: string;
}

const UNREACHABLE = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);
const LOST = new Set([
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'REQUEST_SEND_ERROR',
  'TimeoutError',
  'AbortError',
  'PARSE_ERROR',
]);

/**
 * The substatus of a 403 for a full logical partition (ASM-A18). No role helps here, and other logical partitions still
 * accept writes.
 */
const PARTITION_FULL = 1014;

export function kindOfStatus(status: number, substatus?: number): FailureKind {
  if (status === 403 && substatus === PARTITION_FULL) return 'refused';
  if (status === 429 || status === 449) return 'throttled';
  if (status === 408 || status >= 500) return 'ambiguous';
  if (status === 412) return 'precondition';
  if (status === 409) return 'conflict';
  if (status === 404) return 'not-found';
  if (status === 410) return 'gone';
  if (status === 413) return 'too-large';
  if (status === 401 || status === 403) return 'denied';
  return status >= 400 ? 'refused' : 'unknown';
}

/** Reads an error of the SDK. `items.batch` wraps the real error in `cause`. */
export function failureOf(error: unknown): Failure {
  const found = firstWithCode(error);
  const code = found['code'] ?? found['statusCode'];
  const headers = isObject(found['headers']) ? found['headers'] : {};
  const substatus = numeric(found['substatus']) ?? numeric(headers['x-ms-substatus']);
  const retryAfterMs = numeric(found['retryAfterInMs']) ?? numeric(headers['x-ms-retry-after-ms']);
  const message = typeof found['message'] === 'string' ? found['message'] : String(error);
  const status = typeof code === 'number' ? code : undefined;
  return { kind: kindOf(code, substatus, found), status, substatus, retryAfterMs, message };
}

function kindOf(code: unknown, substatus: number | undefined, error: Record<string, unknown>): FailureKind {
  if (typeof code === 'number') return kindOfStatus(code, substatus);
  const said = code ?? error['name'];
  const name = typeof said === 'string' ? said : '';
  if (UNREACHABLE.has(name)) return 'unreachable';
  // After a send error the request may have reached the service, unless the cause names a refused connection.
  if (name === 'REQUEST_SEND_ERROR' && /ECONNREFUSED|ENOTFOUND|EAI_AGAIN/.test(String(error['message'])))
    return 'unreachable';
  return LOST.has(name) ? 'ambiguous' : 'unknown';
}

/** The first error in the chain of causes that has a code; else the last one. */
function firstWithCode(error: unknown): Record<string, unknown> {
  let current: unknown = error;
  for (let depth = 0; depth < 5 && isObject(current); depth++) {
    if (current['code'] !== undefined || current['cause'] === undefined) return current;
    current = current['cause'];
  }
  return isObject(current) ? current : {};
}

const numeric = (value: unknown): number | undefined => {
  if (value === undefined || value === null || value === '') return undefined;
  const number = Number(value);
  return Number.isFinite(number) ? number : undefined;
};

/** As `catch`: undefined where nothing is stored. */
export function absent(error: unknown): undefined {
  if (failureOf(error).kind !== 'not-found') throw error;
}

/** The hint for an identity that may not read or write documents. */
export const GIVE_DATA_ROLE =
  'Give the identity the role "Cosmos DB Built-in Data Contributor" on the account or the database.';

/** The substatus of a 403 for what no data role allows: to manage databases, containers and throughput (ASM-E48). */
const NOT_OF_DATA = 5300;

/** The hint for a refused request: a role that has the action which the service's message names (ASM-E48). */
export function roleHint(error: unknown): string {
  const { substatus, message } = failureOf(error);
  if (substatus === NOT_OF_DATA)
    return 'No role for data has this right. Use a key of the account, or let a deployment do it, whose identity has the role "Cosmos DB Operator" (docs/deploy.md).';
  const [, actions, scope] = /action \[([^\][]*)\] on resource \[([^\][]*)\]/.exec(message) ?? [];
  const action = actions?.split('/').at(-1);
  if (action === undefined || scope === undefined) return GIVE_DATA_ROLE;
  const on = scope === '/' ? 'the account' : scope;
  if (!/^(?:read|executeQuery)/.test(action))
    return `To ${action} there, give it the role "Cosmos DB Built-in Data Contributor" on ${on}.`;
  return `To read there, give it the role "Cosmos DB Built-in Data Reader" on ${on}; to write as well, "Cosmos DB Built-in Data Contributor".`;
}
