// C8 to C12: hierarchical and synthetic keys, ids and uniqueness.
import type { ContainerDetail } from '../documents.ts';
import { type Facts, examplesIn, sum, valueAt } from './facts.ts';
import { type Need, type Rule, DESIGN, SOURCES, n, quoted } from './rule.ts';

const LIMITS = SOURCES.microsoft('Azure Cosmos DB service quotas');
const HPK = SOURCES.microsoft('Hierarchical partition keys in Azure Cosmos DB');

const hierarchical = ({ containers }: Facts): ContainerDetail[] =>
  containers.filter(({ container }) => container.partitionKey.length > 1);
const HIERARCHICAL: Need = { what: 'a hierarchical key', there: (facts) => hierarchical(facts).length > 0 };

export const IDENTITY: readonly Rule[] = [
  {
    id: 'C8',
    title: 'A hierarchical key has three levels, and queries use a left prefix',
    severity: 'error',
    source: `${SOURCES.seed}; ${HPK}`,
    why: 'A filter that leaves the first level out asks every partition. Kind MultiHash and version 2 are what the service takes; the 20 GB then hold for the full path.',
    mend: 'Filter by the first level, or order the levels by what queries know.',
    needs: [DESIGN, HIERARCHICAL],
    *check(facts) {
      for (const detail of hierarchical(facts)) {
        const { name, partitionKey } = detail.container;
        if (partitionKey.length > 3)
          yield {
            message: `${name}: ${partitionKey.length} key levels; three is the most`,
            at: facts.place(detail, 'partitionKey'),
          };
        const [first = ''] = partitionKey;
        for (const { row } of facts.accesses.filter((access) => access.detail === detail)) {
          for (const query of row.queries) {
            if (!query.equal.includes(first.slice(1).replaceAll('/', '.')))
              yield {
                message: `Row ${row.printed} doesn't filter by ${first.slice(1)}, the first level of ${name}'s key, so it asks every partition`,
                at: row.at,
              };
          }
        }
        for (const { text, at } of detail.prose) {
          const kind = /"kind"\s*:\s*"(\w+)"/.exec(text)?.[1];
          if (kind !== undefined && kind !== 'MultiHash')
            yield { message: `${name}: a hierarchical key has the kind MultiHash, not ${kind}`, at };
        }
      }
    },
  },
  {
    id: 'C9',
    title: 'A hierarchical key and serverless',
    severity: 'warning',
    source: `${SOURCES.seed}; Microsoft’s list of limitations doesn't mention it`,
    why: 'The prompt says that hierarchical keys don’t work in serverless accounts. Microsoft’s list of limitations doesn’t have it, so this is a warning.',
    mend: 'Try it on an account, or provision throughput.',
    needs: [DESIGN, HIERARCHICAL],
    *check(facts) {
      for (const detail of hierarchical(facts)) {
        const mode = facts.labelled(detail, /throughput|capacity|吞吐量/i);
        if (mode && /serverless/i.test(mode.text))
          yield { message: `${detail.container.name} has a hierarchical key and is serverless`, at: mode.at };
      }
    },
  },
  {
    id: 'C10',
    title: 'A synthetic key was weighed against a hierarchical one',
    severity: 'information',
    source: SOURCES.seed,
    why: 'A key glued together as `tenant_user` needs code everywhere; a hierarchical key does the same, and a prefix of it can be queried.',
    mend: 'Say why the synthetic key is better here.',
    needs: [DESIGN],
    *check(facts) {
      for (const detail of facts.containers) {
        if (detail.container.partitionKey.length !== 1) continue;
        const [path = ''] = detail.container.partitionKey;
        const values = examplesIn(detail.container).map((example) => valueAt(example, path));
        const glued =
          /_/.test(path.slice(2)) ||
          (values.length > 0 && values.every((value) => typeof value === 'string' && /^[^_]+_[^_]+_[^_]/.test(value)));
        if (
          (glued || /synthetic|合成/i.test(facts.keyText(detail)?.text ?? '')) &&
          !detail.prose.some(({ text }) => /hierarchical|\bHPK\b|层级/i.test(text))
        )
          yield {
            message: `${detail.container.name}: ${path} is a synthetic key, and nothing is said about a hierarchical one`,
            at: facts.place(detail, 'partitionKey'),
          };
      }
    },
  },
  {
    id: 'C11',
    title: 'Ids and key values are what Cosmos DB takes',
    severity: 'error',
    source: LIMITS,
    why: 'An id is a string of 1 to 1,023 bytes without / \\ # ?; a key value has 2,048 bytes at most.',
    mend: 'Escape or shorten them.',
    needs: [DESIGN],
    *check(facts) {
      for (const detail of facts.containers) {
        const { container } = detail;
        for (const { name, examples, at: place } of container.types) {
          for (const example of examples) {
            const at = facts.example(example, place);
            const { id } = example;
            if (typeof id === 'string' && (/[/\\#?]/.test(id) || Buffer.byteLength(id) > 1023))
              yield {
                message: `${container.name}: the id "${quoted(id, 40)}" of a ${name} ${/[/\\#?]/.test(id) ? 'has one of / \\ # ?' : `has ${n(Buffer.byteLength(id))} bytes`}`,
                at,
              };
            else if (id !== undefined && typeof id !== 'string')
              yield { message: `${container.name}: the id of a ${name} is a ${typeof id}; ids are strings`, at };
            for (const path of container.partitionKey) {
              const value = valueAt(example, path);
              if (typeof value === 'string' && Buffer.byteLength(value) > 2048)
                yield {
                  message: `${container.name}: a value of ${path} has ${n(Buffer.byteLength(value))} bytes; 2,048 is the most`,
                  at,
                };
              if (typeof value === 'object' && value !== null)
                yield {
                  message: `${container.name}: the key ${path} holds ${Array.isArray(value) ? 'a list' : 'an object'}; it is a string, number, boolean or null`,
                  at,
                };
            }
          }
        }
      }
    },
  },
  {
    id: 'C12',
    title: 'Uniqueness is wanted only where it can be had',
    severity: 'error',
    source: `${SOURCES.seed}; ${SOURCES.microsoft('Unique key constraints in Azure Cosmos DB')}`,
    why: 'Id and key together are unique. Unique key policies exist too, against what the prompt says: within one logical partition, fixed at creation, a missing value counting as null, 10 constraints and 16 paths at most. Nothing is unique across partitions.',
    mend: 'Reserve the value by a document whose key and id are the value, and write it first.',
    needs: [DESIGN],
    *check(facts) {
      const wide =
        /(globally|system-wide) unique|unique (globally|across|over all|over the whole|in the whole|system-wide)|全局唯一/i;
      const reserved = facts.prose.some(({ text }) => /reserv|uniqueness document|lookup document|预留/i.test(text));
      for (const detail of facts.containers) {
        const { container } = detail;
        const at = facts.place(detail, 'uniqueKeys');
        const keys = container.uniqueKeys ?? [];
        if (keys.length > 10) yield { message: `${container.name}: ${keys.length} unique keys; ten is the most`, at };
        const paths = sum(keys.map((key) => key.paths.length));
        if (keys.some((key) => key.paths.length > 16) || paths > 16)
          yield { message: `${container.name}: ${paths} paths in unique keys; sixteen is the most`, at };
        const text = facts.labelled(detail, /unique key|唯一键/i);
        if (text && wide.test(text.text) && !reserved)
          yield {
            message: `${container.name}: a unique key holds within one partition key value, not across`,
            at: text.at,
          };
      }
      for (const { requirements, considerations, printed, at } of facts.patterns) {
        if (wide.test(`${requirements} ${considerations}`) && !reserved)
          yield { message: `Pattern ${printed} wants uniqueness across partitions, which nothing reserves`, at };
      }
    },
  },
];
