import { shown } from '../../base/json.ts';
import { mapSettled } from '../../base/map-settled.ts';
import { type KeyPath, fullKey, valueAt } from '../../cosmos/paths.ts';
import type { DocumentAccess, SinkDocument } from '../../sinks/document-access.ts';
import { operationsError } from '../errors.ts';

/** A tenant's value in a document. */
export type Tenant = string | number;

/** Where the missing values come from; the form in which an operator gives it. */
export interface ValuesInput {
  /** `FIELD` of the same document, or `CONTAINER.FIELD` of another one with `by`. Names of deeper fields have dots. */
  readonly from?: string | undefined;
  readonly by?: string | undefined;
  readonly value?: string | undefined;
}

/** A document's value, or the reason why it has none. */
export type Found = { readonly value: Tenant } | { readonly why: string };

type Doc = Readonly<Record<string, unknown>>;

/** Finds the tenants of documents that lack them. It guesses none. */
export interface Values {
  /** In the order of the documents. `access` is one to their database. */
  of(documents: readonly Doc[], access: DocumentAccess): Promise<Found[]>;
}

/** A document of another container, found by fields of the one that lacks its tenant. */
export interface Lookup {
  readonly container: string;
  readonly path: KeyPath;
  /** Field of the other document → field of this one. */
  readonly by: ReadonlyMap<string, KeyPath>;
}

const MOST_CHARACTERS = 1_000;
const READS_AT_ONCE = 128;

/** The container and the fields of a `--from` with `--by`; undefined for the other forms. @throws UsageError `input-invalid` */
export function lookupOf({ from, by, value }: ValuesInput): Lookup | undefined {
  if ((from === undefined) === (value === undefined))
    throw invalid('Give either --from or --value', 'Name the field to copy, or the one tenant of all documents.');
  if (value !== undefined && !isTenant(value))
    throw invalid(`--value has 1 to ${MOST_CHARACTERS} characters`, 'Give the tenant of all documents.');
  if (by === undefined) return undefined;
  const [container = '', ...path] = (from ?? '').split('.');
  if (path.length === 0 || [container, ...path].includes(''))
    throw invalid(
      'With --by, --from is CONTAINER.FIELD',
      'Write for example `--from Customers.storeId --by customerId`.',
    );
  const pairs = by.split(',').map((pair) => {
    const [field = '', own = field] = pair.split('=').map((name) => name.trim());
    return [pair.includes('=') ? field : 'id', own.split('.')] as const;
  });
  if (pairs.some(([field, own]) => field === '' || own.includes('')) || new Map(pairs).size < pairs.length)
    throw invalid(`--by ${by} is not a list of fields`, 'Write for example `--by id=customerId,region=country`.');
  return { container, path, by: new Map(pairs) };
}

/**
 * Opens the source of the values. `keyPaths`: of the container of a lookup; `field`: the tenant field.
 * @throws UsageError `input-invalid` for a lookup that would need the missing value itself
 */
export function openValues(input: ValuesInput, field: string, keyPaths: readonly KeyPath[]): Values {
  const { from = '', value } = input;
  const lookup = lookupOf(input);
  if (value !== undefined) return { of: async (documents) => documents.map(() => ({ value })) };
  return lookup ? byLookup(lookup, field, keyPaths) : byField(from);
}

const byField = (from: string): Values => ({
  of: async (documents) =>
    documents.map((doc) => checked(valueAt(doc, from.split('.')), from) ?? { why: `it has no ${from}` }),
});

function byLookup({ container, path, by }: Lookup, field: string, keyPaths: readonly KeyPath[]): Values {
  const names = keyPaths.map((one) => one.join('.'));
  const known = ['id', ...names];
  const unknown = [...by.keys()].find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw invalid(
      `--by names ${unknown}, which is not in the key of ${container}`,
      `Name one of: ${known.join(', ')}.`,
    );
  const fieldOf = (name: string): KeyPath => by.get(name) ?? name.split('.');
  const needed = names.find((name) => fieldOf(name).join('.') === field);
  if (needed !== undefined)
    throw invalid(
      `${container} has ${needed} in its partition key, so its documents can't be read without the missing ${field}`,
      `Name the field that has its value: \`--by id=…,${needed}=…\`.`,
    );
  const keys = ['id', ...names].map((name) => [name]);
  return {
    of: async (documents, access) => {
      const read = new Map<string, Promise<SinkDocument | undefined>>();
      return mapSettled(
        documents,
        async (doc): Promise<Found> => {
          const given = Object.fromEntries(['id', ...names].map((name) => [name, valueAt(doc, fieldOf(name))]));
          const keyed = fullKey(given, keys);
          if ('missing' in keyed) return { why: `it has no ${fieldOf(keyed.missing.slice(1)).join('.')}` };
          const [id, ...key] = keyed.key;
          const where = `${container}/${String(id)}`;
          if (typeof id !== 'string' || id === '')
            return { why: `${shown(id)} is not the id of a document of ${container}` };
          const place = JSON.stringify(keyed.key);
          const reading = read.get(place) ?? access.read(container, key, [id]).then(([one]) => one);
          read.set(place, reading);
          const other = await reading;
          if (!other) return { why: `there is no ${where}` };
          return checked(valueAt(other, path), path.join('.'), where) ?? { why: `${where} has no ${path.join('.')}` };
        },
        { concurrency: READS_AT_ONCE },
      );
    },
  };
}

/** Undefined: there is no value at all. */
function checked(value: unknown, name: string, where = 'it'): Found | undefined {
  if (value === undefined || value === null) return undefined;
  if (isTenant(value)) return { value };
  return { why: `${where} has ${shown(value)} as ${name}, which can't be a tenant` };
}

const isTenant = (value: unknown): value is Tenant =>
  typeof value === 'string' ? value !== '' && value.length <= MOST_CHARACTERS : Number.isFinite(value);

const invalid = (message: string, hint: string): Error => operationsError('input-invalid', message, { hint });
