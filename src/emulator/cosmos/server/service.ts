import type { IncomingHttpHeaders } from 'node:http';
import { messageOf } from '../../../base/errors.ts';
import type { UsageError } from '../../../base/errors.ts';
import type { StoredAccount } from '../storage/account.ts';
import { authorize, signer } from './auth.ts';
import type { Signer } from './auth.ts';
import { byName } from './by-rid.ts';
import { fateOf } from '../time-and-charge/faults.ts';
import type { Fate } from '../time-and-charge/faults.ts';
import { items } from '../items/items.ts';
import { requestKindOf } from '../wire/kind.ts';
import { Queries } from '../query/query.ts';
import { accountInfo, resources } from '../resources/resources.ts';
import { Stats } from './stats.ts';
import type { EmulatorStats } from './stats.ts';
import { metered } from '../storage/budget.ts';
import { badRequest, flag, notFound, wireTooLarge, WireError } from '../wire/wire.ts';
import type { WireCall, Reply } from '../wire/wire.ts';

/** The first part of the path of commands to the server itself. Databases are under `dbs`, so it is no database's name. */
export const ADMIN = '_millrace';

/** Commands that work without the disk; `crash` is how to open it again. */
const WITHOUT_DISK = new Set(['crash', 'stats']);

/** The longest a transactional batch may run ("Transactional batch operations"). */
const TRANSACTION_MS = 5000;

/** Answers a command to the server itself. */
export type Admin = (from: string | undefined, call: WireCall) => Promise<Reply>;

/** The issuer of tokens, which clients may send instead of the account's key. */
export interface RequestIdentity {
  /** Rejects with WireError if the token is invalid or does not allow the call. */
  authorize(token: string, call: WireCall): Promise<void>;
}

/** A received request. */
export interface Incoming {
  readonly method: string;
  /** The path with the rest of the URL, still encoded. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** Undefined: too large to keep. */
  readonly body: Buffer | undefined;
}

/** The client that waits for an answer, over a socket or in this process. Either `send` or `cut` is called, once. */
export interface RequestCaller {
  /** The address of the client. */
  readonly address: string | undefined;
  /** Takes the answer, and owns it from then on. */
  send(reply: Reply): void;
  /** Breaks the connection without an answer. */
  cut(): void;
}

/** Answers the requests on one account, from sockets and from this process, and simulates its faults. */
export class Service {
  readonly account: StoredAccount;
  /** A restart keeps them. */
  stats = new Stats();
  /** Until when the server is stalled, in milliseconds since 1970 by the machine's clock. */
  stalledUntil = 0;
  readonly #signer: Signer;
  readonly #queries: Queries;
  readonly #admin: Admin;
  readonly #identity: RequestIdentity | undefined;
  readonly #waiting = new Set<RequestCaller>();
  #closed = false;
  #activity = 0;

  constructor(account: StoredAccount, key: string, admin: Admin, identity?: RequestIdentity) {
    this.account = account;
    this.#admin = admin;
    this.#identity = identity;
    this.#signer = signer(Buffer.from(key, 'base64'));
    this.#queries = new Queries(account);
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Stops answering, and breaks the connections of all waiting callers. */
  close(): void {
    this.#closed = true;
    for (const caller of this.#waiting) caller.cut();
    this.#waiting.clear();
  }

  /** Drops results that are kept for later requests and are too old. */
  sweep(): void {
    this.#queries.sweep();
  }

  snapshot(): EmulatorStats {
    return this.stats.snapshot(this.#queries.kept);
  }

  handle(incoming: Incoming, caller: RequestCaller): void {
    this.#waiting.add(caller);
    try {
      const call = byName(this.account, callOf(incoming));
      const failure = this.account.journal?.failure;
      if (call.segments[0] === ADMIN) {
        if (failure && !WITHOUT_DISK.has(call.segments[1] ?? '')) throw unwritten(failure);
        this.#later(caller, this.#admin(caller.address, call));
      } else this.#admit(call, incoming.body !== undefined, caller);
    } catch (error) {
      this.#answer(caller, 'normal', refusal(error));
    }
  }

  /** Performs the call of a client with the account's key or a token; throws WireError for others. */
  #admit(call: WireCall, whole: boolean, caller: RequestCaller): void {
    const kind = requestKindOf(call);
    this.stats.request(kind);
    const go = (): void => {
      if (!whole) throw wireTooLarge();
      this.#perform(call, this.#fate(call, kind), caller);
    };
    const token = tokenOf(call);
    if (token === undefined) {
      authorize(call, this.#signer);
      go();
      return;
    }
    if (!this.#identity)
      throw new WireError(401, 'This server does not accept tokens, because it was started without TLS.', 5002);
    this.#identity
      .authorize(token, call)
      .then(go)
      .catch((error: unknown) => this.#answer(caller, 'normal', refusal(error)));
  }

  #later(caller: RequestCaller, reply: Promise<Reply>): void {
    reply.then(
      (made) =>
        this.account.journal?.failure
          ? this.#send(caller, made)
          : this.#release(caller, () => this.#send(caller, made)),
      (error: unknown) => this.#send(caller, refusal(error)),
    );
  }

  #perform(call: WireCall, fate: Fate, caller: RequestCaller): void {
    if (fate === 'reset-before') {
      this.#cut(caller);
      return;
    }
    const latency = this.#latency(call);
    if (latency > TRANSACTION_MS && isTransaction(call)) {
      this.#after(TRANSACTION_MS, () => this.#answer(caller, 'normal', timedOut().reply()));
      return;
    }
    this.#after(latency / 2, () => {
      const reply = this.#run(call);
      this.#after(latency / 2, () => this.#answer(caller, fate, reply));
    });
  }

  /** Runs `work` after `ms` and after the end of a stall; immediately if there is nothing to wait for. */
  #after(ms: number, work: () => void): void {
    const wait = Math.max(ms, this.stalledUntil - Date.now());
    if (wait <= 0) work();
    else {
      setTimeout(() => {
        if (!this.#closed) this.#after(0, work);
      }, wait);
    }
  }

  #run(call: WireCall): Reply {
    try {
      const failure = this.account.journal?.failure;
      if (failure) throw unwritten(failure);
      return this.#route(call);
    } catch (error) {
      return refusal(error);
    }
  }

