import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sharedError } from '../../base/shared-errors.ts';
import { messageOf } from '../../base/errors.ts';
import type { FunctionsCore, TypedData } from './core.ts';
import { type Keys, sameKey } from './keys.ts';
import { type Route, match } from './routes.ts';

/** Bytes; the default of FUNCTIONS_REQUEST_BODY_SIZE_LIMIT ("Azure Functions HTTP trigger", limits). */
const MAX_REQUEST = 104_857_600;
/** Headers that only the platform may set; they are removed from requests. */
const PLATFORM = /^x-ms-client-principal/i;

export interface HttpServer extends AsyncDisposable {
  readonly port: number;
}

export interface HttpServerOptions {
  readonly port: number;
  readonly routes: readonly Route[];
  readonly keys: Keys;
  readonly core: FunctionsCore;
  readonly log: (name: string) => (level: string, text: string) => void;
  /** Runs a timer's function now: POST /admin/functions/NAME, with the master key. */
  readonly fire: (name: string) => boolean;
}

/**
 * Serves an app's HTTP functions, to this machine only. It requires the same keys as Azure.
 * @throws UsageError `cannot-listen`
 */
export async function serveHttp(options: HttpServerOptions): Promise<HttpServer> {
  const server = createServer((request, response) => {
    void answer(request, response, options).catch((error: unknown) => {
      if (!response.headersSent) send(response, 500, messageOf(error));
      else response.destroy();
    });
  });
  server.listen(options.port, '127.0.0.1');
  await once(server, 'listening').catch((cause: unknown) => {
    throw sharedError('cannot-listen', `Port ${options.port} can't be used: ${messageOf(cause)}`, {
      cause,
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeIdleConnections();
      await once(server, 'close');
    },
  };
}

async function answer(request: IncomingMessage, response: ServerResponse, options: HttpServerOptions): Promise<void> {
  const { routes, keys, core, log, fire } = options;
  const { method = 'GET', headers } = request;
  const url = new URL(request.url ?? '/', `http://${headers.host ?? '127.0.0.1'}`);
  const given = String(headers['x-functions-key'] ?? url.searchParams.get('code') ?? '');
  const admin = /^\/admin\/functions\/([^/]+)$/.exec(url.pathname)?.[1];
  if (admin !== undefined) {
    if (!sameKey(given, keys.master)) return send(response, 401);
    return send(response, method === 'POST' && fire(admin) ? 202 : 404);
  }
  const found = match(routes, method, url.pathname);
  if (!('route' in found)) {
    if (found.methods.length === 0) return send(response, 404);
    return send(response, 405, '', { allow: found.methods.join(', ') });
  }
  const { route, params } = found;
  const allowed =
    route.authLevel === 'anonymous' ||
    sameKey(given, keys.master) ||
    (route.authLevel === 'function' && sameKey(given, keys.of(route.name)));
  if (!allowed) return send(response, 401);
  const body = await read(request);
  if (!body) return send(response, 413, '', { connection: 'close' });
  const passed = Object.entries(headers).filter(([name]) => !PLATFORM.test(name));
  const result = await core.invoke(route.name, {
    data: {
      http: {
        method,
        url: url.href,
        headers: Object.fromEntries(passed.map(([name, value]) => [name, String(value)])),
        query: Object.fromEntries(url.searchParams),
        params,
        ...(body.length > 0 ? { body: { bytes: body } } : {}),
      },
    },
    log: log(route.name),
  });
  const { statusCode = '204', headers: out = {}, body: content = {} } = result?.http ?? {};
  response.writeHead(Number(statusCode), out).end(bytesOf(content));
}

function bytesOf({ bytes, string, json }: TypedData): Uint8Array | string {
  return bytes ?? string ?? json ?? '';
}

/** Undefined: the body is too large. */
async function read(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_REQUEST) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function send(response: ServerResponse, status: number, text = '', headers: Record<string, string> = {}): void {
  response.writeHead(status, headers).end(text);
}
