// C1 to C7: partition keys and their load.
import type { ContainerDetail, Text } from '../documents.ts';
import { bytesOf, quantities } from '../reader/quantity.ts';
import { type Facts, examplesIn, valueAt } from './facts.ts';
import { type Rule, DESIGN, SOURCES, missing, n } from './rule.ts';

const LIMITS = SOURCES.microsoft('Azure Cosmos DB service quotas');
const words = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]|s$/g, '');

/** What is said of one container about hot keys: its entry, and its key's reasons. */
const aboutKeys = (facts: Facts, detail: ContainerDetail): Text[] => [
  ...detail.hot,
  ...[facts.keyText(detail)].filter((piece) => piece !== undefined),
];

/** RU/s that are told of one key, without those named as the limit. */
function hotRate(text: string): number | undefined {
  const rates = quantities(text).filter(
    ({ unit, high, index }) =>
      unit === 'ru/s' &&
      !(high === 10_000 && /\b(of|than|the|under|below|limit|over|above|up to)\W*(the )?$/i.test(text.slice(0, index))),
  );
  return rates.length === 0 ? undefined : Math.max(...rates.map(({ high }) => high));
}

const sharding =
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

/** The same key, and more than twice as many values: new ones a day aside, which one of them may count. */
const contradicts = (one: ContainerDetail, other: ContainerDetail): boolean =>
  one !== other &&
  one.container.partitionKey.join() === other.container.partitionKey.join() &&
  (one.cardinality ?? 0) > 2 * (other.cardinality ?? Infinity);

