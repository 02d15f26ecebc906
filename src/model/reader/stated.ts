// Containers that a document states without a section of their own: a group of labels (`Container id: users`, `Partition
// key: /id`), the lines of a text fence, a list such as `events` (partition key: `/userId`), and calls that create them.
import type { RootContent } from 'mdast';
import { type Fact, type StatedFence, labelledFacts } from './labelled-facts.ts';
import { labelName } from './text/labels.ts';
import { resourcesIn } from './resources.ts';
import { type Section, lineOf, sourceOf } from './text/outline.ts';
import { partitionKey } from './text/values.ts';

export interface Group {
  readonly name: string;
  readonly line: number;
  readonly facts: readonly Fact[];
  /** Of a resource, in the form of the SDK, with the text that it is from. */
  readonly definition?: { readonly value: Record<string, unknown>; readonly text: string; readonly line: number };
}

const NAME = /^[`"'\s]*([\p{L}_][\p{L}\p{N}_-]*)[`"'\s]*(?:$|[-–—(,;])/u;
/** Words that a label Container may have as its value, and that name none. */
const NO_NAME =
  /^(single|one|the|see|all|each|separate|same|shared|this|own|container|api|azure|cosmos|(?:my|your|example|sample)[-_]?\w*container)$/i;

/** The name that the value of a label Container states. */
const nameOf = (value: string): string | undefined => {
  const name = NAME.exec(value)?.[1];
  return name === undefined || NO_NAME.test(name) ? undefined : name;
};

/** The groups of a section's own blocks; each has a key. */
export function groupsOf({ blocks }: Pick<Section, 'blocks'>, source: string): readonly Group[] {
  const known = read.get(blocks);
  if (known) return known;
  const { facts, loose } = labelledFacts(blocks, source);
  const groups = [
    ...grouped(facts),
    ...loose.flatMap((fence) => [...grouped(statedLinesOf(fence)), ...created(fence)]),
    ...facts.flatMap(({ fences }) => fences.flatMap(created)),
    ...blocks.flatMap((block) => listed(block, source)),
  ];
  read.set(blocks, groups);
  return groups;
}

const read = new WeakMap<readonly RootContent[], readonly Group[]>();

function grouped(facts: readonly Fact[]): Group[] {
  const groups: { name: string; line: number; facts: Fact[] }[] = [];
  for (const fact of facts) {
    const name = fact.name === 'container' ? nameOf(fact.text) : undefined;
    const last = groups.at(-1)?.facts;
    if (name !== undefined) groups.push({ name, line: fact.line, facts: [] });
    // A second key is of something that isn't read.
    else if (fact.name !== 'partitionKey' || !last?.some(isKey)) last?.push(fact);
  }
  return groups.filter((group) => group.facts.some(isKey));
}

const isKey = ({ name, text, items }: Fact): boolean =>
  name === 'partitionKey' &&
  partitionKey(
    text,
    items.map((item) => item.text),
  ) !== undefined;

/** A longer line is no label. The expressions below take time with the square of its blanks. */
const LONGEST = 400;

/** `+String cluster (Partition Key)` in a class diagram, `string cluster "partition key"` in one of entities. */
export const diagramKeys = ({ text, line }: StatedFence): Fact[] =>
  /^\s*(?:classDiagram|erDiagram)\b/.test(text)
    ? text.split('\n').flatMap((row, index): Fact[] => {
        const field = /^\s*[+#~-]?\s*[\w<>~[\]]+\s+(\w+)\s+(?:\w\w\s+)?["(]\W*partition key\W*[")]\s*$/i.exec(row)?.[1];
        return field === undefined ? [] : [keyFact(`/${field}`, line + index)];
      })
    : [];

const keyFact = (key: string, line: number): Fact => ({
  name: 'partitionKey',
  label: 'Partition Key',
  text: key,
  line,
  items: [],
  fences: [],
});

/** `container: events` and `partition key: /id`, each on its line of a fence. */
export function statedLinesOf(fence: StatedFence): Fact[] {
  const { text, line } = fence;
  const diagram = diagramKeys(fence);
  if (diagram.length > 0) return diagram;
  return text.split('\n').flatMap((row, index): Fact[] => {
    if (row.length > LONGEST) return [];
    // A tree of containers: `├── orders (Container)`, with `│   └── Partition Key: /storeId` below it.
    const own = row.replace(/^[\s│├└─]+/u, '');
    const branch = /^([\w-]+)\/?\s+\((?:container|collection)\)/i.exec(own)?.[1];
    if (branch !== undefined)
      return [{ name: 'container', label: 'container', text: branch, line: line + index, items: [], fences: [] }];
    // `├── orders    # PK: storeId`.
    const noted =
      /^(?<leaf>[\w-]+)\s*(?:#|\/\/|--|\()\s*(?:pk|partition key)\s*[:=]\s*(?<key>\/?[A-Za-z_][\w/]*)/i.exec(
        own,
      )?.groups;
    if (noted && own !== row) {
      const at = { line: line + index, items: [], fences: [] };
      return [
        { ...at, name: 'container', label: 'container', text: noted['leaf'] ?? '' },
        { ...at, name: 'partitionKey', label: 'PK', text: noted['key'] ?? '' },
      ];
    }
    const [, label = '', value = ''] = /^([A-Za-z][\w ]{1,30}?)\s*[:=]\s*(\S.*?)\s*$/.exec(own) ?? [];
    const name = labelName(label);
    // `container = get_container(…)` of a program names none.
    if (/^\w+\(/.test(value)) return [];
    // `<event-id>` is a value that somebody fills in.
    // Nor does a declaration such as `partition_key: str` state a key.
    return name === undefined || value.includes('<') || /^(?:str|string|int|number|Optional)\b/.test(value)
      ? []
      : [{ name, label, text: value, line: line + index, items: [], fences: [] }];
  });
}

/** `` `events` (partition key: `/userId`) `` as an item of a list. */
function listed(node: RootContent, source: string): Group[] {
  if (node.type !== 'list') return [];
  return node.children.flatMap((item): Group[] => {
    const [first, ...rest] = item.children;
    const [, name = '', key = ''] =
      /^(?:container:?\s*)?\**`([\w-]+)`\**\s*[-–—:(].{0,80}?\b(?:pk|partition(?:ed|[ _]?key)?)\b(?:\s*:\s*|\s+(?:by\s+)?)`?(\/[\w/]+)/iu.exec(
        sourceOf(first, source),
      ) ?? [];
    const own = name === '' ? [] : [groupOf(name, key, first ? lineOf(first) : 1)];
    const under = own.length > 0 ? [] : itemised(first, rest, source);
    return [...own, ...under, ...(under.length > 0 ? [] : rest.flatMap((child) => listed(child, source)))];
  });
}

/** An item that is a name alone, with the labels of its container in the list below it. */
function itemised(first: RootContent | undefined, rest: readonly RootContent[], source: string): Group[] {
  const own = sourceOf(first, source)
    .trim()
    .replace(/^\[[ x]\]\s+/i, '');
  const [, name = ''] =
    /^[*_`"']{0,6}([\p{L}_][\p{L}\p{N}_-]*)[*_`"']{0,6}:?[*_]{0,3}$/u.exec(own) ??
    // `**orders** - all orders`, and `` `orders` container added to the account ``.
    /^(?:\*\*`?|`)([\p{L}_][\p{L}\p{N}_-]*)(?:`?\*\*|`)\s+(?:[-–—]\s|container\b)/u.exec(own) ??
    [];
  if (name === '' || labelName(name) !== undefined || NO_NAME.test(name)) return [];
  const { facts } = labelledFacts(rest, source);
  const key = facts.find(isKey);
  return key && facts.filter(isKey).length === 1 ? [{ name, line: first ? lineOf(first) : key.line, facts }] : [];
}

const groupOf = (name: string, key: string, line: number): Group => ({
  name,
  line,
  facts: [keyFact(key, line)],
});

/** Calls, properties and templates that create a container. The name and the key stand within one statement. */
const CREATIONS: readonly RegExp[] = [
  /container create\b(?=(?:[^\n]*\\\n)*[^\n]*\s(?:--name|-n)\s+["']?(?:\$\{?(?<variable>\w+)|(?<name>[\w-]+)))(?:[^\n]*\\\n)*[^\n]*\s(?:--partition-key-path|-p)\s+["']?(?<key>\/[\w/]+(?:["']?[ ]+["']?\/[\w/]+){0,2})/g,
  // JavaScript and Python with commas, Bicep with lines.
  /\b(?:id|name|container_?(?:id|name))["']?\s*[=:]\s*(?:["'](?<name>[\w-]+)["']|(?<variable>[A-Za-z_]\w*))\s*(?:,|\n)\s*["']?partition_?key(?:_?paths?)?["']?\s*[=:]\s*(?:PartitionKey\(path\s*=\s*|\{\s*["']?paths["']?:\s*\[\s*|\[\s*)?["'](?<key>\/[\w/]+(?:["']\s*,\s*["']\/[\w/]+){0,2})/gi,
  // `users: { partitionKey: '/id' }` of a map.
  /(?<name>[\w-]+)["']?\s*:\s*\{\s*["']?partition_?key(?:_?path)?["']?\s*:\s*["'](?<key>\/[\w/]+)/gi,
  // YAML.
  /\b(?:id|name|container):[ ]*["']?(?<name>[\w-]+)["']?[ ]*\n\s+partition_?key(?:_?path)?:[ ]*["']?(?<key>\/[\w/]+)/gi,
  /\bid\s*=\s*"(?<name>[\w-]+)"\s*,\s*PartitionKeyPath\s*=\s*"(?<key>\/[\w/]+)"/gi,
  // C# and Java.
  /(?:ContainerProperties|CreateContainer(?:IfNotExists)?(?:Async)?)\(\s*(?:id:\s*)?"(?<name>[\w-]+)"\s*,\s*(?:partitionKeyPath:\s*)?"(?<key>\/[\w/]+)"/g,
  // PowerShell.
  /AzCosmosDBSqlContainer\b(?=(?:[^\n]*`\n)*[^\n]*-Name\s+["']?(?<name>[\w-]+))(?:[^\n]*`\n)*[^\n]*-PartitionKeyPath\s+["']?(?<key>\/[\w/]+)/g,
];

function created(fence: StatedFence): Group[] {
  const { text, line } = fence;
  const resources = resourcesIn(fence);
  const declared = resources.map(({ name, key, definition, from, to }): Group => {
    const [first = ''] = key;
    const within = text.slice(0, to).indexOf(first, from);
    const at = line + text.slice(0, within < 0 ? from : within).split('\n').length - 1;
    return { ...groupOf(name, key.join(', '), at), definition: { value: definition, text, line } };
  });
  const called = CREATIONS.flatMap((creation) =>
    [...text.matchAll(creation)].flatMap((match): Group[] => {
      if (resources.some(({ from, to }) => match.index + match[0].length > from && match.index < to)) return [];
      const { name: literal, variable, key = '' } = match.groups ?? {};
      const assigned = new RegExp(`\\b${variable}\\s*=\\s*["']([\\w-]+)["']`).exec(text)?.[1];
      // `container_id: products` in what a program prints is no variable.
      const printed = /^container_?id:/i.test(match[0]) && /^[a-z][a-z-]*$/.test(variable ?? '') ? variable : undefined;
      const name = literal ?? assigned ?? printed ?? 'container';
      const at = line + text.slice(0, match.index + match[0].indexOf(key)).split('\n').length - 1;
      if (NO_NAME.test(name) && name !== 'container') return [];
      const group = groupOf(name, key, at);
      const rest = text.slice(match.index + match[0].length).split(/[;}]|create_?container/i)[0] ?? '';
      const [, property, option] =
        /\b(?:Default_?TimeToLive|default_?ttl)\s*[:=]\s*(-?\d+)|^[^\n]*\s--ttl\s+(-?\d+)/i.exec(rest) ?? [];
      const seconds = property ?? option;
      return seconds === undefined
        ? [group]
        : [
            {
              ...group,
              facts: [
                ...group.facts,
                { name: 'ttl', label: 'TTL', text: seconds, line: at, items: [], fences: [] } satisfies Fact,
              ],
            },
          ];
    }),
  );
  return [...declared, ...called];
}

/** `"sessionId": "s1", // Partition key`: a field that its comment calls the key, if no other one is called so. */
export function commentedKey(text: string): Fact[] {
  const found = text.split('\n').flatMap((row, index): Fact[] => {
    const field =
      row.length > LONGEST
        ? undefined
        : /^\s*["']?(?<field>[A-Za-z_]\w*)["']?\??\s*:\s*[^/#]*(?:\/\/|#)\W*partition key\W*$/i.exec(row)?.groups?.[
            'field'
          ];
    return field === undefined ? [] : [keyFact(`/${field}`, index + 1)];
  });
  return new Set(found.map((fact) => fact.text)).size === 1 ? found : [];
}
