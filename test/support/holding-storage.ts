// Azurite has no legal holds. This server stands before it, and holds as ASM-H40 and ASM-H41 say the service does.
import { type IncomingMessage, type ServerResponse, createServer, request } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { BlobServiceClient } from '@azure/storage-blob';

export interface HoldingStorage extends AsyncDisposable {
  readonly connectionString: string;
}

/** The one version of a blob. */
const VERSION = 'v1';

/** Names of blobs here are `container/name`, as addresses write them. */
export async function startHoldingStorage(connectionString: string): Promise<HoldingStorage> {
  const behind = BlobServiceClient.fromConnectionString(connectionString);
  const { hostname, port, pathname } = new URL(behind.url);
  const held = new Set<string>();
  /** Deleted under a hold: only their version is left. */
  const earlier = new Set<string>();

  const clientOf = (blob: string) => {
    const [container = '', ...name] = blob.split('/').map(decodeURIComponent);
    return behind.getContainerClient(container).getBlobClient(name.join('/'));
  };
  const refuse = (response: ServerResponse, status: number, code: string): void => {
    response.writeHead(status, { 'x-ms-error-code': code, 'content-type': 'application/xml' });
    response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>Refused</Message></Error>`);
  };

  async function forward(from: IncomingMessage, response: ServerResponse, edit?: (text: string) => string) {
    const asked = request({ hostname, port, path: from.url, method: from.method, headers: from.headers });
    from.pipe(asked);
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    const body = await buffer(answer);
    const bytes = edit && answer.statusCode === 200 ? Buffer.from(edit(body.toString('utf8'))) : body;
    const { 'transfer-encoding': _, 'content-length': length, ...headers } = answer.headers;
    // The answer to HEAD has the length of a body that doesn't come.
    const size = from.method === 'HEAD' ? length : bytes.length;
    response.writeHead(answer.statusCode ?? 500, { ...headers, ...(size !== undefined && { 'content-length': size }) });
    response.end(bytes);
  }

  /** Adds holds and versions to a list. */
  const listed = (container: string, include: string, xml: string): string =>
    xml.replaceAll(/<Blob><Name>([^<]*)<\/Name>(.*?)<\/Blob>/gs, (whole, name: string) => {
      const blob = `${container}/${name.split('/').map(encodeURIComponent).join('/')}`;
      const versions = include.includes('versions');
      if (earlier.has(blob) && !versions) return '';
      const current = earlier.has(blob) ? '' : '<IsCurrentVersion>true</IsCurrentVersion>';
      const version = versions ? `<VersionId>${VERSION}</VersionId>${current}` : '';
      const hold = held.has(blob) && include.includes('legalhold') ? '<LegalHold>true</LegalHold>' : '';
      return whole.replace('</Name>', `</Name>${version}`).replace('<Properties>', `<Properties>${hold}`);
    });

  async function serve(from: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(from.url ?? '', 'http://host');
    const blob = url.pathname.slice(pathname.length + (pathname.endsWith('/') ? 0 : 1));
    const comp = url.searchParams.get('comp');
    const version = url.searchParams.get('versionid');
    if (comp === 'list' && url.searchParams.get('restype') === 'container') {
      const include = url.searchParams.get('include') ?? '';
      return forward(from, response, (xml) => listed(blob, include, xml));
    }
    if (comp === 'legalhold') {
      if (version === null && (earlier.has(blob) || !(await clientOf(blob).exists())))
        return refuse(response, 404, 'BlobNotFound');
      if (from.headers['x-ms-legal-hold'] === 'true') held.add(blob);
      else held.delete(blob);
      return void response.writeHead(200).end();
    }
    if (version !== null && from.method === 'GET') {
      const bytes = await clientOf(blob).downloadToBuffer();
      return void response.writeHead(200, { 'content-length': bytes.length, etag: '"1"' }).end(bytes);
    }
    if (from.method === 'DELETE' && version !== null) {
      if (held.has(blob)) return refuse(response, 409, 'BlobImmutableDueToLegalHold');
      earlier.delete(blob);
      await clientOf(blob).deleteIfExists();
      return void response.writeHead(202).end();
    }
    if (earlier.has(blob)) return refuse(response, 404, 'BlobNotFound');
    if (from.method === 'DELETE' && held.has(blob)) {
      earlier.add(blob);
      return void response.writeHead(202).end();
    }
    return forward(from, response);
  }

  const server = createServer((from, response) => {
    serve(from, response).catch((error: unknown) => response.destroy(error as Error));
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
