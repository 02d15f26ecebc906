import { buffer } from 'node:stream/consumers';
import { messageOf } from '../../base/errors.ts';
import { archiveError } from '../errors.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import type { Span } from '../../base/telemetry/spans.ts';
import { codecOf, contentTypeOf } from './codec.ts';
import type { BlobContainer, BlobHandle, BlobPage, ListedBlob } from './blob-container.ts';
import type { HoldingStore, StoredBlob } from '../../access/blob-store.ts';
import { type BlobOperation, inBlobSpan } from './blob-spans.ts';
import { BlobOffline } from './blob-offline.ts';
import { answerOf, isExpected, isRefused, isTransient } from './storage-answers.ts';

export interface AzureBlobStoreOptions {
  readonly signal?: AbortSignal;
  /** Receives a message when an answer takes long. */
  readonly say?: ((text: string) => void) | undefined;
  readonly clock?: Clock;
}

const WITHIN_MS = 60_000;
/** A person may be waiting: after each of these times a late answer is reported. */
const LATE_MS = [3_000, 10_000, 30_000, 60_000];
/** What a list shows of holds. */
const HOLDS = { includeVersions: true, includeLegalHold: true };
/** The time limit of the first small request. */
const FIRST_MS = 15_000;

/**
 * A container of Azure Blob Storage. All writes are conditional, so any call may be repeated after any failure: this
 * class retries, and the client must not (`retryOptions: { maxTries: 1 }`). An address that has never answered and
 * refuses the connection counts as wrong, not as busy.
 */
export class AzureBlobStore implements HoldingStore {
  readonly #container: BlobContainer;
  readonly #signal: AbortSignal | undefined;
  readonly #say: (text: string) => void;
  readonly #clock: Clock;
  #answered = false;

  constructor(container: BlobContainer, options: AzureBlobStoreOptions = {}) {
    this.#container = container;
    this.#signal = options.signal;
    this.#say = options.say ?? (() => undefined);
    this.#clock = options.clock ?? systemClock;
  }

