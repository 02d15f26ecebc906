import { buffer } from 'node:stream/consumers';
import type { ContainerClient } from '@azure/storage-blob';
import { UsageError, messageOf } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import { systemClock } from '../base/clock.ts';
import type { BlobStore, StoredBlob } from './blob-store.ts';

const WITHIN_MS = 60_000;

/**
 * A container of Azure Blob Storage. Every call may be sent again whatever became of it, for all writes are conditional;
 * so the retries are here, and the client needs none (`retryOptions: { maxTries: 1 }`).
 */
export class AzureBlobStore implements BlobStore {
  readonly #container: ContainerClient;
  readonly #signal: AbortSignal | undefined;

  constructor(container: ContainerClient, options: { readonly signal?: AbortSignal } = {}) {
    this.#container = container;
    this.#signal = options.signal;
  }

  async put(name: string, bytes: Uint8Array, ifMatch: string | null): Promise<boolean> {
    const blob = this.#container.getBlockBlobClient(name);
    const blobContentType = name.endsWith('.json') ? 'application/json' : 'application/gzip';
    const written = await this.#ask(() =>
      blob.upload(bytes, bytes.length, {
        conditions: ifMatch === null ? { ifNoneMatch: '*' } : { ifMatch },
        blobHTTPHeaders: { blobContentType },
        ...this.#aborted(),
      }),
    );
    return written !== undefined;
  }

  async read(name: string): Promise<StoredBlob | undefined> {
    const blob = this.#container.getBlobClient(name);
    return this.#ask(async () => {
      const answer = await blob.download(0, undefined, this.#aborted());
      const stream = answer.readableStreamBody;
      const bytes = stream ? await buffer(stream) : Buffer.alloc(0);
      if (bytes.length !== answer.contentLength)
        throw Object.assign(new Error(`The answer for blob ${name} broke off`), { code: 'ECONNRESET' });
      return { bytes, etag: answer.etag ?? '' };
    });
  }

  async *list(prefix: string): AsyncGenerator<string> {
    let continuationToken: string | undefined;
    do {
      const page = await this.#ask(async () => {
        const settings = continuationToken ? { continuationToken } : {};
        const options = { ...(prefix === '' ? {} : { prefix }), ...this.#aborted() };
        return (await this.#container.listBlobsFlat(options).byPage(settings).next()).value;
      });
      for (const { name } of page?.segment.blobItems ?? []) yield name;
      continuationToken = page?.continuationToken;
    } while (continuationToken);
  }

  #aborted(): { abortSignal?: AbortSignal } {
    return this.#signal ? { abortSignal: this.#signal } : {};
  }

  /** Undefined: there is no such blob, or the condition failed. */
  async #ask<T>(call: () => Promise<T>): Promise<T | undefined> {
    const start = systemClock.monotonic();
    for (let attempt = 1; ; attempt++) {
      try {
        return await call();
      } catch (error) {
        this.#signal?.throwIfAborted();
        const { status, code } = answerOf(error);
        if (code === 'BlobNotFound' || code === 'BlobAlreadyExists' || status === 412) return undefined;
        if (!isTransient(status, code) || systemClock.monotonic() - start > WITHIN_MS) throw this.#explained(error);
        await systemClock.sleep(Math.min(2_000, 20 * 2 ** attempt) * (0.5 + Math.random()), this.#signal);
      }
    }
  }

  #explained(error: unknown): unknown {
    const { status, code } = answerOf(error);
    const where = `${this.#container.containerName} at ${new URL(this.#container.url).origin}`;
    const usage = (name: string, what: string, mend: string) =>
      new UsageError(name, `${what}. Nothing has left its container.`, { cause: error, mend });
    if (code === 'ContainerNotFound') {
      const mend = 'Create it with `millrace model apply`, or name another in STORAGE_CONTAINER.';
      return usage('storage-container-missing', `The blob container ${where} does not exist`, mend);
    }
    if (status === 401 || status === 403) {
      const mend = 'Check STORAGE, or give the identity the role "Storage Blob Data Contributor" on the account.';
      return usage('storage-denied', `The blob container ${where} refused us: ${code}`, mend);
    }
    if (code === 'BlobArchived' || code === 'BlobBeingRehydrated') {
      const mend = 'Rehydrate it to the hot or cool tier, which takes hours, and start again.';
      return usage('blob-offline', `A blob of ${where} lies in the archive tier`, mend);
    }
    if (status === undefined) {
      const mend = 'Check the address in STORAGE and the network.';
      return usage('storage-unreachable', `The blob container ${where} can't be reached: ${messageOf(error)}`, mend);
    }
    return error;
  }
}

function answerOf(error: unknown): { readonly status: number | undefined; readonly code: string } {
  if (!isObject(error) && !(error instanceof Error)) return { status: undefined, code: '' };
  const { statusCode, code, name } = error as { statusCode?: unknown; code?: unknown; name?: unknown };
  return {
    status: typeof statusCode === 'number' ? statusCode : undefined,
    code: typeof code === 'string' ? code : String(name),
  };
}

const CONNECTION = new Set(['REQUEST_SEND_ERROR', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ECONNREFUSED', 'PARSE_ERROR']);

/** 409 while another writes the same blob (`BlobBeingWritten…`) passes as well. */
const isTransient = (status: number | undefined, code: string): boolean =>
  status === undefined ? CONNECTION.has(code) : status === 408 || status === 429 || status >= 500;
