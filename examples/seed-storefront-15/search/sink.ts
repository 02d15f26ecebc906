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
  const ask = async (
    path: string,
    target: string | undefined,
    signal: AbortSignal,
    body?: string,
  ): Promise<unknown> => {
    const url = new URL(path, address);
    if (target !== undefined) url.searchParams.set('target', target);
    const response = await fetch(url, { method: 'POST', ...(body !== undefined && { body }), signal });
    // Not an answer about the rows: thrown, so that it is tried again.
    if (!response.ok) throw new Error(`The search index answered ${response.status}`);
    return response.json();
  };
  const into = (target?: string): Pick<Sink<ProductRow>, 'write'> => ({
    write: async (entries, signal) => {
      const body = entries.map((entry) => `${JSON.stringify(entry satisfies BulkLine)}\n`).join('');
      const { refused } = (await ask('/_bulk', target, signal, body)) as BulkAnswer;
      if (Object.keys(refused).length > 0) throw new SinkRefusal(new Map(Object.entries(refused)));
    },
  });
  return {
    ...into(),
    rows: async function* (signal) {
      yield* (await ask('/_all', undefined, signal)) as { id: string; row: ProductRow; version: string }[];
    },
    rebuild: {
      open: async (target, signal) => {
        await ask('/_open', target, signal);
        return into(target);
      },
      swap: async (target, signal) => void (await ask('/_swap', target, signal)),
      drop: async (target, signal) => void (await ask('/_drop', target, signal)),
    },
  };
}