  async put(name: string, bytes: Uint8Array, ifMatch: string | null): Promise<boolean> {
    const blob = this.#container.getBlobClient(name).getBlockBlobClient();
    const codec = codecOf(name);
    const blobContentType = codec ? contentTypeOf(codec) : 'application/json';
    const written = await this.#ask('PutBlob', (span) => {
      span.set({ 'millrace.blob.bytes': bytes.length });
      return blob.upload(bytes, bytes.length, {
        conditions: ifMatch === null ? { ifNoneMatch: '*' } : { ifMatch },
        blobHTTPHeaders: { blobContentType },
        ...this.#aborted(),
      });
    });
    return written !== undefined;
  }

  async read(name: string): Promise<StoredBlob | undefined> {
    return this.#read(name, this.#container.getBlobClient(name));
  }

  async readEver(name: string): Promise<StoredBlob | undefined> {
    const now = await this.read(name);
    if (now) return now;
    const last = (await this.#versions(name)).at(-1);
    return last && this.#read(name, this.#container.getBlobClient(name).withVersion(last.version));
  }

  async #read(name: string, blob: BlobHandle): Promise<StoredBlob | undefined> {
    return this.#ask('GetBlob', async (span) => {
      const answer = await blob.download(0, undefined, this.#aborted()).catch((error: unknown) => {
        const { code } = answerOf(error);
        if (code !== 'BlobArchived' && code !== 'BlobBeingRehydrated') throw error;
        throw new BlobOffline(name, this.#where(), error);
      });
      const stream = answer.readableStreamBody;
      const bytes = stream ? await buffer(stream) : Buffer.alloc(0);
      if (bytes.length !== answer.contentLength)
        throw Object.assign(new Error(`The connection closed before blob ${name} was complete`), {
          code: 'ECONNRESET',
        });
      span.set({ 'millrace.blob.bytes': bytes.length });
      return { bytes, etag: answer.etag ?? '' };
    });
  }

  async *list(prefix: string): AsyncGenerator<string> {
    for await (const { name } of this.#items(prefix)) yield name;
  }

  async *listEver(prefix: string): AsyncGenerator<string> {
    let last: string | undefined;
    for await (const { name } of this.#items(prefix, { includeVersions: true })) {
      if (name !== last) yield name;
      last = name;
    }
  }

  async remove(name: string): Promise<'removed' | 'held'> {
    const blob = this.#container.getBlobClient(name);
    const removed = await this.#unlessHeld(() => blob.delete({ deleteSnapshots: 'include', ...this.#aborted() }));
    let held = !removed;
    // With versioning, a delete turns the blob into one more version (ASM-F26). A current version is one that is held.
    for (const { version, isCurrent } of await this.#versions(name)) {
      if (isCurrent) continue;
      const gone = await this.#unlessHeld(() => blob.withVersion(version).delete(this.#aborted()));
      held ||= !gone;
    }
    return held ? 'held' : 'removed';
  }

  async hold(name: string, held: boolean): Promise<boolean> {
    const blob = this.#container.getBlobClient(name);
    if (held) return this.#setHold(blob, true);
    let found = false;
    // A blob that was deleted under the hold is left as an earlier version.
    for await (const item of this.#items(name, HOLDS)) {
      if (item.name !== name) continue;
      found = true;
      if (item.properties.legalHold !== true) continue;
      const earlier = item.versionId !== undefined && item.isCurrentVersion !== true;
      await this.#setHold(earlier ? blob.withVersion(item.versionId) : blob, false);
    }
    return found;
  }

  async canHold(): Promise<boolean> {
    const found = await this.#ask('GetContainerProperties', async () =>
      this.#container.getProperties?.(this.#aborted()),
    );
    return found?.isImmutableStorageWithVersioningEnabled === true;
  }

  async *listHeld(prefix: string): AsyncGenerator<string> {
    let last: string | undefined;
    for await (const { name, properties } of this.#items(prefix, HOLDS)) {
      if (properties.legalHold !== true || name === last) continue;
      yield name;
      last = name;
    }
  }

  async retain(name: string, until: Date, locked: boolean): Promise<void> {
    const blob = this.#container.getBlobClient(name);
    const policy = { expiriesOn: until, policyMode: locked ? 'Locked' : 'Unlocked' };
    const refused = (code: string, cause?: unknown): Error =>
      archiveError(
        'immutability-off',
        `The blob container ${this.#where()} refused to keep ${name} until ${until.toISOString()}: ${code}`,
        { cause },
      );
    const kept = await this.#policy(
      'SetBlobImmutabilityPolicy',
      () => blob.setImmutabilityPolicy(policy, this.#aborted()),
      refused,
    );
    if (kept === undefined) throw refused('BlobNotFound');
  }

  async *listRetained(prefix: string, now: number): AsyncGenerator<string> {
    for await (const { name, properties } of this.#items(prefix, { includeImmutabilityPolicy: true }))
      if ((properties.immutabilityPolicyExpiresOn?.getTime() ?? 0) > now) yield name;
  }

  async #setHold(blob: BlobHandle, held: boolean): Promise<boolean> {
    const found = await this.#policy(
      'SetBlobLegalHold',
      () => blob.setLegalHold(held, this.#aborted()),
      (code, cause) =>
        archiveError(
          'immutability-off',
          `The blob container ${this.#where()} refused to ${held ? 'set' : 'remove'} a legal hold: ${code}`,
          { cause },
        ),
    );
    return found !== undefined;
  }

  /** Sets what keeps a blob. An account without version-level immutability refuses it. */
  async #policy<T>(
    operation: BlobOperation,
    call: () => Promise<T>,
    refused: (code: string, cause: unknown) => Error,
  ): Promise<T | undefined> {
    try {
      return await this.#ask(operation, call);
    } catch (error) {
      const { status, code } = answerOf(error);
      if (status !== 400 && status !== 409 && status !== 501) throw error;
      throw refused(code, error);
    }
  }

  /** The versions of a blob, the oldest first; none without versioning. */
  async #versions(name: string): Promise<{ readonly version: string; readonly isCurrent: boolean }[]> {
    const versions: { version: string; isCurrent: boolean }[] = [];
    for await (const item of this.#items(name, { includeVersions: true }))
      if (item.name === name && item.versionId !== undefined)
        versions.push({ version: item.versionId, isCurrent: item.isCurrentVersion === true });
    // An id is the time of its write.
    return versions.toSorted((a, b) => (a.version < b.version ? -1 : 1));
  }

  /** False: a hold or a policy forbids it (ASM-F27). */
  async #unlessHeld(call: () => Promise<unknown>): Promise<boolean> {
    try {
      await this.#ask('DeleteBlob', call);
      return true;
    } catch (error) {
      const { status, code } = answerOf(error);
      if (status === 409 && code.startsWith('BlobImmutable')) return false;
      throw error;
    }
  }

  async *#items(prefix: string, more: object = {}): AsyncGenerator<ListedBlob> {
    let continuationToken: string | undefined;
    do {
      const page: BlobPage | undefined = await this.#ask('ListBlobs', async () => {
        const settings = continuationToken ? { continuationToken } : {};
        using limited = this.#firstLimited();
        const options = { ...more, ...(prefix === '' ? {} : { prefix }), abortSignal: limited.signal };
        return (await this.#container.listBlobsFlat(options).byPage(settings).next()).value;
      });
      yield* page?.segment.blobItems ?? [];
      continuationToken = page?.continuationToken;
    } while (continuationToken);
  }

  #aborted(): { abortSignal?: AbortSignal } {
    return this.#signal ? { abortSignal: this.#signal } : {};
  }

  /** A signal that ends a small request after `FIRST_MS`, until the account has answered once. */
  #firstLimited(): Disposable & { readonly signal: AbortSignal } {
    const ended = new AbortController();
    const over = new AbortController();
    if (!this.#answered)
      void this.#clock.sleep(FIRST_MS, ended.signal).then(
        () => over.abort(new DOMException(`No answer within ${FIRST_MS / 1_000} s`, 'TimeoutError')),
        () => undefined,
      );
    return {
      signal: this.#signal ? AbortSignal.any([this.#signal, over.signal]) : over.signal,
      [Symbol.dispose]: () => ended.abort(),
    };
  }

  /** Undefined: there is no such blob, or the condition failed. */
  async #ask<T>(operation: BlobOperation, call: (span: Span) => Promise<T>): Promise<T | undefined> {
    using _reporting = this.#reportIfLate();
    const start = this.#clock.monotonic();
    for (let attempt = 1; ; attempt++) {
      try {
        const answer = await inBlobSpan(this.#container, operation, call);
        this.#answered = true;
        return answer;
      } catch (error) {
        this.#signal?.throwIfAborted();
        if (error instanceof BlobOffline) throw error;
        const { status, code } = answerOf(error);
        this.#answered ||= status !== undefined;
        if (isExpected(status, code)) return undefined;
        const final = !isTransient(status, code) || (!this.#answered && isRefused(error));
        if (final || this.#clock.monotonic() - start > WITHIN_MS) throw this.#explained(error);
        await this.#clock.sleep(Math.min(2_000, 20 * 2 ** attempt) * (0.5 + Math.random()), this.#signal);
      }
    }
  }

  #reportIfLate(): Disposable {
    const ended = new AbortController();
    const report = async (): Promise<void> => {
      let passed = 0;
      for (const at of LATE_MS) {
        await this.#clock.sleep(at - passed, ended.signal);
        passed = at;
        this.#say(`The blob container ${this.#where()} has not answered for ${at / 1_000} s`);
      }
    };
    report().catch(() => undefined);
    return { [Symbol.dispose]: () => ended.abort() };
  }

  #where(): string {
    return `${this.#container.containerName} at ${new URL(this.#container.url).origin}`;
  }

  #explained(error: unknown): unknown {
    const { status, code } = answerOf(error);
    const where = this.#where();
    const check = { cause: error, hint: 'Check the address in `STORAGE` and the network.' };
    if (code === 'ContainerNotFound')
      return archiveError('storage-container-missing', `The blob container ${where} does not exist`, { cause: error });
    if (status === 401 || status === 403)
      return sharedError('denied', `The blob container ${where} refused access: ${code}`, {
        cause: error,
        hint: 'Check `STORAGE`, or give the identity the role "Storage Blob Data Contributor" on the account.',
      });
    if (status === undefined) {
      const why =
        code === 'AbortError' || code === 'TimeoutError' ? `no answer within ${FIRST_MS / 1_000} s` : messageOf(error);
      return sharedError('unreachable', `The blob container ${where} can't be reached: ${why}`, check);
    }
    if (isTransient(status, code))
      return sharedError(
        'unavailable',
        `The blob container ${where} has refused a request for ${WITHIN_MS / 1_000} s: ${status} ${code}`,
        {
          cause: error,
          hint: 'Run the command again later. Millrace has left nothing half done. If it comes often, look at the ingress, egress and request limits of the account.',
        },
      );
    return error;
  }
}
