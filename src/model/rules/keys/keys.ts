// C1 to C6: partition keys and their load.
import type { ContainerDetail, Text } from '../../documents.ts';
import { bytesOf, quantities } from '../../reader/text/quantity.ts';
import { contradicts, isComposed, keyValueLineOf } from '../key-values.ts';
import { fieldsOfKeys } from '../contested.ts';
import { declaredFor, isLost } from '../declared-for.ts';
import { declaredIn } from '../declared.ts';
import { type Facts, isQuery, valueAt } from '../facts.ts';
import { type Found, type Rule, DESIGN, SOURCES, missing, more, n } from '../rule.ts';

const LIMITS = SOURCES.microsoft('Azure Cosmos DB service quotas');
const words = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]|s$/g, '');

/** The texts about a container's hot keys: its entry under hot partitions, and the reasons for its key. */
export const aboutKeys = (facts: Facts, detail: ContainerDetail): Text[] => [
  ...detail.hot,
  ...[facts.keyText(detail)].filter((piece) => piece !== undefined),
];

/** The RU/s that a text states for one key, without the figures that name the limit. */
function hotRate(text: string): number | undefined {
  const rates = quantities(text).filter(
    ({ unit, high, index }) =>
      unit === 'ru/s' &&
      !(high === 10_000 && /\b(of|than|the|under|below|limit|over|above|up to)\W*(the )?$/i.test(text.slice(0, index))),
  );
  return rates.length === 0 ? undefined : Math.max(...rates.map(({ high }) => high));
}

export const sharding =
  /write[- ]shard|shard(?:s|ed|ing)?\b|(?:random|hash|time|calculated) suffix|suffix(?:es)?\b|分片后缀|写分片/i;
const shardCount = (text: string): number | undefined => {
  const found =
    /(\d+)\s*(?:write[- ])?(?:shards|suffixes|buckets)|\bN\s*=\s*(\d+)|shards?\s*(?:0|1)\s*(?:-|–|to)\s*(\d+)|(?:hash|random)[^.;]{0,20}%\s*(\d+)/i.exec(
      text,
    );
  const value = found?.slice(1).find((group) => group !== undefined);
  return value === undefined
    ? undefined
    : Number(value) + (found?.[3] === undefined || /shards?\s*1/i.test(found[0]) ? 0 : 1);
};

/** Names that usually have few values. */
const FEW =
  /\/(status|department|type|kind|state|country|region|tier|category|sport|league|language|currency|plan|environment|severity|level|role|gender|is[A-Z]\w*|has[A-Z]\w*|\w+(?:Type|Status|Category|Kind|Level|Role|State)|\w+_(?:type|status|category|kind|level|role|state)|active|enabled|deleted|priority|collection|entity|channel|platform|format|cluster)$/;

