// Azurite has no legal holds. This server stands before it, and holds as ASM-H40 and ASM-H41 say the service does.
import { type Asked, type StorageBefore, eachBlob, startStorageBefore } from './storage-before.ts';

export type HoldingStorage = StorageBefore;

/** The one version of a blob. */
const VERSION = 'v1';

export function startHoldingStorage(connectionString: string): Promise<HoldingStorage> {
  const held = new Set<string>();
  /** Deleted under a hold: only their version is left. */
  const earlier = new Set<string>();

  /** Adds holds and versions to a list. */
  const listed = (container: string, include: string, xml: string): string =>
    eachBlob(container, xml, (blob, element) => {
      const versions = include.includes('versions');
      if (earlier.has(blob) && !versions) return '';
      const current = earlier.has(blob) ? '' : '<IsCurrentVersion>true</IsCurrentVersion>';
      const version = versions ? `<VersionId>${VERSION}</VersionId>${current}` : '';
      const hold = held.has(blob) && include.includes('legalhold') ? '<LegalHold>true</LegalHold>' : '';
      return element.replace('</Name>', `</Name>${version}`).replace('<Properties>', `<Properties>${hold}`);
    });

  async function serve({ from, response, url, blob, comp, client, forward, refuse }: Asked): Promise<void> {
    const version = url.searchParams.get('versionid');
    if (comp === 'list' && url.searchParams.get('restype') === 'container') {
      const include = url.searchParams.get('include') ?? '';
      return forward({ xml: (xml) => listed(blob, include, xml) });
    }
    if (comp === null && url.searchParams.get('restype') === 'container' && from.method === 'GET')
      return forward({ headers: { 'x-ms-immutable-storage-with-versioning-enabled': 'true' } });
    if (comp === 'legalhold') {
      if (version === null && (earlier.has(blob) || !(await client().exists()))) return refuse(404, 'BlobNotFound');
      if (from.headers['x-ms-legal-hold'] === 'true') held.add(blob);
      else held.delete(blob);
      return void response.writeHead(200).end();
    }
    if (version !== null && from.method === 'GET') {
      const bytes = await client().downloadToBuffer();
      return void response.writeHead(200, { 'content-length': bytes.length, etag: '"1"' }).end(bytes);
    }
    if (from.method === 'DELETE' && version !== null) {
      if (held.has(blob)) return refuse(409, 'BlobImmutableDueToLegalHold');
      earlier.delete(blob);
      await client().deleteIfExists();
      return void response.writeHead(202).end();
    }
    if (earlier.has(blob)) return refuse(404, 'BlobNotFound');
    if (from.method === 'DELETE' && held.has(blob)) {
      earlier.add(blob);
      return void response.writeHead(202).end();
    }
    return forward();
  }

  return startStorageBefore(connectionString, serve);
}
