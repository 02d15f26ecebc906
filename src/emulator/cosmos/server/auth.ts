import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
import { badRequest, header, WireError } from '../wire/wire.ts';
import type { WireCall } from '../wire/wire.ts';

/** HMAC-SHA256 with one key. */
export type Signer = (text: string) => Buffer;

/** The key's object is made once: for every request it would cost more than the rest. */
export function signer(key: Buffer): Signer {
  const secret = createSecretKey(key);
  return (text) => createHmac('sha256', secret).update(text).digest();
}

/**
 * Checks the request's signature: HMAC-SHA256 over verb, resource type, resource link and date. The link is the
 * parent's for feeds, creates, batches and queries, and the item's own otherwise.
 */
export function authorize(call: WireCall, sign: Signer): void {
  if (call.segments[0] === 'offers' && call.segments.length > 2) throw badRequest('The id of the offer is malformed.');
  const date = header(call.headers, 'x-ms-date') ?? header(call.headers, 'date') ?? '';
  const { type, link } = subject(call.segments.map(asGatewaySees));
  const text = `${call.method.toLowerCase()}\n${type}\n${call.signedFor ?? link}\n${date.toLowerCase()}\n\n`;
  const wanted = sign(text);
  const given = signature(header(call.headers, 'authorization'));
  if (given?.length === wanted.length && timingSafeEqual(given, wanted)) return;
  throw new WireError(
    401,
    `The input authorization token can't serve the request. Please check that the expected payload is built as per the protocol, and check the key being used. Server used the following payload to sign: ${JSON.stringify(text)}`,
  );
}

/**
 * The service's gateway decodes a path once more than the client encodes it, and removes spaces at its end. An item whose
 * id this changes can be created, but not read, replaced or deleted by id (ASM-E38).
 */
function asGatewaySees(segment: string): string {
  let seen = segment;
  try {
    if (segment.includes('%')) seen = decodeURIComponent(segment);
  } catch {
    // The % begins no escape, so the segment stays as it is.
  }
  return seen.trimEnd();
}

function subject(segments: readonly string[]): { type: string; link: string } {
  if (segments.length === 0) return { type: '', link: '' };
  if (segments[0] === 'offers') return { type: 'offers', link: (segments[1] ?? '').toLowerCase() };
  if (segments[4] === 'operations') return { type: 'colls', link: segments.slice(0, 4).join('/') };
  return segments.length % 2 === 1
    ? { type: segments.at(-1)!, link: segments.slice(0, -1).join('/') }
    : { type: segments.at(-2)!, link: segments.join('/') };
}

function signature(value: string | undefined): Buffer | undefined {
  if (value === undefined) return undefined;
  let decoded = value;
  try {
    decoded = decodeURIComponent(value);
  } catch {
    return undefined;
  }
  const sig = /^type=master&ver=1\.0&sig=(.+)$/.exec(decoded)?.[1];
  return sig === undefined ? undefined : Buffer.from(sig, 'base64');
}
