// Whose a stored record is, also where it doesn't name the tenant.
import { Identities } from '../../archive/read/identities.ts';
import { digest, isObject } from '../../base/json.ts';
import { isOfTenants } from '../../pipeline/tenant.ts';
import type { Identity, Key } from '../../feed/reading/change.ts';
import type { Model } from '../../model/model.ts';
import type { AskedTenant } from '../tenants/tenant-flag.ts';

/** The documents of one tenant: by their key where it has the tenant, and by their identity where not. */
export class Owned {
  readonly #asked: AskedTenant;
  readonly #levels: ReadonlyMap<string, number>;
  readonly #identities = new Map<string, Identities>();
  readonly #published = new Identities();

  constructor(asked: AskedTenant, { containers }: Model) {
    this.#asked = asked;
    const { field } = asked.rule;
    this.#levels = new Map(
      containers
        .filter((container) => isOfTenants(container, field))
        .map(({ name, partitionKey }) => [name, partitionKey.indexOf(`/${field}`)]),
    );
  }

  add({ container, key, id }: Identity): void {
    const known = this.#identities.get(container) ?? new Identities();
    this.#identities.set(container, known);
    known.add({ key, id });
    this.#published.add({ key: [digest([container, key])], id: digest(id) });
  }

  /** `of`: an identity as a record stores it. */
  has(of: unknown): boolean {
    if (!isObject(of) || !Array.isArray(of['key'])) return false;
    const [container, key, id] = [String(of['container']), of['key'] as Key, of['id']];
    if (key[this.#levels.get(container) ?? -1] === this.#asked.value) return true;
    return typeof id === 'string' && this.#identities.get(container)?.has({ key, id }) === true;
  }

  /** Whether the record of what was published last is of such a document: its place has digests alone. */
  hasPublished({ pk, id }: Readonly<Record<string, unknown>>): boolean {
    return this.#published.has({ key: [String(pk).split('|').at(-1) ?? ''], id: String(id) });
  }

  /** Whether a document of a container, or a change of it, is the tenant's. */
  hasDocument(container: unknown, document: unknown): boolean {
    return isObject(document) && this.#asked.owns(String(container), document);
  }

  /** Whether a change that is stored apart from its letter is the tenant's. */
  hasChange(change: unknown): boolean {
    if (!isObject(change)) return false;
    const { tenant, container, doc, before } = change;
    if (tenant === this.#asked.tenant || this.has(change)) return true;
    return this.hasDocument(container, doc) || this.hasDocument(container, before);
  }

  /** Whether a stored dead letter is the tenant's: by its tenant, its key, or the change that it keeps. */
  hasLetter(letter: Readonly<Record<string, unknown>>): boolean {
    return this.hasChange({ ...letter, id: letter['document'] }) || this.hasChange(letter['change']);
  }
}
