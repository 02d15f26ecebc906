// Containers as code declares them, with key, TTL, unique keys and index policy: resources of ARM, Bicep and Terraform,
// classes of Java with annotations, and entities of EF Core.
import { isObject } from '../../base/json.ts';
import type { StatedFence } from './labelled-facts.ts';
import { literalOf } from './text/literals.ts';

export interface Resource {
  readonly name: string;
  readonly key: readonly string[];
  /** In the form of the SDK. */
  readonly definition: Record<string, unknown>;
  /** Where it begins and ends in the text of its fence. */
  readonly from: number;
  readonly to: number;
}

export const resourcesIn = ({ text }: StatedFence): Resource[] => [
  ...templates(text),
  ...annotated(text),
  ...attributed(text),
  ...entities(text),
  ...mapped(text),
];

/** A template is no document, though it is JSON. */
export const isTemplate = (text: string): boolean => /Microsoft\.DocumentDB\/databaseAccounts/i.test(text);

const TYPE = String.raw`Microsoft\.DocumentDB/databaseAccounts/sqlDatabases/containers`;
const BEGINS: readonly RegExp[] = [
  new RegExp(String.raw`\bresource\s+(?<label>\w+)\s+'${TYPE}@[^']*'\s*=\s*(?:if\s*\([^\n]*\)\s*)?(?=\{)`, 'gi'),
  /\bresource\s+"azurerm_cosmosdb_sql_container"\s+"(?<label>[\w-]+)"\s*(?=\{)/g,
  // The object of ARM whose type comes first, or after its name.
  new RegExp(String.raw`(?=\{[^{}]*"type"\s*:\s*"${TYPE}")`, 'gi'),
];

function templates(text: string): Resource[] {
  return BEGINS.flatMap((begin) =>
    [...text.matchAll(begin)].flatMap((match): Resource[] => {
      const from = match.index + match[0].length;
      const value = literalOf(text.slice(from), (expression) => resolved(text, expression));
      const definition = isObject(value) ? definitionOf(value) : undefined;
      const key = isObject(definition?.['partitionKey']) ? strings(definition['partitionKey']['paths']) : [];
      const name = definition?.['id'] ?? match.groups?.['label'];
      const to = from + (/^[}]/m.exec(text.slice(from))?.index ?? text.length - from);
      return definition && typeof name === 'string' && key.length > 0 ? [{ name, key, definition, from, to }] : [];
    }),
  );
}

/** The value of a parameter or variable. Text that is no expression has none. */
function resolved(text: string, expression: string): string | undefined {
  const name =
    /^\[(?:parameters|variables)\('(\w+)'\)\]$/.exec(expression)?.[1] ??
    /^(?:var\.)?([A-Za-z_]\w*)$/.exec(expression)?.[1];
  if (name === undefined) return undefined;
  const stated = new RegExp(
    String.raw`(?:\b(?:param|var)\s+${name}\b[^=\n]*=\s*|\bvariable\s+"${name}"\s*\{[^}]*?default\s*=\s*|"${name}"\s*:\s*(?:\{[^{}]*?"defaultValue"\s*:\s*)?)(?:'([^'\n]+)'|"([^"\n]+)")`,
  ).exec(text);
  return stated?.[1] ?? stated?.[2];
}

const strings = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).filter((one) => typeof one === 'string');

function definitionOf(value: Record<string, unknown>): Record<string, unknown> | undefined {
  const properties = isObject(value['properties']) ? value['properties']['resource'] : undefined;
  if (isObject(properties)) {
    // `account/database/orders`, or an expression that ends with it.
    const last = typeof value['name'] === 'string' ? /([\w-]+)['")\]]*$/.exec(value['name'])?.[1] : undefined;
    return { ...properties, id: properties['id'] ?? last };
  }
  const key = value['partition_key_paths'] ?? value['partition_key_path'];
  if (key === undefined) return undefined;
  const [policy] = blocks(value['indexing_policy']);
  const unique = blocks(value['unique_key']).map((block) => ({ paths: strings(block['paths']) }));
  return {
    id: value['name'],
    partitionKey: { paths: strings(key) },
    defaultTtl: value['default_ttl'],
    uniqueKeyPolicy: { uniqueKeys: unique },
    ...(policy && {
      indexingPolicy: {
        indexingMode: policy['indexing_mode'],
        includedPaths: blocks(policy['included_path']),
        excludedPaths: blocks(policy['excluded_path']),
        compositeIndexes: blocks(policy['composite_index']).map((block) =>
          blocks(block['index']).map(({ path, order }) => ({ path, order: String(order).toLowerCase() })),
        ),
      },
    }),
  };
}

const blocks = (value: unknown): Record<string, unknown>[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** `{"/a", "/b"}` behind a name. */
const listed = (text: string, name: string): string[] =>
  [...(new RegExp(String.raw`\b${name}\s*=\s*(\{[^}]*\}|"[^"]*")`).exec(text)?.[1] ?? '').matchAll(/"([^"]+)"/g)].map(
    ([, one = '']) => one,
  );

/** `@Container(containerName = "orders")` of Spring Data, with the annotations beside it, up to the next one. */
function annotated(text: string): Resource[] {
  return [...text.matchAll(/@Container\s*\(/g)].flatMap((match, index, all): Resource[] => {
    const before =
      text
        .slice(all[index - 1]?.index ?? 0, match.index)
        .split(/^\}/m)
        .at(-1) ?? '';
    const rest = text.slice(match.index, all[index + 1]?.index);
    const [own = ''] = rest.split(/^\}/m);
    const field = /@PartitionKey\b[^;]*?\b(\w+)\s*;/.exec(own)?.[1];
    const stated = [...listed(own, 'hierarchicalPartitionKeyPaths'), ...listed(own, 'partitionKeyPath')];
    const key = stated.length > 0 ? stated : field === undefined ? [] : [`/${field}`];
    const [name] = listed(own, 'containerName');
    const ttl = /\btimeToLive\s*=\s*(-?\d+)/.exec(own)?.[1];
    const about = before + own;
    const unique = [...about.matchAll(/@CosmosUniqueKey\s*\(([^)]*)\)/g)].map(([, one = '']) => ({
      paths: listed(one, 'paths'),
    }));
    const [included, excluded] = [listed(about, 'includePaths'), listed(about, 'excludePaths')];
    const definition = {
      ...(ttl !== undefined && { defaultTtl: Number(ttl) }),
      ...(unique.length > 0 && { uniqueKeyPolicy: { uniqueKeys: unique } }),
      ...(included.length + excluded.length > 0 && {
        indexingPolicy: {
          includedPaths: included.map((path) => ({ path })),
          excludedPaths: excluded.map((path) => ({ path })),
        },
      }),
    };
    const to = match.index + own.length;
    return name === undefined || key.length === 0 ? [] : [{ name, key, definition, from: match.index, to }];
  });
}

