// The smallest search index that keeps versions: words of names, in memory. `node examples/storefront/search/server.ts`
// serves it on a port of its own; SEARCH_URL then makes the pipeline send its products there.
import { type IncomingMessage, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { BulkAnswer, BulkLine, ProductRow } from './sink.ts';

/** Longer names are refused, as a real index has its limits. */
const MOST_CHARACTERS = 200;

export class SearchIndex {
  /** Removed rows stay as null: that is how a late write is known to be one. */
  readonly #held = new Map<string, { readonly version: string; readonly row: ProductRow | null }>();

  take(lines: readonly BulkLine[]): BulkAnswer {
    const refused: Record<string, string> = {};
    for (const { id, version, row } of lines) {
      const before = this.#held.get(id);
      if (row !== null && row.name.length > MOST_CHARACTERS) refused[id] = `a name of ${row.name.length} characters`;
      else if (before === undefined || before.version < version) this.#held.set(id, { version, row });
    }
    return { refused };
  }

  *rows(): Generator<{ id: string; row: ProductRow }> {
    for (const [id, { row }] of this.#held) if (row) yield { id, row };
  }

  /** Ids of a store's products whose names have all of the words. */
  search(storeId: string, words: string): string[] {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    return [...this.rows()]
      .filter(({ row }) => row.storeId === storeId && wanted.every((word) => row.name.toLowerCase().includes(word)))
      .map(({ id }) => id);
  }
}

export interface SearchServer extends AsyncDisposable {
  readonly address: string;
  readonly index: SearchIndex;
}

/** On the loopback interface, on a free port unless one is given. */
export async function serveSearch(port = 0): Promise<SearchServer> {
  const index = new SearchIndex();
  const answer = async (request: IncomingMessage): Promise<unknown> => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
    if (pathname === '/_all') return [...index.rows()];
    if (pathname === '/search') return index.search(searchParams.get('store') ?? '', searchParams.get('q') ?? '');
    const lines = (await text(request)).split('\n').filter(Boolean);
    return index.take(lines.map((line) => JSON.parse(line) as BulkLine));
  };
  const server = createServer((request, response) => {
    answer(request).then(
      (value) => response.end(JSON.stringify(value)),
      () => response.writeHead(400).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    index,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

if (process.argv[1] === import.meta.filename) console.log(`SEARCH_URL=${(await serveSearch(7_700)).address}`);
