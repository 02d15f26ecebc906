import pMap from 'p-map';
import { type Clock, systemClock } from '../base/clock.ts';
import { fullKey } from '../cosmos/paths.ts';
import type { SourceContainer } from '../feed/reading/mapper.ts';
import type { Key } from '../feed/reading/change.ts';
import type { SinkDocument, SinkSession } from '../sinks/session.ts';

type Raw = Record<string, unknown>;

interface Delivered {
  readonly raw: Raw;
  readonly key: Key;
  readonly id: string;
}

/** What the Functions host's JSON library takes for a date and writes in its own way: `…00.000Z` becomes `…00Z`, offsets are shifted. */
const DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/;

/** True where a text of the document may not be what its writer wrote. */
export function mayBeRewritten(value: unknown): boolean {
  if (typeof value === 'string') return DATE.test(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(mayBeRewritten);
}

const FIRST_PAUSE_MS = 50;

/**
 * The documents of a trigger's batch as they are stored, by what was delivered, each with the `_lsn` it was delivered
 * with. What has a newer version by now, or is gone, is left out: the latest-version feed erases such entries too (A2),
 * and the newer version is still to be delivered. A read may be older than the delivery (A3), so it counts only when its
 * etag is the delivered one, or, `readLagMs` later, when it still isn't.
 */
export async function currentDocuments(
  source: SourceContainer,
  delivered: readonly Raw[],
  session: SinkSession,
  { readLagMs, signal, clock = systemClock }: { readLagMs: number; signal: AbortSignal; clock?: Clock },
): Promise<Map<Raw, Raw>> {
  const found = new Map<Raw, Raw>();
  let open: Delivered[] = [];
  for (const raw of delivered) {
    const one = identify(source, raw);
    if (one) open.push(one);
    // Without a key value it can't be read by key: it is taken as it came.
    else found.set(raw, raw);
  }
  const settledAt = clock.monotonic() + readLagMs;
  for (let pause = FIRST_PAUSE_MS; open.length > 0; pause *= 2) {
    const settled = clock.monotonic() >= settledAt;
    const stored = await read(source.name, open, session);
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

/** `_ts` has seconds: of one second, neither is known to be newer. */
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
  session: SinkSession,
): Promise<(SinkDocument | undefined)[]> =>
  pMap(documents, async ({ key, id }) => (await session.read(container, key, [id]))[0], { concurrency: 512 });
