import { chargeText } from './charge.ts';
import type { Container } from './container.ts';
import type { PhysicalPartition } from './physical-partition.ts';
import type { Reply } from './wire.ts';

/** Which container an answer is about. Names come percent-encoded: headers are ASCII, and the client compares them so. */
export const containerHeaders = (container: Container): Record<string, string> => ({
  'x-ms-content-path': container.rid,
  'x-ms-alt-content-path': encodeURI(container.link),
});

/** What every answer about items carries, refusals too: a 404 moves the session forward as a 200 does. */
export function itemHeaders(container: Container, ranges: readonly PhysicalPartition[]): Record<string, string> {
  return { ...containerHeaders(container), 'x-ms-session-token': sessionToken(ranges) };
}

/** `<range>:<version>#<lsn>` per range; the client keeps the parts and sends them back. */
const sessionToken = (ranges: readonly PhysicalPartition[]): string =>
  ranges.map(({ id, lsn }) => `${id}:-1#${lsn}`).join(',');

/** An answer with a JSON body, or none where it is absent. */
export function reply(status: number, charge: number, headers: Record<string, string>, body?: string | Buffer): Reply {
  headers['x-ms-request-charge'] = chargeText(charge);
  if (body === undefined) return { status, headers };
  return typeof body === 'string' ? { status, headers, text: body } : { status, headers, bytes: body };
}
