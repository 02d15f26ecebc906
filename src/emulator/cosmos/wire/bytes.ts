/** Larger texts get a reused buffer: to allocate a buffer for a page costs more than to fill it. */
const LARGE = 64 * 1024;
const MAX_SPARE = 16;
const MAX_KEPT_BYTES = 8 * 1024 * 1024;

const small = Buffer.allocUnsafeSlow(LARGE);
const spare: ArrayBufferLike[] = [];

/**
 * Writes texts one after another as UTF-8. For a page of a thousand documents this takes a third of the time of joining
 * the texts and encoding the result. A caller that no longer needs the bytes may return them (`reuse`).
 */
export function wireBytesOf(texts: readonly string[]): Buffer {
  let longest = 0;
  for (const { length } of texts) longest += 3 * length;
  const buffer = longest <= LARGE ? small : large(longest);
  let at = 0;
  for (const text of texts) at += buffer.write(text, at, 'utf8');
  return buffer === small ? Buffer.from(small.subarray(0, at)) : buffer.subarray(0, at);
}

/** Writes `head`, the texts with commas between them, and `tail` as UTF-8. */
export function wireListOf(head: string, texts: readonly string[], tail: string): Buffer {
  const all = [head];
  for (const text of texts) all.push(text, ',');
  if (texts.length > 0) all.pop();
  all.push(tail);
  return wireBytesOf(all);
}

/** Takes back a buffer of `bytesOf`, to overwrite it: no code may read it any more. */
export function reuse({ buffer }: Buffer): void {
  const { byteLength } = buffer;
  if (byteLength > LARGE && byteLength <= MAX_KEPT_BYTES && spare.length < MAX_SPARE) spare.push(buffer);
}

function large(bytes: number): Buffer {
  const found = spare.findIndex(({ byteLength }) => byteLength >= bytes);
  const [kept] = found === -1 ? [] : spare.splice(found, 1);
  // Whole megabytes, so that the buffer of one page is large enough for the next.
  return kept ? Buffer.from(kept) : Buffer.allocUnsafeSlow(Math.ceil(bytes / 2 ** 20) * 2 ** 20);
}
