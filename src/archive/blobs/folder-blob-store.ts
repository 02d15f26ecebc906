import { createHash, randomUUID } from 'node:crypto';
import { link, mkdir, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { archiveError } from '../errors.ts';
import type { HoldingStore, StoredBlob } from '../../access/blob-store.ts';

/** Ends the name of a file, so that a blob `a` and a blob `a/b` may both be there. */
const END = '$';
/** Some file systems take 255 bytes for the name of a file. */
const PIECES = /.{1,200}/g;
/** A lock that is older is of a process that died. */
const LOCKED_MS = 10_000;

/** Blobs as files of a folder on this machine, for `millrace dev`. It has no versions and no holds. */
export class FolderBlobStore implements HoldingStore {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async put(name: string, bytes: Uint8Array, ifMatch: string | null): Promise<boolean> {
    const file = this.#file(name);
    const whole = join(this.#folder, `.${randomUUID()}`);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(whole, bytes);
    try {
      if (ifMatch === null) {
        await link(whole, file);
        return true;
      }
      await using _lock = await locked(file);
      if ((await this.read(name))?.etag !== ifMatch) return false;
      await rename(whole, file);
      return true;
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false;
      throw error;
    } finally {
      await rm(whole, { force: true });
    }
  }

  async read(name: string): Promise<StoredBlob | undefined> {
    try {
      const bytes = await readFile(this.#file(name));
      return { bytes, etag: createHash('sha256').update(bytes).digest('hex') };
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  async *list(prefix: string): AsyncGenerator<string> {
    const entries = await readdir(this.#folder, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return [];
      throw error;
    });
    const names = entries
      .filter((entry) => entry.isFile() && entry.name.endsWith(END))
      .map((entry) => nameOf(join(entry.parentPath, entry.name).slice(this.#folder.length + 1)));
    yield* names.filter((name) => name.startsWith(prefix)).toSorted();
  }

  listEver(prefix: string): AsyncGenerator<string> {
    return this.list(prefix);
  }

  readEver(name: string): Promise<StoredBlob | undefined> {
    return this.read(name);
  }

  async remove(name: string): Promise<'removed'> {
    await rm(this.#file(name), { force: true });
    return 'removed';
  }

  async hold(name: string, held: boolean): Promise<boolean> {
    if (held) throw noHolds();
    return (await this.read(name)) !== undefined;
  }

  async canHold(): Promise<boolean> {
    return false;
  }

  async *listHeld(): AsyncGenerator<string> {}

  async retain(): Promise<void> {
    throw noHolds();
  }

  async *listRetained(): AsyncGenerator<string> {}

  #file(name: string): string {
    return join(this.#folder, ...name.split('/').map(encoded)) + END;
  }
}

const noHolds = (): Error => archiveError('immutability-off', 'Blobs in a folder of this machine have no holds');

/** A part of a name, as names of folders and a file that every file system takes. */
function encoded(part: string): string {
  const safe = encodeURIComponent(part)
    .replaceAll('~', '%7E')
    .replace(/^\.+$/, (dots) => dots.replaceAll('.', '%2E'));
  return safe.match(PIECES)?.join('~/') ?? '';
}

const nameOf = (path: string): string =>
  decodeURIComponent(path.replaceAll('\\', '/').slice(0, -END.length).replaceAll('~/', ''));

const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code;

/** One writer at a time, of all processes. */
async function locked(file: string): Promise<AsyncDisposable> {
  const lock = `${file}.lock`;
  for (;;) {
    try {
      await mkdir(lock);
      return { [Symbol.asyncDispose]: () => rm(lock, { recursive: true, force: true }) };
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
    const since = await stat(lock).catch(() => undefined);
    if (since && Date.now() - since.mtimeMs > LOCKED_MS) await rm(lock, { recursive: true, force: true });
    await delay(5);
  }
}
