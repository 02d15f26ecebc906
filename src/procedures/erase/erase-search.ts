// Looks at everything that is stored, for what still names a tenant. It shares no selection with the removal: it reads whole
// containers, and judges each text.
import type { Container } from '@azure/cosmos';
import { isObject } from '../../base/json.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { withoutSystemFields } from '../../cosmos/system-fields.ts';
import { LARGEST } from '../../archive/blobs/blob.ts';
import { codecOf, decompress } from '../../archive/blobs/codec.ts';
import { BlobOffline } from '../../archive/blobs/blob-offline.ts';
import { HOLD } from '../../archive/holds.ts';
import { isShared, isTenant, placeOf } from '../../archive/blobs/layout.ts';
import { partsByName, textOf } from './erase-letters.ts';
import { type ErasePlace, type EraseParts, inPlace } from './erase-options.ts';
import { type ErasedContainer, containersOf } from './containers-to-erase.ts';
import { namedRows } from './erase-tables.ts';
import { isForTenant, isNamed, namesIn } from './names.ts';

/** Documents, lines, blobs and jobs by place. */
export type SearchedPlaces = Readonly<Record<string, number>>;

export interface Searched {
  /** The tenant's own: the erasure isn't done. */
  readonly left: SearchedPlaces;
  /** A text of another's document has the tenant's name as a word. These stay. */
  readonly mentions: SearchedPlaces;
  /** Blobs and parts of letters that can't be read. */
  readonly unreadable: readonly string[];
}

export interface SearchOptions extends EraseParts {
  /** Blobs that a hold or a policy keeps, by name. They are reported apart. */
  readonly held: ReadonlySet<string>;
}

/** Records that only Millrace writes, and that repeat nothing of the application's documents. */
const PAPERS = new Set(['millrace.status', 'millrace.run']);

export async function searchEverything(options: SearchOptions): Promise<Searched> {
  const { services, signal, store, jobs } = options;
  const places: { readonly at: ErasePlace; readonly containers: ErasedContainer[] }[] = [];
  for (const at of (await options.places()).all)
    places.push({ at, containers: await containersOf({ ...options, ...at }) });
  const search = new Search(
    options,
    places.flatMap(({ containers }) => containers),
  );
  for (const { at, containers } of places) {
    const { database, state } = at.services.place;
    for (const { name } of containers) {
      signal.throwIfAborted();
      await search.container(database.container(name), inPlace(at, name));
    }
    await search.container(state, inPlace(at, 'state'));
    await search.parts(at);
  }
  await search.container(services.global.leases, 'leases');
  if (store)
    for await (const name of store.listEver('')) {
      signal.throwIfAborted();
      if (!options.held.has(name)) await search.blob(name, async () => (await store.readEver(name))?.bytes);
    }
  await search.tables();
  if (jobs) for await (const { payload, stored } of jobs.every()) search.job(payload, stored);
  return search.result;
}

/** In the Archive tier a blob can't be searched. */
const offline = (error: unknown): 'offline' => {
  if (error instanceof BlobOffline) return 'offline';
  throw error;
};

/** Undefined: it can't be read. */
function textIn(name: string, bytes: Uint8Array | 'offline' | undefined): string | undefined {
  if (bytes === undefined) return '';
  if (bytes === 'offline') return undefined;
  try {
    const codec = codecOf(name);
    return codec ? decompress(codec, bytes, LARGEST) : Buffer.from(bytes).toString();
  } catch {
    return undefined;
  }
}

class Search {
  readonly #options: SearchOptions;
  readonly #names: RegExp;
  /** The level of the key that has the tenant; -1: none. */
  readonly #levels: ReadonlyMap<string, number>;
  readonly #left: Record<string, number> = {};
  readonly #mentions: Record<string, number> = {};
  readonly #unreadable: string[] = [];

  constructor(options: SearchOptions, containers: readonly ErasedContainer[]) {
    this.#options = options;
    this.#names = namesIn(options.asked);
    this.#levels = new Map(containers.filter(({ ofTenants }) => ofTenants).map(({ name, level }) => [name, level]));
  }

