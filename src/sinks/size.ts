import { MillraceError } from '../base/errors.ts';
import { isObject } from '../base/json.ts';

/** What Cosmos DB takes for one document, in bytes of JSON ("Azure Cosmos DB service quotas"). */
const MOST_BYTES = 2 * 1024 * 1024;

/** Why a sink refused a document: where it is too large, with its size and what makes it so. */
export function refusalOf(container: string, body: object, why: string): MillraceError {
  const bytes = bytesOf(body);
  if (bytes <= MOST_BYTES) return new MillraceError('sink-refused', why);
  const path = largest(body);
  const id = 'id' in body ? String(body.id) : '';
  return new MillraceError(
    'sink-too-large',
    `The document ${id} for ${container} has ${bytes.toLocaleString('en-US')} bytes, over the 2 MB that Cosmos DB takes; ${path} is the most of it`,
    { mend: `Keep ${path} out of the sink, or in documents of its own.` },
  );
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '');

/** The path of the part that more than half of the document's bytes are in, as deep as that holds. */
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
