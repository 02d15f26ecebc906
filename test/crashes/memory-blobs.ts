import { Readable } from 'node:stream';
import type { BlobContainer, BlobHandle } from '../../src/archive/blobs/blob-container.ts';
import { boundary } from '../support/crashes.ts';

interface Blob {
  readonly bytes: Uint8Array;
  readonly etag: string;
}
interface Conditions {
  readonly conditions?: { readonly ifNoneMatch?: string; readonly ifMatch?: string };
}

const refusal = (statusCode: number, code: string): Error => Object.assign(new Error(code), { statusCode, code });

/** A blob container without versions and holds. */
export class MemoryBlobs implements BlobContainer {
  readonly containerName = 'archive';
  readonly url = 'http://127.0.0.1/account/archive';
  readonly blobs = new Map<string, Blob>();
  #writes = 0;

  getProperties = (): Promise<object> => boundary('blob properties', false, async () => ({}));

  listBlobsFlat({ prefix = '' }: { readonly prefix?: string } = {}) {
    const list = async () => {
      const blobItems = [...this.blobs.keys()]
        .filter((name) => name.startsWith(prefix))
        .toSorted()
        .map((name) => ({ name, properties: {} }));
      return { value: { segment: { blobItems } } };
    };
    return { byPage: () => ({ next: () => boundary('blob list', false, list) }) };
  }

  getBlobClient(name: string): BlobHandle {
    const found = (): Blob => {
      const blob = this.blobs.get(name);
      if (!blob) throw refusal(404, 'BlobNotFound');
      return blob;
    };
    const unsupported = async (): Promise<never> => {
      throw refusal(501, 'NotImplemented');
    };
    return {
      download: () =>
        boundary(`blob read ${name}`, false, async () => {
          const { bytes, etag } = found();
          return { readableStreamBody: Readable.from([Buffer.from(bytes)]), contentLength: bytes.length, etag };
        }),
      delete: () =>
        boundary(`blob delete ${name}`, true, async () => {
          found();
          this.blobs.delete(name);
        }),
      setLegalHold: unsupported,
      setImmutabilityPolicy: unsupported,
      withVersion: () => this.getBlobClient(name),
      getBlockBlobClient: () => ({
        upload: (body, _length, { conditions: { ifMatch, ifNoneMatch } = {} }: Conditions) =>
          boundary(`blob put ${name}`, true, async () => {
            const before = this.blobs.get(name);
            if (ifNoneMatch !== undefined && before) throw refusal(409, 'BlobAlreadyExists');
            if (ifMatch !== undefined && before?.etag !== ifMatch) throw refusal(412, 'ConditionNotMet');
            this.blobs.set(name, { bytes: Uint8Array.from(body), etag: `"${(this.#writes += 1)}"` });
            return {};
          }),
      }),
    };
  }
}
