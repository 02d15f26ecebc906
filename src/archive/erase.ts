// Removes the documents of one tenant from the archive, for good (docs/SPEC-erase.md).
import type { Clock } from '../base/clock.ts';
import type { SourceRef } from '../pipeline/specs.ts';
import { Entries, forEach } from '../kinds/archive/entries.ts';
import { untilDone } from '../access/change.ts';
import type { DocumentAccess } from '../access/document-access.ts';
import { ArchiveDamaged, unlessDamaged, unpack } from './blobs/blob.ts';
import type { ErasableStore } from '../access/blob-store.ts';
import { codecOf } from './blobs/codec.ts';
import { isBlob, isManifest, isShared, isTenant, manifestBeside, mayHold, placeOf } from './blobs/layout.ts';
import { writeBlob } from './sweep/leave-by-ttl.ts';
import { delist, enlist } from './blobs/manifests.ts';
import type { ArchiveFault, ArchivedDocument } from './types.ts';

export interface ArchiveEraseOptions {
  readonly store: ErasableStore;
  readonly stateContainer: string;
  /** To each place whose documents the blobs have. */
  readonly accesses: readonly DocumentAccess[];
  /** As text, as folders name it. */
  readonly tenant: string;
  /** Whether a stored document is the tenant's. */
  readonly owns: (container: string, document: object) => boolean;
  /** How long a reader may still use an entry that it has read, milliseconds: the read lag at least. */
  readonly settleMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export interface ErasedArchive {
  /** Lines that were removed: each is one version of a document. */
  readonly lines: number;
  /** Blobs that were removed, manifests included. */
  readonly removed: readonly string[];
  /** Of them, those that had lines of others too, and that have a successor. */
  readonly rewritten: number;
  readonly entries: number;
  /** A legal hold or an immutability policy keeps them. Their entries are gone, so nothing reads them. */
  readonly held: readonly string[];
  /** Blobs and manifests that others share and that can't be read: they may have lines of the tenant. */
  readonly faults: readonly ArchiveFault[];
}

type Tally = { -readonly [K in keyof ErasedArchive]: ErasedArchive[K] } & {
  readonly removed: string[];
  readonly held: string[];
  readonly faults: ArchiveFault[];
};

/**
 * Removes all lines of a tenant, with their entries. A blob that others share gets a successor without these lines first.
 * May be stopped and run again at any time; when it has found nothing, nothing is left. The caller has removed the
 * tenant's documents from their containers, and every sweep and restore that may have read one has ended: they would
 * write a removed blob or document again.
 */
export async function eraseFromArchive(options: ArchiveEraseOptions): Promise<ErasedArchive> {
  const { store, tenant, clock, settleMs, signal } = options;
  const tally: Tally = { lines: 0, removed: [], rewritten: 0, entries: 0, held: [], faults: [] };
  const due: string[] = [];
  const manifests: string[] = [];
  for await (const name of store.listEver('')) {
    signal.throwIfAborted();
    const place = placeOf(name);
    if (!mayHold(place, tenant)) continue;
    if (isManifest(name) && !isShared(place)) manifests.push(name);
    if (isBlob(name) && (await unlessDamaged(tally.faults, () => detach(name, options, tally)))) due.push(name);
  }
  // Before the blobs: a manifest that lists a missing blob is damage.
  for (const name of manifests) await take(name, options, tally);
  if (due.length > 0) await clock.sleep(settleMs, signal);
  for (const name of due) await unlessDamaged(tally.faults, () => removeBlob(name, options, tally));
  return tally;
}

/** The lines of a tenant in every blob that can be read, listed or not. */
export async function* linesOfTenant(
  options: Pick<ArchiveEraseOptions, 'store' | 'tenant' | 'owns' | 'signal'>,
): AsyncGenerator<ArchivedDocument> {
  for await (const name of options.store.listEver('')) {
    options.signal.throwIfAborted();
    if (!isBlob(name) || !mayHold(placeOf(name), options.tenant)) continue;
    const read = await unlessDamaged([], () => linesOf(name, options));
    yield* read?.gone ?? [];
  }
}

/** Makes everything that names the blob name its successor. True: the blob has lines of the tenant. */
async function detach(name: string, options: ArchiveEraseOptions, tally: Tally): Promise<boolean> {
  const { store, accesses, stateContainer } = options;
  const entries = new Entries(stateContainer);
  const read = await linesOf(name, options);
  if (!read || read.gone.length === 0) return read?.whole === true;
  const successor = await rewritten(name, read, options);
  for (const access of accesses) {
    await forEach(read.gone, async (line) => {
      await untilDone(`The archive entry of ${line.container}/${line.id}`, async () => {
        const [entry] = await entries.read([line], access);
        const done = !entry || (await entries.remove(entry, access));
        if (entry && done) tally.entries += 1;
        return done;
      });
    });
    await forEach([...read.kept], ([at, line]) =>
      entries.change(line, access, (entry) => {
        if (!successor || entry.state !== 'archived' || entry.blob?.name !== name || entry.blob.line !== at)
          return undefined;
        const blob = { name: successor.name, line: successor.lineOf.get(at) ?? -1 };
        return { ...entry, blob: { ...entry.blob, ...blob } };
      }),
    );
  }
  if (!read.whole) await delist(store, manifestBeside(name), [name]);
  return true;
}

interface Lines {
  /** True: the folder is the tenant's own, so the blob goes even if it can't be read. */
  readonly whole: boolean;
  readonly gone: readonly ArchivedDocument[];
  /** By their line in the blob. */
  readonly kept: ReadonlyMap<number, ArchivedDocument>;
}

/** @throws ArchiveDamaged a blob that others share can't be read */
async function linesOf(
  name: string,
  { store, tenant, owns }: Pick<ArchiveEraseOptions, 'store' | 'tenant' | 'owns'>,
): Promise<Lines | undefined> {
  const place = placeOf(name);
  const whole = isTenant(place, tenant) && !isShared(place);
  const stored = await store.readEver(name);
  if (!stored) return undefined;
  try {
    const lines = [...unpack(name, stored.bytes).entries()];
    const isGone = (line: ArchivedDocument): boolean => whole || owns(line.container, line.doc);
    return {
      whole,
      gone: lines.filter(([, line]) => isGone(line)).map(([, line]) => line),
      kept: new Map(lines.filter(([, line]) => !isGone(line))),
    };
  } catch (error) {
    if (whole && error instanceof ArchiveDamaged) return { whole, gone: [], kept: new Map() };
    throw error;
  }
}

/** Writes the blob without the tenant's lines, and lists it; undefined if it has no others. */
async function rewritten(name: string, { kept }: Lines, { store }: ArchiveEraseOptions) {
  const [first] = kept.values();
  if (!first) return undefined;
  const source: SourceRef = { container: first.container, type: first.type };
  const lines = [...kept.values()].map((line) => ({ line: JSON.stringify(line), change: line }));
  const record = await writeBlob(store, placeOf(name), lines, { codec: codecOf(name), unique: true });
  await enlist(store, placeOf(name), source, record);
  return { name: record.name, lineOf: new Map([...kept.keys()].map((at, index) => [at, index])) };
}

/** Removes a detached blob, once no entry names it. */
async function removeBlob(name: string, options: ArchiveEraseOptions, tally: Tally): Promise<void> {
  const entries = new Entries(options.stateContainer);
  const read = await linesOf(name, options);
  for (const access of options.accesses)
    await untilDone(`The entries of blob ${name}`, async () => {
      const named = await entries.ofBlob(name, access);
      if (named.length === 0) return true;
      // An entry was written meanwhile, or a read was stale. A damaged blob doesn't name its documents, but they are in the
      // tenant's folder.
      if (read?.whole && read.gone.length === 0)
        for (const entry of named) tally.entries += (await entries.remove(entry, access)) ? 1 : 0;
      else await detach(name, options, tally);
      return false;
    });
  if (!(await take(name, options, tally))) return;
  tally.lines += read?.gone.length ?? 0;
  tally.rewritten += read && read.kept.size > 0 ? 1 : 0;
}

async function take(name: string, { store }: ArchiveEraseOptions, tally: Tally): Promise<boolean> {
  const outcome = await store.remove(name);
  tally[outcome].push(name);
  return outcome === 'removed';
}
