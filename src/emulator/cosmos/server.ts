import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { messageOf } from '../../base/errors.ts';
import type { Account } from './account.ts';
import { authorize, signer } from './auth.ts';
import type { Signer } from './auth.ts';
import { fateOf } from './faults.ts';
import type { Fate } from './faults.ts';
import { items } from './items.ts';
import { kindOf } from './kind.ts';
import { Queries } from './query.ts';
import { accountInfo, resources } from './resources.ts';
import { Stats } from './stats.ts';
import { metered } from './throughput.ts';
import { badRequest, notFound, tooLarge, WireError } from './wire.ts';
import type { Call, Reply } from './wire.ts';

/** A little above the service's 2 MB, so that its own limit is what refuses. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;

/** Where commands to the server itself go; no database may be called so, as those live under `dbs`. */
export const ADMIN = '_millrace';

/** Answers a command to the server itself. */
export type Admin = (from: string | undefined, call: Call) => Reply;

/** The HTTP face of one account. */
export class CosmosServer {
  readonly account: Account;
  /** Goes on over a restart. */
  stats = new Stats();
  readonly #signer: Signer;
  readonly #queries: Queries;
  readonly #http: Server;
  readonly #admin: Admin;
  /** Until when everything stands still, in milliseconds since 1970 by the machine's clock. */
  stalledUntil = 0;
  #closed = false;
  #activity = 0;

  constructor(account: Account, key: string, admin: Admin) {
    this.account = account;
    this.#admin = admin;
    this.#signer = signer(Buffer.from(key, 'base64'));
    this.#queries = new Queries(account);
    this.#http = createServer(
      { keepAliveTimeout: 120_000, requestTimeout: 0, maxHeaderSize: 65_536 },
      (request, response) => this.#receive(request, response),
    );
  }

  /** Resolves to the port; rejects with Node's own error. */
  listen(port: number, host: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#http.once('error', reject);
      this.#http.listen(port, host, () => {
        this.#http.off('error', reject);
        const address = this.#http.address();
        resolve(typeof address === 'object' && address ? address.port : port);
      });
    });
  }

  close(): Promise<void> {
    this.#closed = true;
    return new Promise((resolve) => {
      this.#http.close(() => resolve());
      // The client's agents keep connections alive: without this, closing would wait for them.
      this.#http.closeAllConnections();
    });
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= MAX_BODY_BYTES) chunks.push(chunk);
      else chunks.length = 0;
    });
    // A client that went away needs no answer.
    request.on('error', () => response.destroy());
    response.on('error', () => response.destroy());
    request.on('end', () => {
      const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
      this.#handle(request, response, size > MAX_BODY_BYTES ? undefined : body);
    });
  }

  #handle(request: IncomingMessage, response: ServerResponse, body: Buffer | undefined): void {
    let call: Call;
    let kind: string;
    let fate: Fate;
    try {
      call = callOf(request, body);
      if (call.segments[0] === ADMIN) {
        this.#send(response, this.#admin(request.socket.remoteAddress, call));
        return;
      }
      kind = kindOf(call);
      this.stats.request(kind);
      authorize(call, this.#signer);
      if (!body) throw tooLarge();
      fate = this.#fate(call, kind);
    } catch (error) {
      this.#answer(request, response, 'normal', refusal(error));
      return;
    }
    if (fate === 'reset-before') {
      request.socket.destroy();
      return;
    }
    const run = (): Reply => {
      try {
        return this.#route(call);
      } catch (error) {
        return refusal(error);
      }
    };
    const wait = this.#delay(call);
    if (wait === 0) {
      this.#answer(request, response, fate, run());
      return;
    }
    setTimeout(() => {
      if (this.#closed) return;
      const reply = run();
      setTimeout(() => this.#answer(request, response, fate, reply), wait / 2);
    }, wait / 2);
  }

  /** What this request has to wait for latency and for the world to go on, in milliseconds. */
  #delay({ segments }: Call): number {
    const stalled = Math.max(0, this.stalledUntil - Date.now());
    const { latencyMs = 0, jitterMs = 0 } = this.account.faults;
    if (segments[4] !== 'docs' || latencyMs + jitterMs === 0) return 2 * stalled;
    return 2 * stalled + latencyMs + (jitterMs > 0 ? this.account.random() * jitterMs : 0);
  }

  #answer(request: IncomingMessage, response: ServerResponse, fate: Fate, made: Reply): void {
    if (this.#closed) return;
    const reply = typeof fate === 'object' ? fate.answer : made;
    this.stats.status(reply.status);
    this.stats.charge += Number(reply.headers['x-ms-request-charge'] ?? 0);
    const send = (): void => {
      if (fate === 'reset-after') request.socket.destroy();
      else this.#send(response, reply);
    };
    if (this.account.journal) this.account.journal.release(send);
    else send();
  }

  #fate(call: Call, kind: string): Fate {
    try {
      const fate = fateOf(this.account, call, kind);
      if (fate !== 'normal') this.stats.faults++;
      return fate;
    } catch (error) {
      this.stats.faults++;
      throw error;
    }
  }

  #route(call: Call): Reply {
    const { segments } = call;
    if (segments.length === 0) return accountInfo(call);
    if (segments[4] !== 'docs') return resources(this.account, call);
    if (segments[0] !== 'dbs' || segments[2] !== 'colls' || segments.length > 6) throw notFound('Resource');
    const container = this.account.databases.get(segments[1]!)?.containers.get(segments[3]!);
    if (!container) throw notFound('Owner resource');
    return metered(this.account, call, container, () => items(this.account, this.#queries, call, container));
  }

  #send(response: ServerResponse, { status, headers, text, bytes = Buffer.from(text ?? '') }: Reply): void {
    if (response.destroyed) return;
    const all: Record<string, string | number> = {
      'x-ms-activity-id': `00000000-0000-0000-0000-${(++this.#activity).toString(16).padStart(12, '0')}`,
      'x-ms-request-charge': '0',
      ...headers,
    };
    if (bytes.length > 0) all['content-type'] = 'application/json';
    if (status !== 204 && status !== 304) all['content-length'] = bytes.length;
    response.writeHead(status, all);
    response.end(status === 204 || status === 304 ? undefined : bytes);
  }
}

const callOf = (request: IncomingMessage, body: Buffer | undefined): Call => ({
  method: request.method ?? 'GET',
  segments: segmentsOf(request.url ?? '/'),
  headers: request.headers,
  body: body ?? Buffer.alloc(0),
});

function segmentsOf(url: string): string[] {
  const [path = ''] = url.split('?', 1);
  try {
    return path
      .split('/')
      .filter((segment) => segment !== '')
      .map(decodeURIComponent);
  } catch {
    throw badRequest('The request path is not well-formed: it holds a broken percent escape.');
  }
}

function refusal(error: unknown): Reply {
  if (error instanceof WireError) return error.reply();
  // Staged writes are gone with the exception, so nothing is half done.
  if (error instanceof RangeError) return badRequest('The request is nested too deeply or asks for too much.').reply();
  return new WireError(500, `The embedded server failed: ${messageOf(error)}`).reply();
}
