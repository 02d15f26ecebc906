import pMap from 'p-map';
import { type Clock, systemClock } from '../base/clock.ts';
import { fullKey } from '../cosmos/paths.ts';
import type { SourceContainer } from '../feed/reading/mapper.ts';
import type { Key } from '../feed/reading/change.ts';
import type { SinkDocument, DocumentAccess } from '../sinks/document-access.ts';

type Raw = Record<string, unknown>;

interface Delivered {
  readonly raw: Raw;
  readonly key: Key;
  readonly id: string;
}

/** The Functions host's JSON library rewrites such dates: `…00.000Z` becomes `…00Z`, and offsets are shifted. */
const DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/;

/** True if the Functions host may have changed a text of the document. */
export function mayBeRewritten(value: unknown): boolean {
  if (typeof value === 'string') return DATE.test(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(mayBeRewritten);
}

const FIRST_PAUSE_MS = 50;

/**
 * Maps each delivered document of a trigger's batch to the stored document, with the delivered `_lsn`. Leaves out a
 * document that was deleted or has a newer version: the latest-version feed drops such entries too (ASM-A2), and it will
 * deliver the newer version. A read may be older than the delivery (ASM-A3). So a read counts only if it has the
 * delivered etag, or if `readLagMs` have passed.
 */
export async function currentDocuments(
  source: SourceContainer,
  delivered: readonly Raw[],
  access: DocumentAccess,
  { readLagMs, signal, clock = systemClock }: { readLagMs: number; signal: AbortSignal; clock?: Clock },
): Promise<Map<Raw, Raw>> {
  const found = new Map<Raw, Raw>();
  let open: Delivered[] = [];
  for (const raw of delivered) {
    const one = identify(source, raw);
    if (one) open.push(one);
    // A document without a key value can't be read by key, so the delivered one is used.
    else found.set(raw, raw);
  }
  const settledAt = clock.monotonic() + readLagMs;
  for (let pause = FIRST_PAUSE_MS; open.length > 0; pause *= 2) {
    const settled = clock.monotonic() >= settledAt;
    const stored = await read(source.name, open, access);
    const undecided: Delivered[] = [];
    for (const [index, one] of open.entries()) {
      const now = stored[index];
      if (now?._etag === one.raw['_etag']) found.set(one.raw, { ...now, _lsn: one.raw['_lsn'] });
      else if (!settled && !isNewer(now, one.raw)) undecided.push(one);
    }
    open = undecided;
    if (open.length > 0) await clock.sleep(Math.min(pause, Math.max(0, settledAt - clock.monotonic())), signal);
  }
  return found;
}

/** `_ts` counts seconds: of two versions in one second, neither is known to be newer. */
const isNewer = (now: SinkDocument | undefined, raw: Raw): boolean =>
  now !== undefined && Number(now['_ts']) > Number(raw['_ts']);

function identify(source: SourceContainer, raw: Raw): Delivered | undefined {
  const keyed = fullKey(raw, source.keyPaths);
  const { id } = raw;
  return typeof id === 'string' && 'key' in keyed ? { raw, key: keyed.key, id } : undefined;
}

const read = (
  container: string,
  documents: readonly Delivered[],
  access: DocumentAccess,
): Promise<(SinkDocument | undefined)[]> =>
  pMap(documents, async ({ key, id }) => (await access.read(container, key, [id]))[0], { concurrency: 512 });
