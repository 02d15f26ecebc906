import type { Reply } from './wire.ts';

/** The names of a container that its answers contain. */
interface Named {
  readonly rid: string;
  readonly link: string;
}

/** A physical partition and its lsn. */
interface Progress {
  readonly id: string;
  readonly lsn: number;
}

/** Headers that name the container. Names are percent-encoded: headers are ASCII, and the client compares this form. */
export const containerHeaders = ({ rid, link }: Named): Record<string, string> => ({
  'x-ms-content-path': rid,
  'x-ms-alt-content-path': encodeURI(link),
});

/** Headers of every answer about items, also of errors: a 404 moves the session forward like a 200. */
export function itemHeaders(container: Named, ranges: readonly Progress[]): Record<string, string> {
  return { ...containerHeaders(container), 'x-ms-session-token': sessionToken(ranges) };
}

/** Headers of a page of a change feed: its end, and its number of documents. */
export const feedHeaders = (container: Named, range: Progress, lsn: number, count: number): Record<string, string> => ({
  ...itemHeaders(container, [range]),
  etag: `"${lsn}"`,
  'x-ms-documentdb-partitionkeyrangeid': range.id,
  'x-ms-item-count': String(count),
});

/** `<range>:<version>#<lsn>` per range; the client keeps the parts and sends them back. */
const sessionToken = (ranges: readonly Progress[]): string => ranges.map(({ id, lsn }) => `${id}:-1#${lsn}`).join(',');

export const chargeText = (charge: number): string => String(Math.round(charge * 100) / 100);

/** An answer with a JSON body, or none where it is absent. */
export function reply(status: number, charge: number, headers: Record<string, string>, body?: string | Buffer): Reply {
  headers['x-ms-request-charge'] = chargeText(charge);
  if (body === undefined) return { status, headers };
  return typeof body === 'string' ? { status, headers, text: body } : { status, headers, bytes: body };
}
