import pMap from 'p-map';
import { type Clock, systemClock } from '../base/clock.ts';
import { isObject } from '../base/json.ts';
import { storedKey, valueAtPath, type KeyPath } from '../cosmos/paths.ts';
import type { SourceContainer } from '../feed/reading/mapper.ts';
import type { DocumentAccess, SinkDocument } from '../access/document-access.ts';

type Raw = Record<string, unknown>;

/** The Functions host's JSON library rewrites such dates: `…00.000Z` becomes `…00Z`, and offsets are shifted. */
const DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/;

/** True if the Functions host may have changed a text of the document. */
export function mayBeRewritten(value: unknown): boolean {
  if (typeof value === 'string') return DATE.test(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(mayBeRewritten);
}

const FIRST_PAUSE_MS = 50;

export interface ReadOptions {
  /** How long a read may show what was stored before (ASM-A3). */
  readonly readLagMs: number;
  readonly signal: AbortSignal;
  readonly clock?: Clock;
}

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
  options: ReadOptions,
): Promise<Map<Raw, Raw>> {
  const current = new Map<Raw, Raw>();
  await untilSettled(delivered, options, async (open, settled) => {
    const stored = await read(source, open, access);
    return open.filter((raw) => {
      const now = stored.get(raw);
      if (now?._etag !== raw['_etag']) return !settled && !isNewer(now, raw);
      current.set(raw, { ...now, _lsn: raw['_lsn'] });
      return false;
    });
  });
  return current;
}

/**
 * Maps each delivered version whose id or partition key the host may have rewritten to that version under its stored id
 * and key, which another version of the document shows too: they stay for as long as the document. Leaves out a version
 * whose document is gone.
 */
export async function withStoredIdentity(
  source: SourceContainer,
  delivered: readonly Raw[],
  access: DocumentAccess,
  options: ReadOptions,
): Promise<Map<Raw, Raw>> {
  const identified = new Map<Raw, Raw>();
  await untilSettled(delivered, options, async (open, settled) => {
    const stored = await readByRid(source.name, open, access);
    return open.filter((raw) => {
      const now = stored.get(raw);
      if (!now) return !settled;
      identified.set(
        raw,
        [['id'], ...source.keyPaths].reduce((to, path) => replaceAt(to, now, path), raw),
      );
      return false;
    });
  });
  return identified;
}

/** True if the host may have changed the id or a partition key value, so that a read by them would miss the document. */
export const hasDoubtfulIdentity = ({ keyPaths }: SourceContainer, raw: Raw): boolean =>
  mayBeRewritten([raw['id'], ...keyPaths.map((path) => valueAtPath(raw, path))]);

/** Calls `attempt` with what it left open, until nothing is or reads show what was delivered. */
async function untilSettled(
  delivered: readonly Raw[],
  { readLagMs, signal, clock = systemClock }: ReadOptions,
  attempt: (open: readonly Raw[], settled: boolean) => Promise<readonly Raw[]>,
): Promise<void> {
  const settledAt = clock.monotonic() + readLagMs;
  let open = delivered;
  for (let pause = FIRST_PAUSE_MS; open.length > 0; pause *= 2) {
    open = await attempt(open, clock.monotonic() >= settledAt);
    if (open.length > 0) await clock.sleep(Math.min(pause, Math.max(0, settledAt - clock.monotonic())), signal);
  }
}

/** `_ts` counts seconds: of two versions in one second, neither is known to be newer. */
const isNewer = (now: SinkDocument | undefined, raw: Raw): boolean =>
  now !== undefined && Number(now['_ts']) > Number(raw['_ts']);

/** The stored documents: by their key, or by `_rid` where the delivered key is doubtful. */
async function read(
  source: SourceContainer,
  open: readonly Raw[],
  access: DocumentAccess,
): Promise<Map<Raw, SinkDocument>> {
  const byRid: Raw[] = [];
  const stored = new Map<Raw, SinkDocument>();
  const readByKey = async (raw: Raw): Promise<void> => {
    if (hasDoubtfulIdentity(source, raw)) {
      byRid.push(raw);
      return;
    }
    const [found] = await access.read(source.name, storedKey(raw, source.keyPaths), [String(raw['id'])]);
    if (found) stored.set(raw, found);
  };
  await pMap(open, readByKey, { concurrency: 512 });
  for (const [raw, found] of await readByRid(source.name, byRid, access)) stored.set(raw, found);
  return stored;
}

/** The most documents that one query asks for. */
const QUERY_SIZE = 500;

/** A query over all partitions: the host doesn't rewrite a `_rid`, which a document keeps while it exists (ASM-A12). */
async function readByRid(
  container: string,
  delivered: readonly Raw[],
  access: DocumentAccess,
): Promise<Map<Raw, SinkDocument>> {
  const rids = [...new Set(delivered.map(({ _rid }) => String(_rid)))];
  const found = new Map<unknown, SinkDocument>();
  for (let at = 0; at < rids.length; at += QUERY_SIZE) {
    const asked = Object.entries(rids.slice(at, at + QUERY_SIZE));
    const names = asked.map(([index]) => `@${index}`).join(',');
    const sql = `SELECT * FROM c WHERE c._rid IN (${names})`;
    const parameters = Object.fromEntries(asked);
    for (const document of await access.query<SinkDocument>(container, sql, parameters))
      found.set(document['_rid'], document);
  }
  return new Map(
    delivered.flatMap((raw) => {
      const document = found.get(raw['_rid']);
      return document ? [[raw, document] as const] : [];
    }),
  );
}

/** A copy of the document with the value that another has at a path. */
function replaceAt(document: Raw, other: Raw, [name = '', ...rest]: KeyPath): Raw {
  const value = other[name];
  const old = document[name];
  return {
    ...document,
    [name]: rest.length > 0 && isObject(old) && isObject(value) ? replaceAt(old, value, rest) : value,
  };
}