/** `(value: 'deadletter')` beside the key: all documents have it. */
const ONE_VALUE =
  /\((?:fixed |constant |static |the )?value:?\s*[`"'“]+[\w-]+[`"'”]+\s*\)|\balways\s+[`"'“]+[\w-]+[`"'”]+/i;

const CONSTANT =
  /\b(fixed|constant|static|hard-?coded|same) value\b(?! as)|\balways (be )?["'`]|\bone value for all\b/i;

/** So much data lies in one partition whatever the key is. */
const SMALL_GB = 1;
const isSmall = ({ container, data }: ContainerDetail): boolean =>
  container.reference || (data !== undefined && data.gb <= SMALL_GB);

/** A document has at most 2 MB; above 1 MB every write of it is dear. */
function* tooLarge(facts: Facts): Iterable<Found> {
  for (const { container, size } of facts.containers) {
    if (size.max > 1e6)
      yield {
        severity: size.max > 2e6 ? 'error' : 'warning',
        message: `${container.name}: a document has up to ${n(size.max / 1e6)} MB; ${size.max > 2e6 ? 'an item has at most 2 MB' : 'split it above 1 MB (an item has at most 2 MB)'}`,
        at: size.at,
        evidence: `${n(size.max)} B ${size.stated ? 'stated' : 'measured on the examples'} > ${size.max > 2e6 ? '2,000,000' : '1,000,000'} B`,
      };
  }
}

/** A key value that needs more RU/s than a physical partition has. */
function* tooHot(facts: Facts): Iterable<Found> {
  for (const detail of facts.containers) {
    for (const { text, at } of aboutKeys(facts, detail)) {
      const rate = hotRate(text);
      const share = quantities(text).find(({ unit, high }) => unit === '%' && high <= 100)?.high;
      const load = facts.peak(detail);
      const computed = share === undefined ? 0 : (share / 100) * load;
      if (rate === undefined && share === undefined) continue;
      if (sharding.test(text)) continue;
      if (rate !== undefined && rate > 10_000)
        yield {
          message: `${detail.container.name}: one key needs ${n(rate)} RU/s; a physical partition has 10,000`,
          at,
          evidence: `${n(rate)} > 10,000`,
        };
      else if (computed > 10_000)
        yield {
          message: `${detail.container.name}: one key needs ${n(share ?? 0)} % of the load, ${n(computed)} RU/s; a physical partition has 10,000`,
          at,
          evidence: `${n(share ?? 0)} % × ${n(load)} RU/s = ${n(computed)}`,
        };
    }
  }
}

export const KEYS: readonly Rule[] = [
  {
    id: 'C1',
    title: 'Every example has the partition key',
    source: `${SOURCES.ours}; Microsoft’s migration tool checks the same`,
    why: 'All documents without the key’s field get the same undefined key, and lie in one partition.',
    hint: 'Add the field to the examples, or use a field that they have as the key.',
    needs: [DESIGN],
    *check(facts) {
      const lost = facts.containers.filter((detail) => isLost(facts, detail));
      for (const [key, [first, ...others]] of Map.groupBy(lost, ({ container }) => container.partitionKey[0]))
        if (first)
          yield {
            severity: 'warning',
            message: `${first.container.name}${more(others.length)}: the key ${key} is a field of no document in this text`,
            at: facts.place(first, 'partitionKey'),
            related: others.map((detail) => facts.place(detail, 'partitionKey')),
          };
      for (const detail of facts.containers) {
        const { container } = detail;
        const { design } = facts;
        // A field of one of two stated keys can't be left out either.
        const keys = fieldsOfKeys(container);
        const optional = design
          ? declaredIn(design).find(
              (one) =>
                one.optional &&
                keys.has(one.field) &&
                (declaredFor(design, detail).includes(one) ||
                  (design.lines[one.at.line - 1] ?? '').includes(container.name)),
            )
          : undefined;
        if (optional)
          yield {
            severity: 'warning',
            message: `${container.name}: ${optional.field} is ${container.partitionKey.length > 0 ? 'the key' : 'of a key'}, but it is declared as optional`,
            at: optional.at,
            related: [facts.place(detail, 'partitionKey')],
          };
        if (container.partialExamples) continue;
        for (const { name, examples, at } of container.types) {
          const paths = container.partitionKey.filter((path) =>
            examples.some((example) => valueAt(example, path) === undefined),
          );
          // Levels that the same examples lack are one fault.
          const lackingOf = (path: string) => examples.filter((example) => valueAt(example, path) === undefined);
          for (const group of Map.groupBy(paths, (path) =>
            lackingOf(path)
              .map((one) => examples.indexOf(one))
              .join(),
          ).values()) {
            const lacking = lackingOf(group[0] ?? '');
            const others = Object.keys(lacking[0] ?? {}).filter(
              (field) => /partition|key|id$/i.test(field) && field !== 'id',
            );
            yield {
              message: `${container.name}: ${lacking.length} of ${examples.length} examples of ${name} lack the key ${group.join(', ')}${others.length > 0 ? ` (they have ${others.join(', ')})` : ''}`,
              at:
                lacking.length === examples.length
                  ? facts.place(detail, 'partitionKey')
                  : facts.example(lacking[0], at),
              related: [
                lacking.length === examples.length ? at : facts.place(detail, 'partitionKey'),
                ...lacking.flatMap((one) =>
                  Object.keys(one)
                    .filter((field) => others.includes(field))
                    .map((field) => facts.field(one, field, at)),
                ),
              ],
            };
          }
        }
      }
    },
  },
  {
    id: 'C2',
    title: 'A partition key has at least 100 values',
    source: `${SOURCES.seed}; Microsoft says "high cardinality" and gives no number`,
    why: 'Few values spread the load over few partitions. The rule fails if the text of the key states fewer than 100 values, or one. It warns if the name means few values (status, type, country, tier, a flag) and no number is stated, or if two containers state different numbers for the same key. For small containers it is information only.',
    hint: 'Write the number of values next to the key. Use a field with more values as the first level.',
    needs: [DESIGN],
    *check(facts) {
      for (const detail of facts.containers) {
        const { cardinality, container } = detail;
        const at = facts.place(detail, 'partitionKey');
        const [first = ''] = container.partitionKey;
        if (container.partitionKey.length === 0) continue;
        const small = isSmall(detail);
        const said = facts.keyText(detail) ?? keyValueLineOf(facts, at);
        const fixed = said && (ONE_VALUE.test(said.text) || CONSTANT.test(said.text)) ? said : undefined;
        if (fixed)
          yield {
            ...(small && { severity: 'information' }),
            message: `${container.name}: the key ${first} has one value, so all documents are in one partition of at most 20 GB and 10,000 RU/s`,
            at,
            related: [fixed.at],
          };
        if (cardinality !== undefined && cardinality < 100)
          yield {
            ...(small && { severity: 'information' }),
            message: `${container.name}: the key has ${n(cardinality)} values; it needs at least 100 to spread the load`,
            at,
            evidence: `${n(cardinality)} < 100`,
          };
        if (FEW.test(first) && !fixed && !isComposed(facts, first) && cardinality === undefined)
          yield {
            severity: small ? 'information' : 'warning',
            message: `${container.name}: ${container.partitionKey.length > 1 ? `the first level of the key, ${first},` : `the key ${first}`} usually has few values`,
            ...(container.partitionKey.length === 1 && {
              hint: 'Write the number of values next to the key, or use a field with more values.',
            }),
            at,
          };
        // Two containers with the key /id have different ids, so their numbers may differ.
        const other = container.partitionKey.includes('/id')
          ? undefined
          : facts.containers.find((of) => contradicts(detail, of));
        if (other)
          yield {
            severity: 'warning',
            message: `${container.name}: the key ${container.partitionKey.join(', ')} has ${n(cardinality ?? 0)} values here and ${n(other.cardinality ?? 0)} in ${other.container.name}`,
            at,
            related: [facts.place(other, 'partitionKey')],
            hint: 'Correct one of the numbers, or the key.',
          };
      }
    },
  },
  {
    id: 'C3',
    title: 'A key value has at most 20 GB and 10,000 RU/s, and a document 2 MB',
    source: `${LIMITS}; the modelling prompt doesn't have it`,
    why: 'Cosmos DB refuses more data for a key value that has 20 GB, and can’t split it. The rule uses the stated size of the largest key, and the largest number of children × document size. It fails above 20 GB and warns above 10 GB. All documents of a value lie in one physical partition, which serves 10,000 RU/s: the rule compares the stated RU/s of the hottest key, and its share of the container’s load. A document has at most 2 MB, and above 1 MB every write of it is dear.',
    hint: 'Add a level to the key, a time bin such as the month, or write sharding. Move the growing part of a document into documents of its own.',
    needs: [DESIGN],
    *check(facts) {
      yield* tooLarge(facts);
      yield* tooHot(facts);
      for (const detail of facts.containers) {
        const { container, size } = detail;
        for (const { text, at } of aboutKeys(facts, detail)) {
          for (const quantity of quantities(text)) {
            const gb = (bytesOf(quantity) ?? 0) / 1e9;
            const clause = `${/[^,;.(]*$/.exec(text.slice(0, quantity.index))?.[0] ?? ''} ${/^[^,;.)]*/.exec(text.slice(quantity.end))?.[0] ?? ''}`;
            const limit = quantity.high === 20 && quantity.unit === 'gb';
            if (
              gb === 0 ||
              limit ||
              !/key|logical|largest|tenant|partition|one |single|单个|最大/i.test(clause) ||
              /physical/i.test(clause)
            )
              continue;
            if (gb > 10)
              yield {
                severity: gb > 20 ? 'error' : 'warning',
                message: `${container.name}: one key has ${n(gb)} GB; a logical partition holds at most 20 GB`,
                at,
                evidence: `${n(gb)} GB > ${gb > 20 ? 20 : 10} GB`,
              };
          }
        }
        const [last = ''] = container.partitionKey.slice(-1);
        for (const { parent, child, max } of facts.requirements?.relationships ?? []) {
          const keyed =
            words(last.replace(/Id$/, '')) === words(parent) &&
            container.types.some(({ name }) => words(name) === words(child));
          if (!keyed || max === undefined) continue;
          const gb = (max * size.average) / 1e9;
          if (gb > 10)
            yield {
              severity: gb > 20 ? 'error' : 'warning',
              message: `${container.name}: the largest ${parent.toLowerCase()} has ${n(gb)} GB in one key; a logical partition holds at most 20 GB`,
              at: facts.place(detail, 'partitionKey'),
              evidence: `${n(max)} × ${n(size.average / 1000)} KB = ${n(gb)} GB > ${gb > 20 ? 20 : 10} GB`,
            };
        }
      }
    },
  },
  {
    id: 'C5',
    title: 'Write sharding is needed, has enough shards, and its readers query all of them',
    source: SOURCES.seed,
    why: 'N shards are enough if N ≥ ⌈hot RU/s ÷ 10,000⌉. A reader that queries one shard sees only a part of the data. Without a hot key, sharding makes reads more expensive and has no benefit.',
    hint: 'State N and the RU/s of the hot key. Let readers query all N shards and merge the results in order.',
    needs: [DESIGN],
    *check(facts) {
      const sharded = facts.containers.flatMap((detail) => {
        const text = aboutKeys(facts, detail).find(
          (piece) =>
            sharding.test(piece.text) && !/would have to|no (write )?shard|not sharded|without shard/i.test(piece.text),
        );
        return text ? [{ detail, text }] : [];
      });
      for (const { detail, text } of sharded) {
        const about = aboutKeys(facts, detail);
        const count = about.map((piece) => shardCount(piece.text)).find((value) => value !== undefined);
        const hot = Math.max(0, ...about.map((piece) => hotRate(piece.text) ?? 0));
        const need = Math.ceil(hot / 10_000);
        const { name } = detail.container;
        if (count === undefined) yield missing(`the number of shards of ${name}`);
        else if (hot === 0) yield missing(`the hot RU/s of ${name}`);
        else if (count < need)
          yield {
            message: `${name} has ${count} shards for ${n(hot)} RU/s; it needs ${need}`,
            at: text.at,
            evidence: `⌈${n(hot)} ÷ 10,000⌉ = ${need}`,
          };
        else if (need <= 1)
          yield {
            severity: 'warning',
            message: `${name} is sharded, but its hottest key needs only ${n(hot)} RU/s`,
            at: text.at,
            evidence: `${n(hot)} ≤ 10,000`,
          };
        for (const { row, write } of facts.accesses.filter((access) => access.detail === detail)) {
          if (
            !write &&
            row.operations.some(isQuery) &&
            !/all shards|every shard|each shard|\bshards\b|merge|fan|parallel|所有分片/i.test(
              `${row.operationText} ${row.notes}`,
            )
          )
            yield {
              message: `Row ${row.printed} reads ${name}, but doesn't say that it queries all shards`,
              at: row.at,
            };
        }
      }
    },
  },
  {
    id: 'C6',
    title: 'A child that can’t exist without its parent has the parent’s id as its key',
    source: SOURCES.seed,
    why: 'The rule applies if the child can’t exist without the parent, every query knows the parent’s id, and the design queries across partitions. With the parent’s id as the key, such a query reads one partition.',
    hint: 'Use the parent’s id as the partition key of the child.',
    *check({ requirements, containers }) {
      const pairs = requirements?.pairs.filter(({ identifying }) => identifying) ?? [];
      for (const { parent, child, identifying, at, places } of pairs) {
        if (
          !(
            identifying?.childIndependent === false &&
            identifying.parentKnown === true &&
            identifying.crossPartition === true
          )
        )
          continue;
        const detail = containers.find(
          ({ container }) =>
            container.types.some(({ name }) => words(name) === words(child)) || words(container.name) === words(child),
        );
        const wanted = `${parent.charAt(0).toLowerCase()}${parent.slice(1).replaceAll(/\s+/g, '').replace(/s$/, '')}Id`;
        if (!detail || !detail.container.partitionKey.includes(`/${wanted}`))
          yield {
            message: `${child} can't exist without ${parent}, and every query knows the parent: use the key /${wanted}${detail ? ` instead of ${detail.container.partitionKey.join(', ')}` : ''}`,
            at: places.identifying ?? at,
            ...(detail && { related: [detail.container.places.partitionKey ?? detail.container.at] }),
          };
      }
    },
  },
];
