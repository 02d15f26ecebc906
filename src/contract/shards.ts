// I1 to I3: the document's shard map against the pipeline's `shards`, its containers and its own rows.
import { shardedContainers } from '../pipeline/places.ts';
import type { DocumentedMap } from '../model/documents.ts';
import { namedContainers } from '../model/reader/shard-maps.ts';
import type { Facts } from '../model/rules/facts.ts';
import { type Found, type Rule, SOURCES } from '../model/rules/rule.ts';
import { boundOf, keyTypeNamed, rangeNamed, typeOfKey } from '../model/shard-keys.ts';
import type { Contract } from './declared.ts';

/** Whether the rows give each key one shard. */
function* ofRows({ mappings, keyType }: DocumentedMap): Iterable<Found> {
  const stated = keyType && keyTypeNamed(keyType.text);
  if (keyType && stated === undefined)
    yield { message: `${keyType.text} is not a type of keys of a shard map`, at: keyType.at };
  const ranges = mappings.flatMap(({ key, at }) => {
    const [from, to] = rangeNamed(key);
    const [low, high] = [boundOf(from ?? '', 'low'), boundOf(to ?? '', 'high')];
    return from === undefined || low === undefined || high === undefined ? [] : [{ key, low, high, at }];
  });
  for (const { key, low, high, at } of ranges)
    if (low >= high) yield { message: `The range ${key} is empty: low must be below high`, at };
  const sorted = ranges.toSorted((one, other) => (one.low < other.low ? -1 : 1));
  for (const [index, range] of sorted.entries()) {
    const next = sorted[index + 1];
    if (next && next.low < range.high)
      yield { message: `${range.key} and ${next.key} overlap`, at: next.at, related: [range.at] };
  }
  const single = mappings.filter(({ key }) => !/^[[(]|,/.test(key.trim()));
  for (const [index, { key, at }] of single.entries()) {
    const before = single.slice(0, index).find((other) => other.key.trim() === key.trim());
    if (before) yield { message: `Key ${key} has two shards`, at, related: [before.at] };
    const type = typeOfKey(key);
    const fits = stated === undefined || stated === 'text' || type === 'any' || type === stated;
    // A day without a time may be a key of both types of times.
    if (!fits && !(type === 'datetime' && stated === 'datetimeoffset'))
      yield { message: `${key} has the type ${type}, but the keys of the map have the type ${stated}`, at };
  }
}

/** Whether the containers of the map are designed, and have the map's key first. */
function* ofContainers(facts: Facts, { sharded, reference }: DocumentedMap): Iterable<Found> {
  for (const label of [sharded, reference])
    for (const [name, path] of label ? namedContainers(label) : []) {
      const detail = facts.detail(name);
      const [first] = detail?.container.partitionKey ?? [];
      if (!detail)
        yield {
          message: `The shard map names container ${name}, which has no design`,
          at: label?.at ?? facts.design?.model.shardMaps?.[0]?.at ?? { file: '', line: 1 },
          hint: facts.suggest(name),
        };
      else if (path !== undefined && first !== undefined && first !== path)
        yield {
          message: `The shard map has ${name} by ${path}, but the first level of its key is ${first}`,
          at: label?.at ?? detail.container.at,
          related: [facts.place(detail, 'partitionKey')],
        };
    }
}

export function shards(contract: Contract): Rule[] {
  const { pipeline } = contract;
  return [
    {
      id: 'I1',
      title: 'Code and document have the same shard map',
      why: 'By the section of the shard map hosts know which containers each shard has, and by `shards` of the pipeline they know which map is meant. If only one of them names it, hosts read the feeds of one database and miss the others.',
      hint: 'Add the section `## Shard map` with its name, or correct `definePipeline({ shards: shardMap(…) })`.',
      *check({ design }) {
        if (!pipeline || !design) return;
        const [first] = design.shardMaps;
        const at = contract.placeOf('shards');
        if (pipeline.shards && !shardedContainers(pipeline, design.model))
          yield {
            message: `The pipeline reads the shards of the map ${pipeline.shards.map}, which the document doesn't have`,
            at: first?.at ?? at,
            related: first ? [at] : [],
          };
        if (!pipeline.shards && first)
          yield {
            severity: 'warning',
            message: `The document has a shard map${first.name === undefined ? '' : ` ${first.name}`}, but the pipeline declares no shards`,
            at: first.at,
          };
      },
    },
    {
      id: 'I2',
      title: 'The containers of a shard map are designed, and the map’s key is the first level of theirs',
      source: SOURCES.shards,
      why: 'A document is in the shard of its key. If a container has another first level, its documents have no shard, and a query for one tenant asks all shards.',
      hint: 'Correct the path beside the container, or its key.',
      *check(facts) {
        for (const map of facts.design?.shardMaps ?? []) yield* ofContainers(facts, map);
      },
    },
    {
      id: 'I3',
      title: 'Each key of a shard map has one shard',
      source: SOURCES.shards,
      why: 'A range includes its low bound and excludes the high one. A key in two ranges, or in two rows, would have two shards. All keys of a map have one type.',
      hint: 'Shorten one of the ranges, or remove one of the rows.',
      *check({ design }) {
        for (const map of design?.shardMaps ?? []) yield* ofRows(map);
      },
    },
  ];
}
