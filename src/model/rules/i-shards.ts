// I: shard maps (tables `Key | Shard location`), and the planned steps of a change to a shard map.
import type { DocumentedMap, ShardMapping, Text } from '../documents.ts';
import { type KeyTypeWord, boundOf, keyTypeNamed, typeOfKey } from '../shard-keys.ts';
import type { Facts } from './facts.ts';
import { type Rule, type RuleResult, SOURCES, missing, quoted } from './rule.ts';

const noMap = missing('a shard map (a table Key | Shard location)');
const noPlan = missing('the steps of a change (a numbered list under "Shard map change plan")');

interface Range {
  readonly low: bigint | number;
  readonly high: bigint | number;
  /** The bounds as they are written. */
  readonly from: string;
  readonly to: string;
}

const maps = (facts: Facts): readonly DocumentedMap[] => [
  ...(facts.design?.shardMaps ?? []),
  ...(facts.requirements?.shardMaps ?? []),
];
const shards = (facts: Facts): readonly ShardMapping[] => maps(facts).flatMap(({ mappings }) => mappings);
const plan = (facts: Facts): readonly Text[] => [
  ...(facts.design?.shardPlan ?? []),
  ...(facts.requirements?.shardPlan ?? []),
];

const isRange = (key: string): boolean => /^[[({]|\.\.|,.*[\])]$/.test(key.trim());
function rangeOf(key: string): Range | undefined {
  const [, from, to] = /^\[\s*([^,]+?)\s*,\s*([^,]+?)\s*\)$/.exec(key.trim()) ?? [];
  if (from === undefined || to === undefined) return undefined;
  const [low, high] = [boundOf(from, 'low'), boundOf(to, 'high')];
  return low === undefined || high === undefined ? undefined : { low, high, from, to };
}
const typeOf = (key: string): KeyTypeWord | 'any' => typeOfKey(/^[[(]\s*([^,]+)/.exec(key.trim())?.[1] ?? key);
/** What the map says its keys are; undefined: it says nothing, or a type that a map can't have. */
const statedType = ({ keyType }: DocumentedMap) => (keyType ? keyTypeNamed(keyType.text) : undefined);

/** A day without a time may be a key of both types of times. */
const fits = (type: KeyTypeWord, stated: KeyTypeWord): boolean =>
  type === stated || (type === 'datetime' && stated === 'datetimeoffset');

/** Runs over the steps of the plan, if the documents have one. */
function* steps(facts: Facts, rule: (list: readonly Text[]) => Iterable<RuleResult>): Iterable<RuleResult> {
  const list = plan(facts);
  if (list.length === 0) {
    yield noPlan;
    return;
  }
  yield* rule(list);
}

const offline = /\boffline\b|离线/i;
const online = /\bonline\b|上线/i;
const before = (list: readonly Text[], step: Text, pattern: RegExp, undone?: RegExp): boolean => {
  const earlier = list.slice(0, list.indexOf(step));
  const at = earlier.findLastIndex(({ text }) => pattern.test(text));
  return at >= 0 && !(undone && earlier.slice(at + 1).some(({ text }) => undone.test(text)));
};
const shardNames = (text: string): string[] =>
  [...text.matchAll(/\bshard[\s-]*([A-Za-z0-9_]+)|\b(db[-_]?\w+)/gi)]
    .map((match) => (match[1] ?? match[2] ?? '').toLowerCase())
    .filter((name) => !/^(map|s|and|on|to|with|the|is|database)$/.test(name));

export const SHARDS: readonly Rule[] = [
  {
    id: 'I1',
    title: 'A range is [low, high): it includes low and excludes high',
    severity: 'error',
    source: SOURCES.shards,
    why: 'With other brackets, the bound between two ranges belongs to both ranges or to none.',
    hint: 'Write `[1,50)`.',
    *check(facts) {
      const ranges = shards(facts).filter(({ key }) => isRange(key));
      if (ranges.length === 0) {
        yield shards(facts).length === 0 ? noMap : missing('a range mapping');
        return;
      }
      for (const { key, at } of ranges) {
        const range = rangeOf(key);
        if (!/^\[.*\)$/.test(key.trim())) yield { message: `${key} isn't of the form [low, high)`, at };
        else if (range && range.low >= range.high)
          yield { message: `The range ${key} is empty: low must be below high`, at };
      }
    },
  },
  {
    id: 'I2',
    title: 'Ranges don’t overlap',
    severity: 'error',
    source: SOURCES.shards,
    why: 'A key in two ranges would have two shards. Gaps are allowed; the rule reports them as information, because their keys have no shard.',
    hint: 'Shorten one of the ranges.',
    *check(facts) {
      if (!shards(facts).some(({ key }) => isRange(key))) {
        yield shards(facts).length === 0 ? noMap : missing('a range mapping');
        return;
      }
      for (const { mappings } of maps(facts)) {
        const ranges = mappings.flatMap(({ key, at }) => {
          const range = rangeOf(key);
          return range && range.low < range.high ? [{ key, at, ...range }] : [];
        });
        const sorted = ranges.toSorted((a, b) => (a.low < b.low ? -1 : 1));
        for (const [index, range] of sorted.entries()) {
          const next = sorted[index + 1];
          if (next && next.low < range.high)
            yield { message: `${range.key} and ${next.key} overlap`, at: next.at, related: [range.at] };
          if (next && next.low > range.high)
            yield { severity: 'information', message: `[${range.to},${next.from}) has no shard`, at: next.at };
        }
      }
    },
  },
  {
    id: 'I3',
    title: 'A list map has each key once',
    severity: 'error',
    source: SOURCES.shards,
    why: 'Many keys may have the same shard, but one key has only one shard.',
    hint: 'Remove one of the rows.',
    *check(facts) {
      if (shards(facts).every(({ key }) => isRange(key))) {
        yield shards(facts).length === 0 ? noMap : missing('a list mapping');
        return;
      }
      for (const { mappings } of maps(facts)) {
        const keys = mappings.filter(({ key }) => !isRange(key));
        for (const [index, { key, at }] of keys.entries()) {
          const first = keys.slice(0, index).find((other) => other.key.trim() === key.trim());
          if (first) yield { message: `Key ${key} is mapped twice: also in line ${first.at.line}`, at };
        }
      }
    },
  },
  {
    id: 'I4',
    title: 'A map has either single keys or ranges, all of one type',
    severity: 'error',
    source: SOURCES.shards,
    why: 'A shard map supports one kind of mapping and one type of key.',
    hint: 'Use two maps, or state the type beside the table: `- **Key type**: text`.',
    *check(facts) {
      if (shards(facts).length === 0) yield noMap;
      for (const map of maps(facts)) {
        const [first] = map.mappings;
        const stated = statedType(map);
        for (const { key, at } of map.mappings) {
          const type = typeOf(key);
          if (first && isRange(key) !== isRange(first.key))
            yield { message: `${key} is a ${isRange(key) ? 'range' : 'single key'}, but ${first.key} isn't`, at };
          else if (stated && stated !== 'text' && type !== 'any' && !fits(type, stated))
            yield { message: `${key} has the type ${type}, but the keys of the map have the type ${stated}`, at };
          else if (first && !stated && type !== 'any' && typeOf(first.key) !== 'any' && type !== typeOf(first.key))
            yield { message: `${key} has the type ${type}, but ${first.key} has the type ${typeOf(first.key)}`, at };
        }
      }
    },
  },
  {
    id: 'I5',
    title: 'Keys have a type that shard maps know, and ranges have no text',
    severity: 'error',
    source: `${SOURCES.shards}; text in list maps: ${SOURCES.ours}`,
    why: 'Integers, guids, bytes, times and durations have the same order in every system. Text has not, so only a list map, which has no order, can have keys of text.',
    hint: 'For ranges use a number or a guid of the tenant as the key, not its name, or use a list map.',
    *check(facts) {
      if (shards(facts).length === 0) yield noMap;
      for (const map of maps(facts)) {
        const { keyType } = map;
        const stated = statedType(map);
        if (keyType && !stated)
          yield { message: `${quoted(keyType.text, 40)} is not a type of keys of a shard map`, at: keyType.at };
        for (const { key, at } of map.mappings) {
          if (isRange(key) && (stated ?? typeOf(key)) === 'text')
            yield { message: `A range of a shard map can't have keys of text: ${quoted(key, 40)}`, at };
        }
      }
    },
  },
  {
    id: 'I6',
    title: 'A mapping is updated or deleted only while offline',
    severity: 'error',
    source: SOURCES.shards,
    why: 'During an online change, requests still go to the old shard although the map names the new one.',
    hint: 'Take the mapping offline first. Bring it online last.',
    check: (facts) =>
      steps(facts, function* (list) {
        for (const step of list) {
          if (
            /\b(update|delete|remove|repoint)\w*\b[^.]*\bmapping/i.test(step.text) &&
            !offline.test(step.text) &&
            !before(list, step, offline, online)
          )
            yield { message: `This step changes a mapping that is online: ${quoted(step.text)}`, at: step.at };
        }
      }),
  },
  {
    id: 'I7',
    title: 'The plan drains open work before a mapping goes offline',
    severity: 'warning',
    source: SOURCES.shards,
    why: 'Look-ups in an offline mapping fail, and the shard map manager kills connections to its shard.',
    hint: 'Add a step before it: stop writers, and wait for open work.',
    check: (facts) =>
      steps(facts, function* (list) {
        for (const step of list) {
          if (
            offline.test(step.text) &&
            !/drain|stop|wait|pause|quiesce/i.test(step.text) &&
            !before(list, step, /drain|stop|wait|pause|quiesce|announce|排空/i)
          )
            yield { message: `No step drains open work before: ${quoted(step.text)}`, at: step.at };
        }
      }),
  },
  {
    id: 'I8',
    title: 'A split leaves both halves on their shard',
    severity: 'error',
    source: SOURCES.shards,
    why: 'A split only divides the mapping. Moving one half is another step.',
    hint: 'Split first, then move one half.',
    check: (facts) =>
      steps(facts, function* (list) {
        for (const step of list) {
          if (
            /\bsplit/i.test(step.text) &&
            (new Set(shardNames(step.text)).size > 1 || /\bmov(e|ing)\b/i.test(step.text))
          )
            yield { message: `This step splits and moves at the same time: ${quoted(step.text)}`, at: step.at };
        }
      }),
  },
  {
    id: 'I9',
    title: 'A merge combines only adjacent ranges of one shard',
    severity: 'error',
    source: SOURCES.shards,
    why: 'The merged range is one mapping, so it has one shard and no gap.',
    hint: 'First move one range to the shard of the other.',
    check: (facts) =>
      steps(facts, function* (list) {
        const known = shards(facts);
        for (const step of list) {
          const ranges = [...step.text.matchAll(/\[[^\])]*\)/g)].flatMap((match) => rangeOf(match[0]) ?? []);
          const [a, b] = ranges.toSorted((one, other) => (one.low < other.low ? -1 : 1));
          if (!/\bmerg/i.test(step.text) || !a || !b) continue;
          const homes = new Set([a, b].map((range) => known.find(({ key }) => rangeOf(key)?.low === range.low)?.shard));
          if (a.high !== b.low)
            yield { message: `This step merges ranges that aren't adjacent: ${quoted(step.text)}`, at: step.at };
          else if (homes.size > 1 && !before(list, step, /\bmov(e|ing)\b/i))
            yield { message: `This step merges ranges of two shards: ${quoted(step.text)}`, at: step.at };
        }
      }),
  },
  {
    id: 'I10',
    title: 'A move changes both the data and the mapping',
    severity: 'error',
    source: SOURCES.shards,
    why: 'A shard map never moves data. If only one of them changes, requests go to a shard without the data.',
    hint: 'Copy the data, then update the mapping.',
    check: (facts) =>
      steps(facts, function* (list) {
        const data = list.find(({ text }) =>
          /\b(mov|copy|migrat)\w*\b[^.]*\b(data|documents|rows)\b|迁移数据/i.test(text),
        );
        const mapping = list.find(({ text }) => /\b(update|repoint|change)\w*\b[^.]*\bmapping\b/i.test(text));
        if (data && !mapping) yield { message: 'A step moves data, but no step updates the mapping', at: data.at };
        if (mapping && !data)
          yield { message: 'A step updates the mapping, but no step moves the data', at: mapping.at };
      }),
  },
  {
    id: 'I11',
    title: 'Steps use the newest version of a mapping',
    severity: 'error',
    source: SOURCES.shards,
    why: 'Each change of a mapping returns a new version, and the old version is no longer valid.',
    hint: 'Use the version that the last step returned.',
    check: (facts) =>
      steps(facts, function* (list) {
        let newest = 0;
        const versioned = list.filter(({ text }) => /\bv(ersion )?\d+\b/i.test(text));
        if (versioned.length === 0) {
          yield missing('versions of mappings in the steps');
          return;
        }
        for (const { text, at } of versioned) {
          const versions = [...text.matchAll(/\bv(?:ersion )?(\d+)\b/gi)].map((match) => Number(match[1]));
          if (Math.min(...versions) < newest)
            yield {
              message: `This step uses v${Math.min(...versions)}, but v${newest} has replaced it: ${quoted(text)}`,
              at,
            };
          newest = Math.max(newest, ...versions);
        }
      }),
  },
  {
    id: 'I12',
    title: 'A shard’s database exists before the shard is added, and is deleted after its last mapping',
    severity: 'error',
    source: `${SOURCES.shards}; the second half: ${SOURCES.ours}`,
    why: 'A mapping to a database that doesn’t exist fails every request.',
    hint: 'Create the database before you add the shard. Change its mappings before you delete the database.',
    check: (facts) =>
      steps(facts, function* (list) {
        for (const step of list) {
          const [name] = shardNames(step.text);
          if (name === undefined) continue;
          if (
            /\badd\b[^.]*\bshard\b/i.test(step.text) &&
            list.some(
              (other) => /\bcreate\b[^.]*\bdatabase\b/i.test(other.text) && list.indexOf(other) > list.indexOf(step),
            )
          )
            yield { message: `The plan adds shard ${name} before it creates its database`, at: step.at };
          const used = shards(facts).some(({ shard }) => shard.toLowerCase().includes(name));
          if (
            /\b(delete|drop|remove)\b[^.]*\b(database|shard)\b/i.test(step.text) &&
            !/mapping/i.test(step.text) &&
            used &&
            !before(list, step, /\b(update|delete|remove|repoint)\w*\b[^.]*\bmapping/i)
          )
            yield { message: `The plan deletes shard ${name} while mappings still name it`, at: step.at };
        }
      }),
  },
  {
    id: 'I13',
    title: 'The shard map has a separate database, and a process has one manager',
    severity: 'warning',
    source: SOURCES.shards,
    why: 'Every request depends on the database of the map. Each shard map manager has separate caches and connections.',
    hint: 'Store the map in a database that has `shardmaps` and `routers` only. Create the manager once in each process.',
    *check({ prose }) {
      const about = prose.filter(
        ({ section, text, label }) => section === 'shards' || /shard map|分片映射/i.test(`${label ?? ''} ${text}`),
      );
      if (about.length === 0) {
        yield missing('a text about the shard map');
        return;
      }
      for (const { text, label, at } of about) {
        const all = `${label ?? ''} ${text}`;
        // The containers `shardmaps` and `routers` are the store itself.
        const others = all.replaceAll(/`?\b(shardmaps|routers)\b`?/gi, '').replace(/also holds\s*(?=$|[.,;])/i, '');
        if (/shard map[^.;]{0,40}\b(same database|together with|shared with|also holds|alongside)\b/i.test(others))
          yield { message: 'The shard map shares its database with other data', at };
        if (
          /\b(manager|map)\b[^.;]{0,30}\b(per|each|every) (request|call|connection)\b|new shard map manager[^.;]{0,30}(per|each|every)/i.test(
            all,
          )
        )
          yield { message: 'Each request creates a shard map manager; one for each process is enough', at };
      }
    },
  },
  {
    id: 'I14',
    title: 'Routing and administration use different credentials',
    severity: 'warning',
    source: SOURCES.shards,
    why: 'Code that routes requests only reads the map, and needs no right to change it.',
    hint: 'Use two principals.',
    *check({ prose }) {
      const of = (pattern: RegExp) => prose.find(({ label }) => pattern.test(label ?? ''));
      const [routing, admin] = [
        of(/routing.*(credential|principal|identity|login)|路由凭据/i),
        of(/(admin|management).*(credential|principal|identity|login)|管理凭据/i),
      ];
      if (!routing || !admin) {
        yield missing('routing and administration credentials');
        return;
      }
      const who = (text: string): string => /`([^`]+)`/.exec(text)?.[1] ?? text.split(/[\s,;(]/)[0] ?? '';
      if (who(routing.text) === who(admin.text))
        yield {
          message: `Routing and administration both use ${who(routing.text)}`,
          at: routing.at,
          related: [admin.at],
        };
    },
  },
];
