import type { Container, PartitionKey, SqlQuerySpec } from '@azure/cosmos';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { type KeyPath, storedKey } from '../../cosmos/paths.ts';
import { forEach } from '../../kinds/archive/entries.ts';
import type { SinkDocument } from '../../access/document-access.ts';
import type { PlaceParts, Removed } from './erase-options.ts';

/** Documents that are removed at the same time; the access sends many of them in one request. */
const CHUNK = 256;

/** Passes of a query, until each found document is gone. */
const MOST_TRIES = 5;

interface Within {
  readonly partitionKey?: PartitionKey;
  readonly gone?: (document: SinkDocument) => void;
}

export interface From {
  readonly container: Container;
  readonly keyPaths: readonly KeyPath[];
}

/**
 * Removes the documents of a query that `goes` chooses. A document that is written again and again stays for the next
 * round. `gone` gets each that is gone.
 */
export async function removeFrom(
  from: From,
  query: string | SqlQuerySpec,
  goes: (document: SinkDocument) => boolean,
  options: Pick<PlaceParts, 'access' | 'signal'>,
  within: Within = {},
): Promise<Removed> {
  let removed = 0;
  for (let tries = 1; ; tries++) {
    const pass = await removePass(from, query, goes, options, within);
    removed += pass.removed;
    const left = pass.found - pass.removed;
    if (left === 0 || tries === MOST_TRIES) return { found: removed + left, removed };
  }
}

async function removePass(
  from: From,
  query: string | SqlQuerySpec,
  goes: (document: SinkDocument) => boolean,
  options: Pick<PlaceParts, 'access' | 'signal'>,
  { gone, ...within }: Within,
): Promise<Removed> {
  let [found, removed] = [0, 0];
  let some: SinkDocument[] = [];
  const flush = async (): Promise<void> => {
    const all = some;
    some = [];
    await forEach(all, async (document) => {
      if (!(await removeOne(from, document, options))) return;
      removed += 1;
      gone?.(document);
    });
  };
  const documents = fetchAll<SinkDocument>(from.container, query, options.signal, { ...within, anyFormat: true });
  for await (const document of documents) {
    if (!goes(document)) continue;
    found += 1;
    some.push(document);
    if (some.length === CHUNK) await flush();
  }
  await flush();
  return { found, removed };
}

/** False: it is gone, or was written since it was read. */
async function removeOne(
  { container, keyPaths }: From,
  document: SinkDocument,
  { access }: Pick<PlaceParts, 'access'>,
): Promise<boolean> {
  const { id, _etag: etag } = document;
  const answer = await access.commit(container.id, storedKey(document, keyPaths), [
    { op: 'delete', id, ifMatch: etag },
  ]);
  return answer.kind === 'done';
}
