// The documents of a container as of a time, from the version log of its archive.
import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compareVersions } from '../feed/reading/change.ts';
import { readBlob } from './blob.ts';
import { identityOf } from './identities.ts';
import { folderTenant, isBlob, isManifest, mayHold, placeOf } from './layout.ts';
import { readManifest } from './manifests.ts';
import type { Archive, LoggedVersion } from './types.ts';
import { logFolder } from './version-log.ts';

/** Files that are open one after another; a bucket is about as large as one blob. */
const MOST_BUCKETS = 1_024;
/** Characters that wait for their files. */
const WAITING = 16_000_000;

export interface AsOfOptions {
  /** Milliseconds. A version that was written at this time counts. */
  readonly at: number;
  readonly tenant?: string | undefined;
  readonly signal: AbortSignal;
  readonly progress?: (blobs: number) => void;
}

/**
 * Each document in the newest version that was written until `at`, unless that is its deletion. The versions are divided by
 * identity into files of the temporary folder first, so memory holds a part of them only.
 * @throws ArchiveDamaged
 */
export async function* documentsAsOf(
  { store, spec, source }: Pick<Archive, 'store' | 'spec' | 'source'>,
  { at, tenant, signal, progress }: AsOfOptions,
): AsyncGenerator<LoggedVersion> {
  // A document can change its tenant only where the tenant is no level of its key.
  const inKey = source.keyPaths.some((path) => path.length === 1 && path[0] === spec.tenantField);
  const names = new Set<string>();
  const month = new Date(at).toISOString().slice(0, 7);
  for await (const name of store.list(logFolder(spec))) {
    const place = placeOf(name);
    // A deletion may not show its tenant.
    const wanted = tenant === undefined || !inKey || mayHold(place, tenant) || place.tenant === '';
    if (place.period > month || !wanted) continue;
    if (isBlob(name)) names.add(name);
    // A blob that a manifest lists and that is gone is an error, and no answer without its versions.
    else if (isManifest(name)) for (const blob of (await readManifest(store, name))?.blobs ?? []) names.add(blob.name);
  }
  const folder = await mkdtemp(join(tmpdir(), 'millrace-as-of-'));
  try {
    const buckets = new Buckets(folder, Math.min(MOST_BUCKETS, names.size));
    let read = 0;
    for (const name of names) {
      signal.throwIfAborted();
      for (const version of await readBlob(store, name)) if (version.at <= at) await buckets.add(version);
      progress?.((read += 1));
    }
    for await (const versions of buckets.all()) {
      signal.throwIfAborted();
      for (const version of newestOf(versions))
        if (!version.deleted && (tenant === undefined || folderTenant(spec, version.doc) === tenant)) yield version;
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The newest version of each document, in the order of their identities. */
function newestOf(versions: readonly LoggedVersion[]): LoggedVersion[] {
  const newest = new Map<string, LoggedVersion>();
  for (const version of versions) {
    const identity = identityOf(version);
    const known = newest.get(identity);
    if (!known || isNewer(version, known)) newest.set(identity, version);
  }
  return [...newest].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, version]) => version);
}

/** Versions of one transaction share an lsn. What stood when the log began was the last one of its transaction. */
function isNewer(one: LoggedVersion, other: LoggedVersion): boolean {
  const order = compareVersions(one.version, other.version);
  return order === 'undecided' ? (one.order ?? Infinity) > (other.order ?? Infinity) : order === 'newer';
}

/** Versions in files, divided by their documents. */
class Buckets {
  readonly #folder: string;
  readonly #waiting: string[][];
  readonly #used = new Set<number>();
  #characters = 0;

  constructor(folder: string, buckets: number) {
    this.#folder = folder;
    this.#waiting = Array.from({ length: buckets }, () => []);
  }

  async add(version: LoggedVersion): Promise<void> {
    const line = JSON.stringify(version);
    const bucket = Buffer.from(identityOf(version), 'base64url').readUInt32BE() % this.#waiting.length;
    this.#waiting[bucket]?.push(line);
    this.#characters += line.length;
    if (this.#characters > WAITING) await this.#write();
  }

  async *all(): AsyncGenerator<LoggedVersion[]> {
    await this.#write();
    for (const bucket of this.#used) {
      const text = await readFile(this.#file(bucket), 'utf8');
      yield text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as LoggedVersion);
    }
  }

  async #write(): Promise<void> {
    for (const [bucket, lines] of this.#waiting.entries()) {
      if (lines.length === 0) continue;
      this.#used.add(bucket);
      await appendFile(this.#file(bucket), `${lines.splice(0).join('\n')}\n`, { mode: 0o600 });
    }
    this.#characters = 0;
  }

  #file = (bucket: number): string => join(this.#folder, String(bucket));
}