const COLLECTION = /\[(?:Container|CosmosContainer|CosmosCollection)\(\s*(?:\w+\s*[=:]\s*)?"(?<name>[\w-]+)"/g;

/** `[Container("orders")]` of a class in C#, with `[PartitionKeyPath("/storeId")]` or `[PartitionKey]` of a property. */
function attributed(text: string): Resource[] {
  return [...text.matchAll(COLLECTION)].flatMap((match, index, all): Resource[] => {
    const own = text.slice(match.index, all[index + 1]?.index).split(/^\}/m)[0] ?? '';
    const path = /\[PartitionKeyPath\(\s*"(\/[\w/]+)"/.exec(own)?.[1];
    const { attributes = '', property } =
      /(?<attributes>(?:\[[^\]]+\]\s*)*\[(?:Cosmos)?PartitionKey\]\s*(?:\[[^\]]+\]\s*)*)public\s+[\w.<>?]+\s+(?<property>\w+)/.exec(
        own,
      )?.groups ?? {};
    const key = path ?? (property === undefined ? undefined : `/${jsonName(attributes) ?? property}`);
    const name = match.groups?.['name'];
    const to = match.index + own.length;
    return key === undefined || name === undefined ? [] : [{ name, key: [key], definition: {}, from: match.index, to }];
  });
}

/** The name that an attribute of C# or an annotation of Java gives to a property in JSON. */
export const jsonName = (text: string): string | undefined =>
  /[[@]Json(?:Property(?:Name)?)?\(\s*(?:PropertyName\s*=\s*|value\s*=\s*)?"([\w$-]+)"/.exec(text)?.[1];

/** `modelBuilder.Entity<Order>().ToContainer("orders").HasPartitionKey(o => o.CustomerId)` of EF Core. */
function entities(text: string): Resource[] {
  return [...text.matchAll(/\.Entity<(?<type>\w+)>/g)].flatMap((match, index, all): Resource[] => {
    const own = text.slice(match.index, all[index + 1]?.index);
    const name = /\.ToContainer\(\s*(?:"([\w-]+)"|nameof\((?:\w+\.)*(\w+)\))/.exec(own);
    const properties = /\.HasPartitionKey\(\s*\w+\s*=>\s*(new\s*\{[^}]*\}|[\w.]+)/.exec(own)?.[1] ?? '';
    const key = [...properties.matchAll(/\.(\w+)/g)].map(([, property = '']) => {
      const renamed = new RegExp(String.raw`\.${property}\s*\)\s*\.ToJsonProperty\(\s*"([\w-]+)"`).exec(own)?.[1];
      return `/${renamed ?? property}`;
    });
    const ttl = /\.HasDefaultTimeToLive\(\s*(-?\d+)/.exec(own)?.[1];
    const container = name?.[1] ?? name?.[2];
    const definition = ttl === undefined ? {} : { defaultTtl: Number(ttl) };
    return container === undefined || key.length === 0
      ? []
      : [{ name: container, key, definition, from: match.index, to: match.index + own.length }];
  });
}

/** `users: { partitionKey: '/tenantId', defaultTTL: 86400, uniqueKeys: [['/email']] }` of a map of containers. */
function mapped(text: string): Resource[] {
  const begins =
    /(?<=^|[\s{,])["']?(?<name>[A-Za-z_][\w-]*)["']?\s*:\s*(?=\{\s*["']?partition_?key(?:_?path)?["']?\s*:\s*["']\/)/gi;
  return [...text.matchAll(begins)].flatMap((match): Resource[] => {
    const from = match.index + match[0].length;
    const value = literalOf(text.slice(from), () => undefined);
    if (!isObject(value)) return [];
    const of = (name: RegExp): unknown => Object.entries(value).find(([each]) => name.test(each))?.[1];
    const [ttl, mode, unique] = [/^default_?ttl$/i, /^indexing(?:_?mode)?$/i, /^unique_?keys$/i].map(of);
    const definition = {
      ...(typeof ttl === 'number' && { defaultTtl: ttl }),
      ...(Array.isArray(unique) && { uniqueKeys: unique }),
      ...(mode === 'none' && { indexingPolicy: { indexingMode: mode } }),
    };
    const to = from + (/\}/.exec(text.slice(from))?.index ?? 0);
    return [{ name: match.groups?.['name'] ?? '', key: strings(of(/^partition_?key/i)), definition, from, to }];
  });
}
