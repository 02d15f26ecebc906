/**
 * What is needed of a `ContainerClient` of `@azure/storage-blob`: give yours, with any credential. It is written out, since
 * the classes of two copies of that package are two types.
 */
export interface BlobContainer {
  readonly containerName: string;
  readonly url: string;
  getBlobClient(name: string): BlobHandle;
  /** Only Millrace itself asks whether it can hold. */
  getProperties?(options?: object): Promise<{ readonly isImmutableStorageWithVersioningEnabled?: boolean | undefined }>;
  listBlobsFlat(options?: object): {
    byPage(settings?: object): { next(): Promise<{ value?: BlobPage }> };
  };
}

export interface BlobHandle {
  download(
    offset?: number,
    count?: number,
    options?: object,
  ): Promise<{
    readonly readableStreamBody?: NodeJS.ReadableStream | undefined;
    readonly contentLength?: number | undefined;
    readonly etag?: string | undefined;
  }>;
  delete(options?: object): Promise<unknown>;
  /** Only Millrace itself holds. */
  setLegalHold(held: boolean, options?: object): Promise<unknown>;
  setImmutabilityPolicy(policy: object, options?: object): Promise<unknown>;
  withVersion(version: string): BlobHandle;
  /** Only Millrace itself writes. */
  getBlockBlobClient(): {
    upload(body: Uint8Array, length: number, options: object): Promise<unknown>;
  };
}

export interface BlobPage {
  readonly segment: { readonly blobItems: readonly ListedBlob[] };
  readonly continuationToken?: string | undefined;
}

/** With versions, a blob is listed once for each. */
export interface ListedBlob {
  readonly name: string;
  readonly versionId?: string | undefined;
  readonly isCurrentVersion?: boolean | undefined;
  readonly properties: {
    readonly legalHold?: boolean | undefined;
    readonly immutabilityPolicyExpiresOn?: Date | undefined;
  };
}
