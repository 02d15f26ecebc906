// A server before Azurite, for what Azurite lacks.
import { type IncomingMessage, type ServerResponse, createServer, request } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { type BlobClient, BlobServiceClient } from '@azure/storage-blob';

export interface StorageBefore extends AsyncDisposable {
  readonly connectionString: string;
}

export interface Asked {
  readonly from: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  /** `container/name`, as addresses write them. */
  readonly blob: string;
  readonly comp: string | null;
  /** The blob in Azurite. */
  readonly client: () => BlobClient;
  /** Lets Azurite answer. */
  readonly forward: (edit?: {
    readonly xml?: (text: string) => string;
    readonly headers?: Record<string, string>;
  }) => Promise<void>;
  readonly refuse: (status: number, code: string) => void;
}

export async function startStorageBefore(
  connectionString: string,
  serve: (asked: Asked) => Promise<void> | void,
): Promise<StorageBefore> {
  const behind = BlobServiceClient.fromConnectionString(connectionString);
  const { hostname, port, pathname } = new URL(behind.url);

  const forward = async (
    from: IncomingMessage,
    response: ServerResponse,
    { xml, headers: more }: { readonly xml?: (text: string) => string; readonly headers?: Record<string, string> },
  ): Promise<void> => {
    const sent = request({ hostname, port, path: from.url, method: from.method, headers: from.headers });
    from.pipe(sent);
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    const body = await buffer(answer);
    const bytes = xml && answer.statusCode === 200 ? Buffer.from(xml(body.toString('utf8'))) : body;
    const { 'transfer-encoding': _, 'content-length': length, ...headers } = answer.headers;
    // The answer to HEAD has the length of a body that doesn't come.
    const size = from.method === 'HEAD' ? length : bytes.length;
    const edited = { ...headers, ...more, ...(size !== undefined && { 'content-length': size }) };
    response.writeHead(answer.statusCode ?? 500, edited);
    response.end(bytes);
  };

  const askedOf = (from: IncomingMessage, response: ServerResponse): Asked => {
    const url = new URL(from.url ?? '', 'http://host');
    const blob = url.pathname.slice(pathname.length + (pathname.endsWith('/') ? 0 : 1));
    return {
      from,
      response,
      url,
      blob,
      comp: url.searchParams.get('comp'),
      client: () => {
        const [container = '', ...name] = blob.split('/').map(decodeURIComponent);
        return behind.getContainerClient(container).getBlobClient(name.join('/'));
      },
      forward: (edit = {}) => forward(from, response, edit),
      refuse: (status, code) => {
        response.writeHead(status, { 'x-ms-error-code': code, 'content-type': 'application/xml' });
        response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>Refused</Message></Error>`);
      },
    };
  };

  const server = createServer((from, response) => {
    Promise.resolve(serve(askedOf(from, response))).catch((error: unknown) => response.destroy(error as Error));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const own = String((server.address() as AddressInfo).port);
  return {
    connectionString: connectionString.replaceAll(`:${port}`, `:${own}`),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Edits each blob of a list: `edit` gets its address and its element. */
export const eachBlob = (container: string, xml: string, edit: (blob: string, element: string) => string): string =>
  xml.replaceAll(/<Blob><Name>([^<]*)<\/Name>.*?<\/Blob>/gs, (element: string, name: string) =>
    edit(`${container}/${name.split('/').map(encodeURIComponent).join('/')}`, element),
  );
