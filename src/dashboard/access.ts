import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import { sharedError } from '../base/shared-errors.ts';
import { dashboardError, SET_TOKEN } from './errors.ts';

/** A reader may only read, an operator may also change. */
export type DashboardRole = 'reader' | 'operator';

export interface DashboardTokens {
  readonly operator?: string | undefined;
  readonly reader?: string | undefined;
}

/** Fewer characters could be guessed. */
const SHORTEST_TOKEN = 16;
const SESSION_MS = 12 * 3_600_000;
const MOST_SESSIONS = 200;

export const isLoopback = (address: string): boolean =>
  address === 'localhost' || address === '::1' || (isIP(address) === 4 && address.startsWith('127.'));

/**
 * Whether the dashboard may be open at this address with these tokens.
 * @throws UsageError `setting-invalid`
 */
export function assertClosed(address: string, { operator, reader }: DashboardTokens): void {
  for (const token of [operator, reader])
    if (token !== undefined && token.length < SHORTEST_TOKEN)
      throw sharedError('setting-invalid', `A token of the dashboard has fewer than ${SHORTEST_TOKEN} characters`, {
        hint: SET_TOKEN,
      });
  if (operator !== undefined && operator === reader)
    throw sharedError('setting-invalid', 'The dashboard’s tokens of operators and of readers are the same', {
      hint: SET_TOKEN,
    });
  if (operator === undefined && reader === undefined && !isLoopback(address))
    throw sharedError('setting-invalid', `The dashboard would listen at ${address} without a token`, {
      hint: SET_TOKEN,
    });
}

/**
 * Who may do what. Without tokens the dashboard is at the loopback address alone, and everybody on the machine is an
 * operator. With tokens a browser signs in with one and gets a session, so that no token stands in an address.
 */
export class DashboardAccess {
  readonly #tokens: readonly (readonly [DashboardRole, Buffer])[];
  readonly #sessions = new Map<string, { readonly role: DashboardRole; readonly until: number }>();
  readonly #now: () => number;

  constructor({ operator, reader }: DashboardTokens, now: () => number = Date.now) {
    this.#tokens = [
      ...(operator === undefined ? [] : [['operator', digest(operator)] as const]),
      ...(reader === undefined ? [] : [['reader', digest(reader)] as const]),
    ];
    this.#now = now;
  }

  get open(): boolean {
    return this.#tokens.length === 0;
  }

  /** A session for a token; undefined: it is no token. */
  signIn(token: string): { readonly session: string; readonly role: DashboardRole } | undefined {
    const given = digest(token);
    const role = this.#tokens.find(([, known]) => timingSafeEqual(known, given))?.[0];
    if (role === undefined) return undefined;
    const session = randomBytes(32).toString('base64url');
    this.#sessions.set(session, { role, until: this.#now() + SESSION_MS });
    for (const oldest of this.#sessions.keys()) {
      if (this.#sessions.size <= MOST_SESSIONS) break;
      this.#sessions.delete(oldest);
    }
    return { session, role };
  }

  signOut(session: string | undefined): void {
    if (session !== undefined) this.#sessions.delete(session);
  }

  roleOf(session: string | undefined): DashboardRole | undefined {
    if (this.open) return 'operator';
    const found = session === undefined ? undefined : this.#sessions.get(session);
    if (!found || session === undefined) return undefined;
    if (found.until > this.#now()) return found.role;
    this.#sessions.delete(session);
    return undefined;
  }
}

const digest = (token: string): Buffer => createHash('sha256').update(token).digest();

/** The header that pages send: a page of another site can't without a preflight, which the dashboard never grants. */
export const OWN_HEADER = 'x-millrace';

interface RequestHeaders {
  get(name: string): string | null;
}

/**
 * Refuses requests of other sites. Without tokens the request must also name the loopback address: a name of another site
 * that resolves to it (DNS rebinding) is refused.
 * @throws UsageError `request-foreign`
 */
export function assertOwn(headers: RequestHeaders, method: string, open: boolean): void {
  const host = headers.get('host') ?? '';
  const named = URL.parse(`http://${host}`)?.hostname.replace(/^\[|\]$/g, '') ?? '';
  if (open && !isLoopback(named))
    throw dashboardError('request-foreign', `The request names the host ${JSON.stringify(host.slice(0, 100))}`);
  const site = headers.get('sec-fetch-site');
  const navigates = method === 'GET' && headers.get('sec-fetch-mode') === 'navigate';
  if (site !== null && site !== 'same-origin' && site !== 'none' && !navigates)
    throw dashboardError('request-foreign', 'The request comes from another site');
  if (method === 'GET' || method === 'HEAD') return;
  const origin = headers.get('origin');
  if (site === null && origin !== null && URL.parse(origin)?.host !== host)
    throw dashboardError('request-foreign', 'The request comes from another origin');
  if (headers.get(OWN_HEADER) === null)
    throw dashboardError('request-foreign', `The request has no header ${OWN_HEADER}`);
}