  get result(): Searched {
    return { left: this.#left, mentions: this.#mentions, unreadable: this.#unreadable };
  }

  async container(container: Container, place: string): Promise<void> {
    const { signal, asked } = this.#options;
    // Parts are large, and mean something only together.
    const query = "SELECT * FROM c WHERE NOT IS_DEFINED(c.kind) OR c.kind != 'dead-letter-part'";
    for await (const stored of fetchAll<Record<string, unknown>>(container, query, signal, { anyFormat: true })) {
      const document = withoutSystemFields(stored);
      // The certificate names it among what stays.
      if (document['type'] === HOLD && document['tenant'] === asked.tenant) continue;
      const own = this.#levels.has(container.id) && document[asked.rule.field] === asked.value;
      this.#judge(place, document, own || this.#isPaper(document) || this.#holds(document));
    }
  }

  /** A host writes its report again and again, so any word of it doesn't count. */
  #isPaper({ type, kept, arguments: given, result, ...document }: Readonly<Record<string, unknown>>): boolean {
    if (type === 'millrace.run' && kept) return isNamed([given, result], this.#names);
    return PAPERS.has(String(type)) && isForTenant({ ...document, given }, this.#options.asked.tenant);
  }

  async parts(at: ErasePlace): Promise<void> {
    const { services } = at;
    for (const [name, parts] of await partsByName({ services, signal: this.#options.signal }))
      this.#text(inPlace(at, 'state'), await textOf(parts, services.place.state), name);
  }

  async blob(name: string, read: () => Promise<Uint8Array | undefined>): Promise<void> {
    const place = placeOf(name);
    const { tenant } = this.#options.asked;
    if (isTenant(place, tenant) && !isShared(place)) return this.#add(this.#left, 'blobs');
    const text = textIn(name, await read().catch(offline));
    if (text === undefined) {
      this.#unreadable.push(name);
      return;
    }
    for (const line of text.split('\n')) if (line !== '') this.#text('blobs', line, name);
  }

  async tables(): Promise<void> {
    for await (const { table, cells, own } of namedRows(this.#options)) this.#judge(table, cells, own);
  }

  job(payload: unknown, stored: unknown): void {
    const { tenant } = this.#options.asked;
    const input = isObject(payload) ? payload['input'] : undefined;
    this.#judge('jobs', stored, isForTenant(payload, tenant) || (isObject(input) && input['value'] === tenant));
  }

  /** A text that should be JSON. */
  #text(place: string, text: string, name: string): void {
    try {
      const value: unknown = JSON.parse(text);
      this.#judge(place, value, this.#holds(value));
    } catch {
      if (isNamed(text, this.#names)) this.#unreadable.push(name);
    }
  }

  #judge(place: string, value: unknown, own: boolean): void {
    if (own) this.#add(this.#left, place);
    else if (isNamed(value, this.#names)) this.#add(this.#mentions, place);
  }

  #add(to: Record<string, number>, place: string): void {
    to[place] = (to[place] ?? 0) + 1;
  }

  /** Whether a record of Millrace holds a document of the tenant, or its identity, at any depth. */
  #holds(value: unknown): boolean {
    if (Array.isArray(value)) return value.some((one) => this.#holds(one));
    if (!isObject(value)) return false;
    const { container, key, tenant, doc, before, document } = value;
    const { asked } = this.#options;
    const level = this.#levels.get(String(container));
    if (level !== undefined) {
      if (Array.isArray(key) && key[level] === asked.value) return true;
      if (tenant === asked.tenant) return true;
      for (const one of [doc, before, document])
        if (isObject(one) && one[asked.rule.field] === asked.value) return true;
    }
    return Object.values(value).some((one) => this.#holds(one)) || this.#ofParent(value);
  }

  /** The state of a parent has its identity and its content beside each other. */
  #ofParent({ parent, of, doc, part, queues }: Readonly<Record<string, unknown>>): boolean {
    const { asked } = this.#options;
    const identity = isObject(parent) ? parent : of;
    const content = isObject(doc) ? doc : part;
    if (Array.isArray(queues) && queues.some((queue) => isObject(queue) && queue['tenant'] === asked.tenant))
      return true;
    if (!isObject(identity) || !isObject(content)) return false;
    return this.#levels.has(String(identity['container'])) && content[asked.rule.field] === asked.value;
  }
}
