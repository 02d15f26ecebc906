// Azurite brings a blob back from the Archive tier at once, and has one redundancy. This server stands before it: a blob
// comes back when `finish` is called, and tells its state as ASM-H56 says the service does.
import { type BlobClient } from '@azure/storage-blob';
import { type Asked, type StorageBefore, eachBlob, startStorageBefore } from './storage-before.ts';

export interface TieringStorage extends StorageBefore {
  /** The account's redundancy; undefined: the identity may not ask, and the Archive tier is refused. */
  redundancy: string | undefined;
  /** After so many rehydrations were begun, the account refuses access. */
  failAfter: number;
  /** How many requests asked for a rehydration. */
  readonly begun: () => number;
  /** Ends all rehydrations. */
  finish(): Promise<void>;
}

export async function startTieringStorage(connectionString: string): Promise<TieringStorage> {
  const pending = new Map<string, { readonly client: BlobClient; readonly tier: string }>();
  let begun = 0;

  async function serve({ from, response, url, blob, comp, client, forward, refuse }: Asked): Promise<void> {
    if (comp === 'properties' && url.searchParams.get('restype') === 'account') {
      if (storage.redundancy === undefined) return refuse(403, 'AuthorizationPermissionMismatch');
      return forward({ headers: { 'x-ms-sku-name': storage.redundancy } });
    }
    if (comp === 'list' && url.searchParams.get('restype') === 'container')
      return forward({
        xml: (xml) =>
          eachBlob(blob, xml, (name, element) => {
            const { tier } = pending.get(name) ?? {};
            if (tier === undefined) return element;
            return element.replace(
              '<Properties>',
              `<Properties><ArchiveStatus>rehydrate-pending-to-${tier.toLowerCase()}</ArchiveStatus>`,
            );
          }),
      });
    if (comp === 'tier') {
      const tier = String(from.headers['x-ms-access-tier']);
      if (pending.has(blob)) return refuse(409, 'BlobBeingRehydrated');
      if (tier === 'Archive' && storage.redundancy === undefined) return refuse(400, 'InvalidBlobTier');
      const stored = client();
      if ((await stored.getProperties()).accessTier === 'Archive' && tier !== 'Archive') {
        if (begun >= storage.failAfter) return refuse(403, 'AuthorizationFailure');
        begun += 1;
        pending.set(blob, { client: stored, tier });
        return void response.writeHead(202).end();
      }
    }
    if (from.method === 'GET' && comp === null && pending.has(blob)) return refuse(409, 'BlobBeingRehydrated');
    return forward();
  }

  const before = await startStorageBefore(connectionString, serve);
  const storage: TieringStorage = {
    ...before,
    redundancy: 'Standard_GRS',
    failAfter: Infinity,
    begun: () => begun,
    finish: async () => {
      for (const { client, tier } of pending.values()) await client.setAccessTier(tier);
      pending.clear();
    },
    [Symbol.asyncDispose]: () => before[Symbol.asyncDispose](),
  };
  return storage;
}
