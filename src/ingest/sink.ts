// How the documents of events are stored.
import type { Database } from '@azure/cosmos';
import type { Meter } from '../cosmos/budget/charge-meter.ts';
import { spendingOf } from '../cosmos/budget/meter.ts';
import type { Key } from '../feed/reading/change.ts';
import type { Fence } from '../feed/tenure/fence.ts';
import { CosmosAccess } from '../access/cosmos-access.ts';
import type { DocumentAccess } from '../access/document-access.ts';

export interface IngestAccess extends Pick<DocumentAccess, 'read'> {
  /** Creates a document. A conflict: it may exist, or the answer was lost. */
  create(
    container: string,
    key: Key,
    id: string,
    body: object,
  ): Promise<{ readonly kind: 'done' | 'conflict' } | { readonly kind: 'refused'; readonly why: string }>;
}

export interface IngestSink {
  /** The access for some events. `live`: its requests go before those of bulk work. */
  readonly open: (fence: Fence, meter: Meter, lane?: 'live') => Promise<IngestAccess>;
  /** Gives up what is held. */
  readonly close: () => Promise<void>;
}

/** All documents go into one database. */
export const databaseSink = (database: Database): IngestSink => ({
  open: async (fence, meter, lane) => {
    const access = new CosmosAccess(database, fence, meter, spendingOf(database, lane));
    return {
      read: (container, key, ids) => access.read(container, key, ids),
      create: (container, key, id, body) => access.commit(container, key, [{ op: 'create', id, body }]),
    };
  },
  close: async () => undefined,
});
