// The version log of an archive: every version and deletion that the feed shows of its documents (docs/SPEC-archive.md).
import { z } from 'zod';
import { systemClock } from '../base/clock.ts';
import { mapSettled } from '../base/map-settled.ts';
import { type ArchiveSpec, projectionId } from '../definition/specs.ts';
import type { Change } from '../feed/reading/change.ts';
import type { LogVersions } from '../projections/archive/archive-runner.ts';
import { ArchiveDamaged, lineOf, recordOf, unpack } from './blob.ts';
import type { BlobStore } from './blob-store.ts';
import { type Period, folderOf, folderTenant, isBlob, logOf, manifestBeside, placeOf } from './layout.ts';
import { writeBlob } from './leave.ts';
import { enlistIn, readManifest } from './manifests.ts';
import type { BlobRecord, LoggedVersion } from './types.ts';
import { unavailable } from './unavailable.ts';

/** A version that goes into a blob of the log. */
export interface Line {
  readonly change: Change;
  readonly line: string;
  readonly period: Period;
}

const begun = z.object({ format: z.literal(1), from: z.number() });

export interface LogOptions {
  /**
   * Keeps the copies that a move writes, too. Over shards the log begins in one shard after the other, and a key that moves
   * meanwhile from one that has not begun to one that has would be in neither.
   */
  readonly copies?: boolean;
}

/**
 * Keeps the versions of a page. It opens the store at the first use. A blob is named after its content, so a page that is
 * read again writes nothing twice; if the page is cut otherwise, a version is in two blobs, and readers take it once. A
 * failure of the storage account is a failure of infrastructure: no checkpoint passes the page.
 */
export function versionLog(open: () => Promise<BlobStore>, { copies = false }: LogOptions = {}): LogVersions {
  let opened: Promise<BlobStore> | undefined;
  return async (spec, changes) => {
    const lines = changes.flatMap((change, order) => {
      if (!change.moved) return [loggedLine(spec, change, order)];
      // A copy is the last version of its transaction.
      return copies && !change.gone ? [loggedLine(spec, change)] : [];
    });
    if (lines.length === 0) return;
    try {
      await writeLines(await (opened ??= open()), spec, lines);
    } catch (error) {
      opened = undefined;
      throw unavailable(error, `${lines.length} versions can't be kept in the version log of ${projectionId(spec)}`);
    }
  };
}

/**
 * From when on the log of an archive is whole, milliseconds; undefined: it has not begun.
 * @throws ArchiveDamaged
 */
export const logBegan = async (store: Pick<BlobStore, 'read'>, spec: ArchiveSpec): Promise<number | undefined> =>
  beganAt(store, beginName(spec));

/** As `logBegan`, by the name of what was stored. @throws ArchiveDamaged */
export async function beganAt(store: Pick<BlobStore, 'read'>, name: string): Promise<number | undefined> {
  const stored = await store.read(name);
  if (!stored) return undefined;
  try {
    return begun.parse(JSON.parse(Buffer.from(stored.bytes).toString())).from;
  } catch {
    throw new ArchiveDamaged({ code: 'blob-changed', what: `${name} is not what Millrace wrote`, blob: name });
  }
}

/**
 * Adds the blobs that no manifest lists to the manifests of their months, so that one that is removed is noticed. Hosts
 * don't: each page would write a manifest anew. `until`: the monotonic time at which it stops; the next call goes on.
 */
export async function listLog(
  spec: ArchiveSpec,
  {
    store,
    until = Infinity,
    signal,
  }: { readonly store: BlobStore; readonly until?: number; readonly signal: AbortSignal },
): Promise<void> {
  const folders = new Map<string, string[]>();
  for await (const name of store.list(logFolder(spec))) {
    if (!isBlob(name)) continue;
    const manifest = manifestBeside(name);
    const names = folders.get(manifest) ?? [];
    folders.set(manifest, names);
    names.push(name);
  }
  for (const [manifest, names] of folders) {
    const listed = new Set((await unlessDamaged(() => readManifest(store, manifest)))?.blobs.map(({ name }) => name));
    const records: BlobRecord[] = [];
    for (const name of names) {
      if (listed.has(name)) continue;
      signal.throwIfAborted();
      if (systemClock.monotonic() >= until) break;
      const bytes = await store.read(name);
      const documents = bytes && (await unlessDamaged(() => unpack(name, bytes.bytes)));
      if (documents) records.push(recordOf(name, bytes.bytes, documents));
    }
    const period = placeOf(manifest);
    if (records.length > 0)
      await unlessDamaged(() => enlistIn(store, manifest, { period, source: spec.from, records }));
  }
}

/** `archive verify` and `archive as-of` name what is damaged; it keeps nothing else from being listed. */
async function unlessDamaged<T>(read: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ArchiveDamaged) return undefined;
    throw error;
  }
}

/** The prefix of everything that a log has stored. */
export const logFolder = (spec: ArchiveSpec): string => `${logOf(projectionId(spec))}/`;

/** `shard`: of what the log has begun with in one shard. Absent: of the whole log. */
export const beginName = (spec: ArchiveSpec, shard?: string): string =>
  `${logFolder(spec)}begin${shard === undefined ? '' : `~${shard}`}.json`;

export function loggedLine(spec: ArchiveSpec, change: Change, order?: number): Line {
  const { doc, at, tenant, before } = change;
  const stored = doc ?? before;
  const fallback = spec.tenantField === undefined ? folderTenant(spec, {}) : (tenant ?? '');
  const period: Period = {
    projection: logOf(projectionId(spec)),
    tenant: stored ? folderTenant(spec, stored) : fallback,
    period: new Date(at).toISOString().slice(0, 7),
  };
  const more: Pick<LoggedVersion, 'deleted' | 'order'> = {
    ...(doc === undefined && { deleted: true }),
    ...(order !== undefined && { order }),
  };
  return { change, line: lineOf(change, more), period };
}

export async function writeLines(store: BlobStore, { codec }: ArchiveSpec, lines: readonly Line[]): Promise<void> {
  const folders = Map.groupBy(lines, ({ period }) => folderOf(period)).values();
  await mapSettled(folders, async (of) => void (of[0] && (await writeBlob(store, of[0].period, of, { codec }))), {
    concurrency: 8,
  });
}
