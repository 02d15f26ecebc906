// A sink of one's own: a search index behind HTTP. `server.ts` beside it is such an index, for trying it out.
import { type Sink, SinkRefusal } from 'millrace';

/** What is searched for. */
export interface ProductRow {
  readonly storeId: string;
  readonly name: string;
}

/** One line of a bulk request and of its answer. */
export interface BulkLine {
  readonly id: string;
  readonly version: string;
  readonly row: ProductRow | null;
}
export interface BulkAnswer {
  /** Ids that the index will never take, each with the reason. */
  readonly refused: Readonly<Record<string, string>>;
}

/**
 * The index keeps the newest version of each id (many search services call that an external version). A sink must promise
 * only this, because Millrace may send rows again, late and in any order.
 */
export function searchIndex(address: string): Sink<ProductRow> {
  return {
    write: async (entries, signal) => {
      const body = entries.map((entry) => `${JSON.stringify(entry satisfies BulkLine)}\n`).join('');
      const response = await fetch(new URL('/_bulk', address), { method: 'POST', body, signal });
      // Not an answer about the rows: thrown, so that the page is tried again.
      if (!response.ok) throw new Error(`The search index answered ${response.status}`);
      const { refused } = (await response.json()) as BulkAnswer;
      if (Object.keys(refused).length > 0) throw new SinkRefusal(new Map(Object.entries(refused)));
    },
    rows: async function* (signal) {
      const response = await fetch(new URL('/_all', address), { signal });
      yield* (await response.json()) as { id: string; row: ProductRow }[];
    },
  };
}
