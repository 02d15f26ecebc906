import { shown } from '../../base/json.ts';
import { mapSettled } from '../../base/map-settled.ts';
import { type KeyPath, fullKey, valueAtPath } from '../../cosmos/paths.ts';
import type { DocumentAccess, SinkDocument } from '../../access/document-access.ts';
import type { TenantRule } from '../../pipeline/tenant.ts';
import {
  type BackfillDoc,
  type FoundTenant,
  type BackfillValues,
  type ValuesInput,
  invalid,
  tenantAt,
} from './values.ts';

/** A document of another container, which a document that lacks its tenant names by fields of its own. */
export interface Lookup {
  readonly container: string;
  readonly path: KeyPath;
  /** Field of the other document → field of this one. */
  readonly by: ReadonlyMap<string, KeyPath>;
}

const READS_AT_ONCE = 128;

/** Undefined without `by`. @throws UsageError `input-invalid` */
export function lookupOf({ from = '', by }: ValuesInput): Lookup | undefined {
  if (by === undefined) return undefined;
  const [container = '', ...path] = from.split('.');
  if (path.length === 0 || [container, ...path].includes(''))
    throw invalid('With --by, --from is CONTAINER.FIELD', 'Write `--from Customers.storeId --by customerId`.');
  const pairs = by.split(',').map((pair) => {
    const [field = '', own = field] = pair.split('=').map((name) => name.trim());
    return [pair.includes('=') ? field : 'id', own.split('.')] as const;
  });
  if (pairs.some(([field, own]) => field === '' || own.includes('')) || new Map(pairs).size < pairs.length)
    throw invalid(`--by ${by} is not a list of fields`, 'Write `--by id=customerId,region=country`.');
  return { container, path, by: new Map(pairs) };
}

/**
 * The values of the documents that are looked up, each by a point read. `keyPaths`: of the other container.
 * @throws UsageError `input-invalid` for a lookup that would need the missing value itself
 */
export function byLookup(
  { container, path, by }: Lookup,
  rule: TenantRule,
  keyPaths: readonly KeyPath[],
): BackfillValues {
  const levels = keyPaths.map((one) => one.join('.'));
  const names = ['id', ...levels];
  const unknown = [...by.keys()].find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw invalid(
      `--by names ${unknown}, which is not in the key of ${container}`,
      `Name of these: ${names.join(', ')}.`,
    );
  const fieldOf = (name: string): KeyPath => by.get(name) ?? name.split('.');
  const needed = levels.find((name) => fieldOf(name).join('.') === rule.field);
  if (needed !== undefined)
    throw invalid(
      `${container} has ${needed} in its partition key, so its documents can't be read without the missing ${rule.field}`,
      `Name the field that has its value: \`--by id=…,${needed}=…\`.`,
    );

  const find = async (
    doc: BackfillDoc,
    read: (id: string, key: Key) => Promise<SinkDocument | undefined>,
  ): Promise<FoundTenant> => {
    const given = Object.fromEntries(names.map((name) => [name, valueAtPath(doc, fieldOf(name))]));
    const keyed = fullKey(
      given,
      names.map((name) => [name]),
    );
    if ('missing' in keyed) return { why: `it has no ${fieldOf(keyed.missing.slice(1)).join('.')}` };
    const [id, ...key] = keyed.key;
    if (typeof id !== 'string' || id === '') return { why: `${shown(id)} is not the id of a document of ${container}` };
    const other = await read(id, key);
    return other ? tenantAt(other, path, rule, `${container}/${id}`) : { why: `there is no ${container}/${id}` };
  };
  return {
    of: (documents, access) => {
      const read = onceEach(access, container);
      return mapSettled(documents, (doc) => find(doc, read), { concurrency: READS_AT_ONCE });
    },
  };
}

type Key = readonly (string | number | boolean | null)[];

/** Many documents of a page name the same one. */
function onceEach(
  access: DocumentAccess,
  container: string,
): (id: string, key: Key) => Promise<SinkDocument | undefined> {
  const known = new Map<string, Promise<SinkDocument | undefined>>();
  return (id, key) => {
    const place = JSON.stringify([id, ...key]);
    const reading = known.get(place) ?? access.read(container, key, [id]).then(([one]) => one);
    known.set(place, reading);
    return reading;
  };
}
