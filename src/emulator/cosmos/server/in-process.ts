import type { CosmosClientOptions } from '@azure/cosmos';
import { reuse } from '../wire/bytes.ts';
import type { RequestCaller, Service } from './service.ts';
import type { Reply } from '../wire/wire.ts';

type HttpClient = NonNullable<CosmosClientOptions['httpClient']>;
type Request = Parameters<HttpClient['sendRequest']>[0];
type Response = Awaited<ReturnType<HttpClient['sendRequest']>>;

/**
 * The HTTP client of a `CosmosClient` in this process: it calls the service without sockets, with the same latency, faults
 * and broken connections. Each call runs in a later turn of the event loop, so that timers and other work can run.
 * @param current the service that answers now; a restart replaces it
 */
export function inProcess(current: () => Service): HttpClient {
  return {
    sendRequest: (request) =>
      new Promise((resolve, reject) => {
        const { abortSignal } = request;
        const abort = (): void => reject(failure('AbortError', 'The operation was aborted.'));
        const unlisten = (): void => abortSignal?.removeEventListener('abort', abort);
        if (abortSignal?.aborted) {
          abort();
          return;
        }
        abortSignal?.addEventListener('abort', abort);
        const caller: RequestCaller = {
          address: '127.0.0.1',
          send: (reply) => {
            unlisten();
            resolve(responseOf(request, reply));
          },
          cut: () => {
            unlisten();
            reject(failure('RestError', 'socket hang up', 'ECONNRESET'));
          },
        };
        setImmediate(() => {
          if (abortSignal?.aborted) return;
          const service = current();
          if (service.closed) {
            unlisten();
            reject(failure('RestError', `connect ECONNREFUSED ${request.url}`, 'ECONNREFUSED'));
          } else service.handle(incomingOf(request), caller);
        });
      }),
  };
}

function incomingOf({ method, url, headers, body }: Request): Parameters<Service['handle']>[0] {
  const { pathname, search, host } = new URL(url);
  return {
    method,
    url: `${pathname}${search}`,
    headers: { ...headers.toJSON(), host },
    body: Buffer.from(typeof body === 'string' ? body : ''),
  };
}

function responseOf(request: Request, { status, headers, text, bytes }: Reply): Response {
  const empty = status === 204 || status === 304;
  const bodyAsText = empty ? '' : (text ?? bytes?.toString() ?? '');
  if (bytes) reuse(bytes);
  return { request, status, headers: new Fields(headers), bodyAsText };
}

/** An error like the HTTP client's own: `@azure/cosmos` decides by name and code what it repeats. */
const failure = (name: string, message: string, code?: string): Error =>
  Object.assign(new Error(message), { name, ...(code === undefined ? {} : { code }) });

/** An answer's headers, in the form that the client's pipeline reads. */
class Fields implements Iterable<[string, string]> {
  readonly #values: Record<string, string>;

  /** Takes over `values`, whose names are in lower case. */
  constructor(values: Record<string, string>) {
    this.#values = values;
  }

  get(name: string): string | undefined {
    return this.#values[name.toLowerCase()];
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#values, name.toLowerCase());
  }

  set(name: string, value: string | number | boolean): void {
    this.#values[name.toLowerCase()] = String(value);
  }

  delete(name: string): void {
    delete this.#values[name.toLowerCase()];
  }

  toJSON(): Record<string, string> {
    return { ...this.#values };
  }

  [Symbol.iterator](): Iterator<[string, string]> {
    return Object.entries(this.#values)[Symbol.iterator]();
  }
}
