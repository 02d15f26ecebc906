// The smallest search index that keeps versions: words of names, in memory. `node examples/storefront/search/server.ts`
// serves it on a port of its own; SEARCH_URL then makes the pipeline send its products there.
import { type IncomingMessage, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { BulkAnswer, BulkLine, ProductRow } from './sink.ts';

/** Longer names are refused, as a real index has its limits. */
const MOST_CHARACTERS = 200;

type Held = Map<string, { readonly version: string; readonly row: ProductRow | null }>;

export class SearchIndex {
  /** Removed rows stay as null: that is how a late write is known to be one. */
  readonly #contents = new Map<string, Held>([['', new Map()]]);
  /** What readers see: the alias of a real index. */
  #current = '';

  /** `target`: another content than the current one. */
  take(lines: readonly BulkLine[], target = this.#current): BulkAnswer {
    const held = this.#contents.get(target);
    if (!held) throw new Error(`There is no content ${target}`);
    const refused: Record<string, string> = {};
    for (const { id, version, row } of lines) {
      const before = held.get(id);
      if (row !== null && row.name.length > MOST_CHARACTERS) refused[id] = `a name of ${row.name.length} characters`;
      else if (before === undefined || before.version < version) held.set(id, { version, row });
    }
    return { refused };
  }

  /** Adds an empty content, if there is none of this name. */
  open(target: string): void {
    if (!this.#contents.has(target)) this.#contents.set(target, new Map());
  }

  /** Readers and `take` use this content from now on; the one before is removed. */
  swap(target: string): void {
    if (target === this.#current) return;
    if (!this.#contents.has(target)) throw new Error(`There is no content ${target}`);
    this.#contents.delete(this.#current);
    this.#current = target;
  }

  drop(target: string): void {
    if (target !== this.#current) this.#contents.delete(target);
  }

  *rows(): Generator<{ id: string; row: ProductRow; version: string }> {
    for (const [id, { row, version }] of this.#contents.get(this.#current) ?? []) if (row) yield { id, row, version };
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
    const target = searchParams.get('target') ?? undefined;
    if (pathname === '/_open') return index.open(target ?? '');
    if (pathname === '/_swap') return index.swap(target ?? '');
    if (pathname === '/_drop') return index.drop(target ?? '');
    if (pathname === '/search') return index.search(searchParams.get('store') ?? '', searchParams.get('q') ?? '');
    const lines = (await text(request)).split('\n').filter(Boolean);
    return index.take(
      lines.map((line) => JSON.parse(line) as BulkLine),
      target,
    );
  };
  const server = createServer((request, response) => {
    answer(request).then(
      (value) => response.end(JSON.stringify(value ?? null)),
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