export const KEYS: readonly Rule[] = [
  {
    id: 'C1',
    title: 'Every example has the partition key',
    severity: 'error',
    source: `${SOURCES.ours}; Microsoft’s migration tool checks the same`,
    why: 'A document without the key’s field lands under an undefined key, with all others like it.',
    mend: 'Add the field to the examples, or name the field they have.',
    needs: [DESIGN],
    *check(facts) {
      for (const detail of facts.containers) {
        const { container } = detail;
        if (container.types.every(({ examples }) => examples.length === 0))
          yield missing(`examples of ${container.name}`);
        for (const path of container.partitionKey) {
          for (const { name, examples, at } of container.types) {
            const lacking = examples.filter((example) => valueAt(example, path) === undefined);
            if (lacking.length === 0) continue;
            const others = Object.keys(lacking[0] ?? {}).filter(
              (field) => /partition|key|id$/i.test(field) && field !== 'id',
            );
            yield {
              message: `${container.name}: key ${path}, but ${lacking.length} of ${examples.length} examples of ${name} have none${others.length > 0 ? ` (they have ${others.join(', ')})` : ''}`,
              at:
                lacking.length === examples.length
                  ? facts.place(detail, 'partitionKey')
                  : facts.example(lacking[0], at),
              related: [lacking.length === examples.length ? at : facts.place(detail, 'partitionKey')],
            };
          }
        }
      }
    },
  },
  {
    id: 'C2',
    title: 'A partition key has 100 values or more',
    severity: 'error',
    source: `${SOURCES.seed}; Microsoft says "high cardinality" and gives no number`,
    why: 'Few values mean few partitions to spread over. It fails under 100 stated values and warns where none are stated, or where the name tells of few: status, type, country, tier, a flag; and where two containers with one key state different numbers.',
    mend: 'State the number of values beside the key; put a field with more values first.',
    needs: [DESIGN],
    *check(facts) {
      for (const detail of facts.containers) {
        const { cardinality, container } = detail;
        const at = facts.place(detail, 'partitionKey');
        const [first = ''] = container.partitionKey;
        if (container.partitionKey.length === 0) continue;
        if (cardinality !== undefined && cardinality < 100)
          yield {
            message: `${container.name}: the key has ${n(cardinality)} values; 100 or more spread the load`,
            at,
            evidence: `${n(cardinality)} < 100`,
          };
        if (cardinality === undefined && !/high cardinality|guid|uuid|unique/i.test(facts.keyText(detail)?.text ?? ''))
          yield {
            severity: 'warning',
            message: `${container.name}: how many values the key has isn't stated`,
            at,
            mend: 'Write it beside the key: `/storeId` - 400 values.',
          };
        if (
          /\/(status|type|kind|state|country|region|tier|category|level|role|gender|is[A-Z]\w*|has[A-Z]\w*|active|enabled|deleted|priority)$/.test(
            first,
          ) &&
          !(cardinality !== undefined && cardinality >= 100)
        )
          yield {
            severity: 'warning',
            message: `${container.name}: a key that begins with ${first} has few values`,
            at,
          };
        // Ids of one container are none of another's.
        const other = container.partitionKey.includes('/id')
          ? undefined
          : facts.containers.find((of) => contradicts(detail, of));
        if (other)
          yield {
            severity: 'warning',
            message: `${container.name}: the key ${container.partitionKey.join(', ')} has ${n(cardinality ?? 0)} values here and ${n(other.cardinality ?? 0)} in ${other.container.name}`,
            at,
            related: [facts.place(other, 'partitionKey')],
            mend: 'Correct the number, or the key.',
          };
      }
    },
  },
  {
    id: 'C3',
    title: 'One logical partition holds 20 GB',
    severity: 'error',
    source: `${LIMITS}; the modelling prompt doesn't have it`,
    why: 'A key that has reached 20 GB refuses every write; it can’t be split. It fails above 20 GB and warns above 10, for what is stated of the largest key, and for what follows from the largest number of children.',
    mend: 'Add a level to the key, or bin by time.',
    needs: [DESIGN],
    *check(facts) {
      let known = false;
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
            known = true;
            if (gb > 10)
              yield {
                severity: gb > 20 ? 'error' : 'warning',
                message: `${container.name}: ${n(gb)} GB in one key; a logical partition holds 20`,
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
          known = true;
          const gb = (max * size.average) / 1e9;
          if (gb > 10)
            yield {
              severity: gb > 20 ? 'error' : 'warning',
              message: `${container.name}: the largest ${parent.toLowerCase()} has ${n(gb)} GB in one key`,
              at: facts.place(detail, 'partitionKey'),
              evidence: `${n(max)} × ${n(size.average / 1000)} KB = ${n(gb)} GB > ${gb > 20 ? 20 : 10} GB`,
            };
        }
      }
      if (!known) yield missing('the size of the largest key');
    },
  },
  {
    id: 'C4',
    title: 'One key takes 10,000 RU/s at most',
    severity: 'error',
    source: `${SOURCES.seed}; ${LIMITS}`,
    why: 'All documents of a key lie in one physical partition. It fails where the RU/s stated for a key, or its stated share of the container’s load, are more.',
    mend: 'Spread the key over shards, or over another level.',
    needs: [DESIGN],
    *check(facts) {
      let known = false;
      for (const detail of facts.containers) {
        for (const { text, at } of aboutKeys(facts, detail)) {
          const rate = hotRate(text);
          const share = quantities(text).find(({ unit, high }) => unit === '%' && high <= 100)?.high;
          const load = facts.peak(detail);
          const computed = share === undefined ? 0 : (share / 100) * load;
          if (rate === undefined && share === undefined) continue;
          known = true;
          if (sharding.test(text)) continue;
          if (rate !== undefined && rate > 10_000)
            yield {
              message: `${detail.container.name}: ${n(rate)} RU/s on one key; a partition gives 10,000`,
              at,
              evidence: `${n(rate)} > 10,000`,
            };
          else if (computed > 10_000)
            yield {
              message: `${detail.container.name}: ${n(share ?? 0)} % of the load are ${n(computed)} RU/s on one key; a partition gives 10,000`,
              at,
              evidence: `${n(share ?? 0)} % × ${n(load)} RU/s = ${n(computed)}`,
            };
        }
      }
      if (!known) yield missing('the share or RU/s of the hottest key');
    },
  },
  {
    id: 'C5',
    title: 'Write sharding has enough shards, its readers ask all of them, and it is needed',
    severity: 'error',
    source: SOURCES.seed,
    why: 'N shards are enough if N ≥ ⌈hot RU/s ÷ 10,000⌉. A reader that asks one of them sees a part; and without a hot key, sharding makes every read dearer for nothing.',
    mend: 'State N and the hot RU/s; let readers query all N and merge in order.',
    needs: [DESIGN],
    *check(facts) {
      const sharded = facts.containers.flatMap((detail) => {
        const text = aboutKeys(facts, detail).find(
          (piece) =>
            sharding.test(piece.text) && !/would have to|no (write )?shard|not sharded|without shard/i.test(piece.text),
        );
        return text ? [{ detail, text }] : [];
      });
      if (sharded.length === 0) {
        yield missing('a key with write shards');
        return;
      }
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
            message: `${name}: ${count} shards for ${n(hot)} RU/s; it takes ${need}`,
            at: text.at,
            evidence: `⌈${n(hot)} ÷ 10,000⌉ = ${need}`,
          };
        else if (need <= 1)
          yield {
            severity: 'warning',
            message: `${name} is sharded, though its hottest key has ${n(hot)} RU/s`,
            at: text.at,
            evidence: `${n(hot)} ≤ 10,000`,
          };
        for (const { row, write } of facts.accesses.filter((access) => access.detail === detail)) {
          if (
            !write &&
            row.operations.includes('query') &&
            !/all shards|every shard|each shard|\bshards\b|merge|fan|parallel|所有分片/i.test(
              `${row.operationText} ${row.notes}`,
            )
          )
            yield { message: `Row ${row.printed} reads ${name} without saying that it asks all shards`, at: row.at };
        }
      }
    },
  },
  {
    id: 'C6',
    title: 'A child that can’t be without its parent is keyed by it',
    severity: 'error',
    source: SOURCES.seed,
    why: 'Where the child can’t exist without the parent, the parent’s id is always known, and the plan is to query across partitions, the identifying relationship gives the key: the parent’s id.',
    mend: 'Make the parent’s id the partition key of the child.',
    *check({ requirements, containers }) {
      const pairs = requirements?.pairs.filter(({ identifying }) => identifying) ?? [];
      if (pairs.length === 0) {
        yield missing('an identifying relationship check');
        return;
      }
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
            message: `${child} can't exist without ${parent}, and its parent is always known: use /${wanted}${detail ? ` instead of ${detail.container.partitionKey.join(', ')}` : ''}`,
            at: places.identifying ?? at,
            ...(detail && { related: [detail.container.places.partitionKey ?? detail.container.at] }),
          };
      }
    },
  },
  {
    id: 'C7',
    title: 'A key that grows with time doesn’t take all writes',
    severity: 'warning',
    source: 'the modelling prompt’s upstream template',
    why: 'With a date, a time or a counter as the key, everything written now goes to one partition.',
    mend: 'Put another field first, or add a shard suffix.',
    needs: [DESIGN],
    *check(facts) {
      for (const detail of facts.containers) {
        const [first = ''] = detail.container.partitionKey;
        const values = examplesIn(detail.container).map((example) => valueAt(example, first));
        const dated =
          /\/(date|day|month|year|hour|week|time|timestamp|created(At|On|Date)?|updatedAt|_ts|sequence|seq|number|counter)$/i.test(
            first,
          ) ||
          (values.length > 0 &&
            values.every((value) => typeof value === 'string' && /^\d{4}[-/]\d\d([-/]\d\d)?/.test(value)));
        if (
          dated &&
          !sharding.test(
            aboutKeys(facts, detail)
              .map(({ text }) => text)
              .join(' '),
          )
        )
          yield {
            message: `${detail.container.name}: the key ${first} grows with time, so all writes go to one partition`,
            at: facts.place(detail, 'partitionKey'),
          };
      }
    },
  },
];