  /** How long a request takes, in milliseconds. */
  #latency({ segments }: WireCall): number {
    const { latencyMs = 0, jitterMs = 0 } = this.account.faults;
    if (segments[4] !== 'docs' || latencyMs + jitterMs === 0) return 0;
    return latencyMs + (jitterMs > 0 ? this.account.random() * jitterMs : 0);
  }

  #answer(caller: RequestCaller, fate: Fate, made: Reply): void {
    if (this.#closed) return;
    const reply = typeof fate === 'object' ? fate.answer : made;
    this.stats.status(reply.status);
    this.stats.charge += Number(reply.headers['x-ms-request-charge'] ?? 0);
    const send = (): void => {
      if (fate === 'reset-after') this.#cut(caller);
      else this.#send(caller, reply);
    };
    this.#release(caller, send);
  }

  /** Sends an answer after all earlier writes are on disk. If they can't be written, it sends 503 instead. */
  #release(caller: RequestCaller, send: () => void): void {
    const { journal } = this.account;
    if (!journal) send();
    else journal.release(send, (failure) => this.#send(caller, unwritten(failure).reply()));
  }

  #fate(call: WireCall, kind: string): Fate {
    try {
      const fate = fateOf(this.account.faults, this.account.random, call, kind);
      if (fate !== 'normal') this.stats.faults++;
      return fate;
    } catch (error) {
      this.stats.faults++;
      throw error;
    }
  }

  #route(call: WireCall): Reply {
    const { segments } = call;
    if (segments.length === 0) return accountInfo(call, this.#identity ? 'https' : 'http');
    if (segments[4] !== 'docs') return resources(this.account, call);
    if (segments[0] !== 'dbs' || segments[2] !== 'colls' || segments.length > 6) throw notFound('Resource');
    const container = this.account.databases.get(segments[1]!)?.containers.get(segments[3]!);
    if (!container) throw notFound('Owner resource');
    return metered(this.account, call, container, () => items(this.account, this.#queries, call, container));
  }

  #send(caller: RequestCaller, reply: Reply): void {
    if (!this.#waiting.delete(caller)) return;
    reply.headers['x-ms-activity-id'] = `00000000-0000-0000-0000-${(++this.#activity).toString(16).padStart(12, '0')}`;
    reply.headers['x-ms-request-charge'] ??= '0';
    caller.send(reply);
  }

  #cut(caller: RequestCaller): void {
    if (this.#waiting.delete(caller)) caller.cut();
  }
}

const callOf = ({ method, url, headers, body }: Incoming): WireCall => ({
  method,
  segments: segmentsOf(url),
  headers,
  body: body ?? Buffer.alloc(0),
});

/** There are no query strings: the client doesn't encode a `?` in an id, and the service reads it as a part of the id. */
function segmentsOf(url: string): string[] {
  try {
    return url
      .split('/')
      .filter((segment) => segment !== '')
      .map(decodeURIComponent);
  } catch {
    throw badRequest('The request path is not well-formed: it holds a broken percent escape.');
  }
}

/** The token of `type=aad&ver=1.0&sig=…`, plain or percent-encoded. */
function tokenOf({ headers }: WireCall): string | undefined {
  return /^type(?:=|%3d)aad(?:&|%26)ver(?:=|%3d)1\.0(?:&|%26)sig(?:=|%3d)(.*)$/i.exec(headers.authorization ?? '')?.[1];
}

const isTransaction = ({ headers }: WireCall): boolean => flag(headers, 'x-ms-cosmos-batch-atomic');

const unwritten = ({ message, hint }: UsageError): WireError => new WireError(503, `${message} ${hint ?? ''}`.trim());

const timedOut = (): WireError =>
  new WireError(408, 'The requested operation exceeded the alloted time. The batch had no effect.');

function refusal(error: unknown): Reply {
  if (error instanceof WireError) return error.reply();
  // The exception has discarded the staged writes, so nothing is half done.
  if (error instanceof RangeError) return badRequest('The request is nested too deeply or asks for too much.').reply();
  return new WireError(500, `The embedded server failed: ${messageOf(error)}`).reply();
}
