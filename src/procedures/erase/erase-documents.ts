// The tenant's documents in the containers of a place, with everything that projections derived of them there.
import { isObject } from '../../base/json.ts';
import { type KeyPath, storedKey, splitPath } from '../../cosmos/paths.ts';
import type { Doc } from '../../pipeline/specs.ts';
import { isOfTenants } from '../../pipeline/tenant.ts';
import { OWN_TYPE } from '../../cosmos/own-documents.ts';
import { linesOfTenant } from '../../archive/erase.ts';
import type { SinkDocument } from '../../access/document-access.ts';
import { storedDocuments } from '../tenants/documents.ts';
import { type Count, type EraseParts, type PlaceParts, inPlace } from './erase-options.ts';
import { type ErasedContainer, containersOf } from './containers-to-erase.ts';
import type { Owned } from './owned.ts';
import { removeFrom } from './remove-by-query.ts';

/** Adds the tenant's documents as a place has them now. Records of them have to go before they do. */
export async function addOwned(owned: Owned, { services, containers, asked, signal }: PlaceParts): Promise<void> {
  for (const container of containers) {
    if (!isOfTenants(container, asked.rule.field)) continue;
    const paths = container.partitionKey.map(splitPath);
    const documents = storedDocuments<Doc>(services.place.database.container(container.name), container, asked, {
      signal,
    });
    for await (const document of documents) addTo(owned, container.name, paths, document);
  }
}

/** Adds the tenant's archived documents, of all places. */
export async function addArchived(owned: Owned, { store, asked, signal }: EraseParts): Promise<void> {
  if (!store) return;
  const { tenant, owns } = asked;
  for await (const line of linesOfTenant({ store, tenant, owns, signal })) owned.add(line);
}

function addTo(owned: Owned, container: string, paths: readonly KeyPath[], document: Doc): void {
  owned.add({ container, key: storedKey(document, paths), id: String(document['id']) });
}

/** Removes what Millrace keeps of the tenant's documents in sinks whose key has no tenant: these records don't name one. */
export async function removeDerived(owned: Owned, count: Count, options: PlaceParts): Promise<void> {
  const { projections } = options.loaded.pipeline;
  const sources = new Map(projections.map(({ name, from }) => [name, from.container]));
  for (const place of await containersOf(options)) {
    if (place.level !== -1) continue;
    const goes = (document: SinkDocument): boolean => {
      const { source, of, _src: stamp, _mr: own } = document;
      const [name = ''] = isObject(own) ? String(own['by']).split('@') : [];
      // A stamp has no container: the projection has.
      if (isObject(stamp) && owned.has({ container: sources.get(name), key: stamp['pk'], id: stamp['id'] }))
        return true;
      if (!String(document['type']).startsWith(OWN_TYPE)) return false;
      if (owned.has(source)) return true;
      // A counter of different values belongs to the group beside which it is stored.
      return owned.has({ container: place.name, key: storedKey(document, place.keyPaths), id: of });
    };
    const query = 'SELECT * FROM c WHERE STARTSWITH(c.type, @own) OR IS_DEFINED(c._mr)';
    const spec = { query, parameters: [{ name: '@own', value: OWN_TYPE }] };
    count(inPlace(options, place.name), await removeFrom(fromOf(place, options), spec, goes, options));
  }
}

/**
 * Removes every document that has the tenant's field, Millrace's own included: they have the fields of the key. Adds them to
 * `owned`, because hosts that read all versions make records of their deletion.
 */
export async function removeStored(owned: Owned, count: Count, options: PlaceParts): Promise<void> {
  const { value, rule } = options.asked;
  for (const place of await containersOf(options)) {
    if (!place.ofTenants) continue;
    const query = {
      query: `SELECT * FROM c WHERE c[${JSON.stringify(rule.field)}] = @tenant`,
      parameters: [{ name: '@tenant', value }],
    };
    const within = place.level === 0 && place.keyPaths.length === 1 ? { partitionKey: value } : {};
    const goes = (document: SinkDocument): boolean => {
      addTo(owned, place.name, place.keyPaths, document);
      return true;
    };
    count(inPlace(options, place.name), await removeFrom(fromOf(place, options), query, goes, options, within));
  }
}

const fromOf = ({ name, keyPaths }: ErasedContainer, { services }: PlaceParts) => ({
  container: services.place.database.container(name),
  keyPaths,
});
