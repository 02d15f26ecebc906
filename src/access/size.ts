import type { MillraceError } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import { sharedError } from '../base/shared-errors.ts';

/** The most that Cosmos DB accepts for one document, in bytes of JSON ("Azure Cosmos DB service quotas"). */
const MOST_BYTES = 2 * 1024 * 1024;

/** The error for a refused document. If it is too large, the error names its size and its largest part. */
export function refusalOf(container: string, body: object, why: string): MillraceError {
  const bytes = bytesOf(body);
  if (bytes <= MOST_BYTES) return sharedError('sink-refused', why);
  const path = largest(body);
  const id = 'id' in body ? String(body.id) : '';
  return sharedError(
    'too-large',
    `The document ${id} for ${container} has ${bytes.toLocaleString('en-US')} bytes, but Cosmos DB accepts 2 MB at most; ${path} is its largest part`,
    { hint: `Leave ${path} out of the sink, or store it in documents of its own.` },
  );
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '');

/** The deepest path that still holds more than half of the document's bytes. */
function largest(body: unknown): string {
  let path = '';
  for (let part: unknown = body; isObject(part);) {
    const whole = bytesOf(part);
    const members: [string, unknown][] = Object.entries(part);
    const [name, value] = members.toSorted(([, a], [, b]) => bytesOf(b) - bytesOf(a))[0] ?? [];
    if (name === undefined || (path !== '' && bytesOf(value) * 2 < whole)) break;
    path += `/${name}`;
    part = value;
  }
  return path === '' ? '/' : path;
}
