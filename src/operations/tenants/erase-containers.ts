// The tenant's documents in the containers of the model, with everything that projections derived of them there.
import { isObject } from '../../base/json.ts';
import { fullKey, splitPath } from '../../cosmos/paths.ts';
import type { Doc } from '../../definition/specs.ts';
import { isOfTenants } from '../../definition/tenant.ts';
import { OWN_TYPE } from '../../feed/reading/mapper.ts';
import type { Container } from '../../model/model.ts';
import { linesOfTenant } from '../../archive/erase.ts';
import type { SinkDocument } from '../../sinks/document-access.ts';
import { isOnePartition, storedDocuments } from './documents.ts';
import type { Count, EraseParts } from './erase-options.ts';
import { Owned } from './owned.ts';
import { removeFrom } from './remove-documents.ts';

/** The tenant's documents as they are now, hot and cold. Records of them have to go before they do. */
export async function ownedBy(options: EraseParts): Promise<Owned> {
  const { loaded, services, asked, store, signal } = options;
  const owned = new Owned(asked, loaded.model);
  for (const container of ofTenants(options)) {
    const paths = container.partitionKey.map(splitPath);
    const documents = storedDocuments<Doc>(services.database.container(container.name), container, asked, { signal });
    for await (const document of documents) {
      const keyed = fullKey(document, paths);
      // Millrace derives nothing of a document without its whole key.
      if ('key' in keyed) owned.add({ container: container.name, key: keyed.key, id: String(document['id']) });
    }
  }
  if (!store) return owned;
  const { tenant, owns } = asked;
  for await (const line of linesOfTenant({ store, tenant, owns, signal })) owned.add(line);
  return owned;
}

/** Removes what Millrace keeps of the tenant's documents in sinks whose key has no tenant: these records don't name one. */
export async function removeDerived(owned: Owned, count: Count, options: EraseParts): Promise<void> {
  const { field } = options.asked.rule;
  for (const container of options.loaded.model.containers) {
    if (container.partitionKey.includes(`/${field}`)) continue;
    const from = placeOf(container, options);
    const goes = (document: SinkDocument): boolean => {
      const { source, of, _src: stamp, _mr: own } = document;
      if (isObject(own) && owned.hasStamp(stamp)) return true;
      if (!String(document['type']).startsWith(OWN_TYPE)) return false;
      if (owned.has(source)) return true;
      // A counter of different values belongs to the group beside which it is stored.
      const keyed = fullKey(document, from.keyPaths);
      return (
        'key' in keyed && typeof of === 'string' && owned.has({ container: container.name, key: keyed.key, id: of })
      );
    };
    const query = 'SELECT * FROM c WHERE STARTSWITH(c.type, @own) OR IS_DEFINED(c._mr)';
    const spec = { query, parameters: [{ name: '@own', value: OWN_TYPE }] };
    count(container.name, await removeFrom(from, spec, goes, options));
  }
}

/** Removes every document that has the tenant's field, Millrace's own included: they have the fields of the key. */
export async function removeStored(count: Count, options: EraseParts): Promise<void> {
  const { value, rule } = options.asked;
  for (const container of ofTenants(options)) {
    const query = {
      query: `SELECT * FROM c WHERE c[${JSON.stringify(rule.field)}] = @tenant`,
      parameters: [{ name: '@tenant', value }],
    };
    const within = isOnePartition(container, rule) ? { partitionKey: value } : {};
    count(container.name, await removeFrom(placeOf(container, options), query, () => true, options, within));
  }
}

const ofTenants = ({ loaded, asked }: EraseParts): Container[] =>
  loaded.model.containers.filter((container) => isOfTenants(container, asked.rule.field));

const placeOf = ({ name, partitionKey }: Container, { services }: EraseParts) => ({
  container: services.database.container(name),
  keyPaths: partitionKey.map(splitPath),
});
