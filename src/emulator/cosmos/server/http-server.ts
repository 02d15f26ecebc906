import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { TlsCertificate } from '../../tls.ts';
import { reuse } from '../wire/bytes.ts';
import type { Service } from './service.ts';
import { WireError } from '../wire/wire.ts';
import type { Reply } from '../wire/wire.ts';

/** Above the service's limit of 2 MB, so that a document above that limit gets the service's answer. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;
const NOTHING = Buffer.alloc(0);

/** Limits of connections; times in milliseconds. */
export interface ConnectionLimits {
  /** The longest wait for the head of a request, counted from the connection or from its first byte. */
  readonly headersTimeout: number;
  /** The longest wait for a whole request. */
  readonly requestTimeout: number;
  /** The longest time without a byte in either direction: the client doesn't read, or the server hangs. */
  readonly idleTimeout: number;
  /** The interval at which the first two times are checked. */
  readonly checkInterval: number;
  /** The most connections; further ones are closed immediately. */
  readonly connections: number;
}

const LIMITS: ConnectionLimits = {
  headersTimeout: 20_000,
  requestTimeout: 60_000,
  idleTimeout: 600_000,
  checkInterval: 5000,
  connections: 1000,
};

/** Settings of the HTTP server. */
export interface HttpSettings {
  /** Whether a Host header is one of this server's names. */
  readonly isOwn: (host: string | undefined) => boolean;
  /** With it the server uses HTTPS. */
  readonly certificate?: TlsCertificate | undefined;
  readonly limits?: ConnectionLimits;
}

/** Serves a `Service` over HTTP or HTTPS. */
export class CosmosServer {
  readonly #service: Service;
  readonly #http: Server;
  readonly #isOwn: HttpSettings['isOwn'];

  constructor(service: Service, { isOwn, certificate, limits = LIMITS }: HttpSettings) {
    this.#service = service;
    this.#isOwn = isOwn;
    const { headersTimeout, requestTimeout, idleTimeout, checkInterval, connections } = limits;
    const settings = {
      keepAliveTimeout: 120_000,
      headersTimeout,
      requestTimeout,
      connectionsCheckingInterval: checkInterval,
      maxHeaderSize: 65_536,
    };
    const receive = (request: IncomingMessage, response: ServerResponse): void => this.#receive(request, response);
    this.#http = certificate
      ? createSecureServer({ ...settings, ...certificate }, receive)
      : createServer(settings, receive);
    this.#http.maxConnections = connections;
    this.#http.setTimeout(idleTimeout, (socket) => socket.destroy());
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
    this.#service.close();
    return new Promise((resolve) => {
      this.#http.close(() => resolve());
      // The client's agents keep connections alive: without this, closing would wait for them.
      this.#http.closeAllConnections();
    });
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    // A client that went away needs no answer.
    request.on('error', () => response.destroy());
    response.on('error', () => response.destroy());
    const { headers } = request;
    if (!this.#isOwn(headers.host)) {
      send(response, misdirected(headers.host).reply());
      request.resume();
      return;
    }
    if (request.method === 'GET' && headers['content-length'] === undefined && !headers['transfer-encoding']) {
      this.#handle(request, response, NOTHING);
      return;
    }
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= MAX_BODY_BYTES) chunks.push(chunk);
      else chunks.length = 0;
    });
    request.on('end', () => {
      const whole = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
      this.#handle(request, response, size > MAX_BODY_BYTES ? undefined : whole);
    });
  }

  #handle(request: IncomingMessage, response: ServerResponse, body: Buffer | undefined): void {
    const { method = 'GET', url = '/', headers } = request;
    this.#service.handle(
      { method, url, headers, body },
      {
        address: request.socket.remoteAddress,
        send: (reply) => send(response, reply),
        cut: () => request.socket.destroy(),
      },
    );
  }
}

const misdirected = (host: string | undefined): WireError =>
  new WireError(
    421,
    `The name '${host ?? ''}' is not a name of this server. Use localhost or its address, or add the name to the option 'names'.`,
  );

function send(response: ServerResponse, { status, headers, text, bytes }: Reply): void {
  if (response.destroyed) return;
  if (status === 204 || status === 304) {
    response.writeHead(status, headers);
    response.end();
    return;
  }
  // Node.js sends a string body together with the head.
  const body = bytes ?? text ?? '';
  if (body.length > 0) headers['content-type'] = 'application/json';
  headers['content-length'] = String(bytes ? bytes.length : Buffer.byteLength(body));
  response.writeHead(status, headers);
  if (bytes) response.end(bytes, () => reuse(bytes));
  else response.end(body);
}
