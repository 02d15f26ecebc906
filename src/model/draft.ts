// Drafts a model from a live account: the containers as they are defined, and the types of sampled documents.
import type { ContainerDefinition } from './container-definitions.ts';
import { indexingForm } from './container-definitions.ts';
import { type AccountDoc, accountShapeOf } from './drift.ts';
import { fieldsOf } from './fields.ts';
import type { Container, DocumentType, Model } from './model.ts';
import { isDataName, isMap, redacted, shortened } from './redaction.ts';
import { canonical } from '../base/json.ts';

export interface Imported {
  readonly definition: ContainerDefinition;
  /** Documents without the fields that Cosmos DB and Millrace add. */
  readonly samples: readonly AccountDoc[];
}

/** What a sampled container holds. */
interface Sorted extends Imported {
  /** The field that names a document's type. */
  readonly discriminator: string | undefined;
  readonly types: ReadonlyMap<string, readonly AccountDoc[]>;
}

export interface Draft {
  readonly model: Model;
  readonly containers: readonly Sorted[];
  /** Containers with the leases of a change feed processor or of a function app. */
  readonly leases: readonly string[];
}

/** As many examples as show every field and every kind of value, between these bounds, */
const FEWEST = 3;
const MOST = 10;
/** and so many that others name. */
const NAMED = 10;

/** More types than this aren't types. */
const TYPES = 20;
/** Names of the field with a document's type, as applications and libraries call it. */
const DISCRIMINATORS = ['type', 'doctype', 'documenttype', 'entitytype', 'discriminator', 'kind', 'entity'];

/** The model of an account. `values`: the examples keep what is stored. */
export function draft(imported: readonly Imported[], file: string, { values }: { readonly values: boolean }): Draft {
  const [leases, own] = [imported.filter(hasLeases), imported.filter((of) => !hasLeases(of))];
  const containers = own.map(sorted);
  const examples = examplesOf(containers, values);
  const at = { file, line: 1 };
  const model: Model = {
    title: 'model.ts',
    file,
    containers: containers.map(({ definition, types, discriminator }): Container => {
      const { id, partitionKey, defaultTtl, uniqueKeyPolicy, indexingPolicy, throughput } = definition;
      const vectors = definition.vectorEmbeddingPolicy?.vectorEmbeddings ?? [];
      const unique = uniqueKeyPolicy?.uniqueKeys ?? [];
      return {
        name: id,
        partitionKey: partitionKey.paths,
        types: [...types].map(([name, documents]): DocumentType => {
          const fields = fieldsOf(documents.map(withoutDataNames), isMap);
          const named = discriminator === undefined ? undefined : fields[discriminator];
          return {
            name,
            fields: named ? { ...fields, [discriminator ?? '']: { ...named, values: [name] } } : fields,
            examples: documents.filter((doc) => examples.has(doc)).map((doc) => examples.get(doc) ?? {}),
            at,
          };
        }),
        ...(indexingPolicy && !indexesAll(indexingPolicy) && { indexingPolicy }),
        ...(defaultTtl !== undefined && { defaultTtl }),
        ...(unique.length > 0 && { uniqueKeys: unique }),
        ...(vectors.length > 0 && { vectors }),
        ...(throughput && { throughput }),
        at,
        places: {},
      };
    }),
    findings: [],
  };
  return { model, containers, leases: leases.map(({ definition }) => definition.id) };
}

const hasLeases = ({ samples }: Imported): boolean =>
  samples.some((doc) => 'LeaseToken' in doc) && samples.every(({ id }) => /\.(?:info|lock)$|\.\./.test(String(id)));

const withoutDataNames = (doc: AccountDoc): AccountDoc =>
  Object.fromEntries(Object.entries(doc).filter(([name]) => !isDataName(name)));

/** The policy that a container has if its creator stated none. */
const indexesAll = (policy: NonNullable<ContainerDefinition['indexingPolicy']>): boolean =>
  canonical(indexingForm(policy)) === canonical(indexingForm({ includedPaths: [{ path: '/*' }] }));

function sorted(imported: Imported): Sorted {
  const { definition, samples } = imported;
  const discriminator = discriminatorOf(samples);
  const types = Map.groupBy(samples, (doc) => {
    const name = discriminator === undefined ? undefined : doc[discriminator];
    return typeof name === 'string' && name !== '' ? name : definition.id.toLowerCase();
  });
  return { ...imported, discriminator, types };
}

function discriminatorOf(samples: readonly AccountDoc[]): string | undefined {
  const plain = (name: string): string => name.toLowerCase().replaceAll(/[^a-z]/g, '');
  return [...new Set(samples.flatMap((doc) => Object.keys(doc)))]
    .filter((name) => {
      const found = samples.map((doc) => doc[name]).filter((value) => typeof value === 'string');
      return DISCRIMINATORS.includes(plain(name)) && 2 * found.length >= samples.length && new Set(found).size <= TYPES;
    })
    .toSorted((one, other) => DISCRIMINATORS.indexOf(plain(one)) - DISCRIMINATORS.indexOf(plain(other)))[0];
}

/** The examples by the documents that they come from. */
function examplesOf(containers: readonly Sorted[], values: boolean): ReadonlyMap<AccountDoc, AccountDoc> {
  const types = containers.flatMap((of) => [...of.types.values()]);
  const chosen = new Set(types.flatMap(representative));
  const texts = new Set<unknown>();
  JSON.stringify([...chosen], (_name, value: unknown) => (typeof value === 'string' && texts.add(value), value));
  for (const documents of types)
    for (const doc of documents.filter((one) => !chosen.has(one) && texts.has(one['id'])).slice(0, NAMED))
      chosen.add(doc);
  const names = new Map(containers.flatMap(({ samples, discriminator }) => samples.map((doc) => [doc, discriminator])));
  const list = [...chosen];
  const made = values ? list.map(shortened) : redacted(list, (doc, name) => name === 'ttl' || name === names.get(doc));
  return new Map(list.map((doc, at) => [doc, made[at] ?? {}]));
}

/** A few documents that show most: each adds paths or types that the documents before don't have. */
function representative(documents: readonly AccountDoc[]): AccountDoc[] {
  const chosen: AccountDoc[] = [];
  const shown = new Set<string>();
  const all = documents.map((doc) => ({
    doc,
    traits: [...accountShapeOf(doc)].flatMap(([path, kinds]) => [...kinds].map((kind) => `${path} ${kind}`)),
  }));
  while (chosen.length < Math.min(MOST, documents.length)) {
    const [best] = all
      .filter(({ doc }) => !chosen.includes(doc))
      .map((one) => ({ ...one, news: one.traits.filter((trait) => !shown.has(trait)).length }))
      .toSorted((a, b) => b.news - a.news);
    if (!best || (best.news === 0 && chosen.length >= FEWEST)) break;
    chosen.push(best.doc);
    for (const trait of best.traits) shown.add(trait);
  }
  return chosen;
}
