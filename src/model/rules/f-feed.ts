// F: the guarantees of the change feed, against the assumptions of the projections.
import type { ProjectionRow, Prose, Reference } from '../documents.ts';
import type { Place } from '../model.ts';
import { duration } from '../reader/quantity.ts';
import type { Facts } from './facts.ts';
import { type Need, type Rule, type RuleResult, SOURCES, missing, n, together } from './rule.ts';

const MODES = SOURCES.microsoft('Change feed modes in Azure Cosmos DB');
const PROJECTIONS: Need = {
  what: 'projections (section "Change Feed Projections")',
  there: ({ rows }) => rows.length > 0,
};
const text = (row: ProjectionRow): string => `${row.keyText} ${row.fieldsText} ${row.deletes} ${row.start}`;

const durationText = (ms: number): string =>
  ms >= 172_800_000 ? `${n(ms / 86_400_000)} d` : ms >= 3_600_000 ? `${n(ms / 3_600_000)} h` : `${n(ms / 1000)} s`;

/** The longest time without a reader of the feed, as the documents state it, or the setting. */
function outage(facts: Facts): { ms: number; stated: boolean } {
  for (const piece of facts.prose) {
    const at = piece.text.search(/outage|downtime|中断/i);
    const ms = at < 0 ? undefined : duration(piece.text.slice(at));
    if (ms !== undefined) return { ms, stated: true };
  }
  return { ms: facts.settings.outageMs, stated: false };
}

interface Life {
  readonly ms: number;
  readonly what: string;
  readonly at: Place;
}

/** Shortest life of a type's documents in milliseconds; undefined: they don't expire. */
function lifeOf(facts: Facts, of: Reference): Life | undefined {
  const detail = facts.detail(of.container);
  const byDefault = detail?.container.defaultTtl;
  if (!detail || byDefault === undefined) return undefined;
  const lives = (facts.type(of)?.examples ?? []).flatMap((example): Life[] => {
    const { ttl } = example;
    const what = `Marked documents of ${detail.container.name}`;
    return typeof ttl === 'number' && ttl > 0
      ? [{ ms: ttl * 1000, what, at: facts.example(example, detail.container.at) }]
      : [];
  });
  if (byDefault > 0)
    lives.push({
      ms: byDefault * 1000,
      what: `Documents of ${detail.container.name}`,
      at: facts.place(detail, 'defaultTtl'),
    });
  return lives.toSorted((one, other) => one.ms - other.ms)[0];
}

const marker = /^(is)?deleted|^deletedAt$|^removed(At)?$|^tombstone$|^isDeleted$|^archivedAt$/i;
const IN_ORDER =
  /\bin order (?:over|for|of|within|per|by) (?:all (?:the )?\w+ (?:of|in) )?(?:an?|each|every|one|the) (?<whole>[a-z]\w*)/i;

/** Events whose pattern asks for the order over more than one key of them. */
function* finerThanAsked(facts: Facts): Iterable<RuleResult> {
  for (const row of facts.rows) {
    if (row.kind !== 'publish' || row.keys.length === 0) continue;
    for (const id of row.serves) {
      const pattern = facts.pattern(id);
      const whole = IN_ORDER.exec(`${pattern?.requirements ?? ''} ; ${pattern?.considerations ?? ''}`)?.groups?.[
        'whole'
      ];
      const level = row.keys.findIndex((key) => key.toLowerCase().replace(/_?id$/, '') === whole?.toLowerCase());
      if (!pattern || whole === undefined || level < 0 || level === row.keys.length - 1) continue;
      yield {
        message: `Pattern ${pattern.printed} asks for the order of a ${whole}, but the events of ${row.name} are keyed by ${row.keys.slice(level + 1).join(', ')} too: they are in order within one of these only`,
        at: row.at,
        related: [pattern.at],
      };
    }
  }
}

const allVersions = (facts: Facts): boolean =>
  facts.prose.some(
    ({ text: words }) =>
      /all[- ]versions/i.test(words) && !/\b(no|not|without)\b[^.]{0,20}all[- ]versions/i.test(words),
  );

const saysFeed = ({ text: words }: Prose): boolean => /\bfeed\b|变更源|更改源/i.test(words);

const COUNTED = /["']?\w*(?:total|count)\w*["']?\s*:\s*\d+\s*,?\s*(?:\/\/|#).*\bchange feed\b/i;
const RECOGNISED = /\bidempoten|\bcontribution|\bexactly once|\bdedup|\brecomput|\brecount|\bprocessed ids?\b/i;

export const FEED: readonly Rule[] = [
  {
    id: 'F1',
    title: 'Changes are read before they expire',
    severity: 'error',
    source: SOURCES.feed,
    why: 'An expired document leaves the feed, and a change that was not read before is lost. The rule adds the projection’s lag and the longest outage. It fails if a document lives no longer than this sum, and warns below twice the sum. The documents state the outage ("the outage planned for is 7 days"); the default is a setting, one day.',
    hint: 'Make the TTL longer, or plan for a shorter outage.',
    needs: [PROJECTIONS],
    *check(facts) {
      const planned = outage(facts);
      for (const row of facts.rows) {
        const lives = [row.source, ...row.joins].flatMap((of) => (of ? (lifeOf(facts, of) ?? []) : []));
        if (lives.length === 0) continue;
        if (row.lagMs === undefined) {
          yield missing(`the max lag of ${row.name}`);
          continue;
        }
        const need = row.lagMs + planned.ms;
        for (const life of lives)
          if (life.ms < 2 * need)
            yield {
              severity: life.ms <= need ? 'error' : 'warning',
              message: `${life.what} expire after ${durationText(life.ms)}; ${row.name} may be ${durationText(need)} behind: ${life.ms <= need ? 'it would lose changes' : 'plan for at least twice this time'}`,
              at: row.at,
              related: [life.at],
              evidence: `lag ${durationText(row.lagMs)} + outage ${durationText(planned.ms)}${planned.stated ? '' : ' (setting)'} = ${durationText(need)}; ${durationText(life.ms)} < ${life.ms <= need ? '' : '2 × '}${durationText(need)}`,
            };
      }
    },
  },
  {
    id: 'F2',
    title: 'Deletes are marked, because the feed doesn’t show them',
    severity: 'error',
    source: `${SOURCES.feed}; ${MODES}`,
    why: 'The latest-version feed shows no deletes and no expiry. So a deleted document stays in every copy and sum, unless the application sets a marker and a ttl instead of deleting it. The all-versions mode shows deletes, but it is a preview and needs continuous backup.',
    hint: 'Replace the delete by a marker (`deletedAt`) and a ttl.',
    needs: [PROJECTIONS],
    *check(facts) {
      if (allVersions(facts)) return;
      for (const { row, detail } of facts.accesses) {
        if (!row.operations.includes('delete')) continue;
        const source = facts.rows.find(
          ({ source: of, kind }) => facts.detail(of?.container) === detail && kind !== 'archive',
        );
        if (!source) continue;
        const marked = detail.container.types.some(({ examples }) =>
          examples.some((example) => Object.keys(example).some((field) => marker.test(field)) && 'ttl' in example),
        );
        if (!marked)
          yield {
            message: `Row ${row.printed} deletes from ${detail.container.name}, but no example has a delete marker and a ttl: ${source.name} won't see the delete`,
            at: row.at,
            related: [source.at],
          };
      }
    },
  },
  {
    id: 'F3',
    title: 'Projections rely on order only within one partition key value',
    severity: 'error',
    source: SOURCES.feed,
    why: 'The feed returns changes of one key value in order, and changes of different key values in any order. A projection that needs the order (last value, sequence, previous state) must group by the source’s key. Events that are keyed by device are in order for each device; a pattern that asks for them "in order over all devices of a site" doesn’t get that.',
    hint: 'Group by the source’s whole key, or use a measure that doesn’t depend on order.',
    needs: [PROJECTIONS],
    *check(facts) {
      yield* finerThanAsked(facts);
      for (const row of facts.rows) {
        if (
          !/\b(last|first|latest|previous)\s*\(|in order|sequence|ordered by arrival|in the order|按顺序/i.test(
            `${text(row)} ${row.kind === 'react' ? row.sourceText : ''}`,
          )
        )
          continue;
        const key = facts.detail(row.source?.container)?.container.partitionKey.map((path) => path.slice(1)) ?? [];
        const lacking = key.filter((field) => !row.keys.includes(field));
        if (key.length === 0) yield missing(`the key of ${row.source?.container ?? row.name}`);
        else if (lacking.length > 0)
          yield {
            message: `${row.name} depends on order, but doesn't group by ${lacking.join(', ')} of ${row.source?.container ?? ''}'s key`,
            at: row.at,
          };
      }
    },
  },
  {
    id: 'F4',
    title: 'A projection that needs the previous state stores it',
    severity: 'error',
    source: SOURCES.feed,
    why: 'The feed has only the latest version of a document; versions between two reads are lost. A delta, a transition or a difference needs the stored previous contribution.',
    hint: 'Store each document’s contribution, as Millrace’s aggregates do.',
    needs: [PROJECTIONS],
    *check(facts) {
      for (const row of facts.rows) {
        if (
          /\b(delta|transition|difference|change in|changes? of|previous value|before\/after)\b|增量/i.test(
            row.fieldsText,
          ) &&
          !/contribution|before[- ]image|stored (previous|before)|previous .* stored/i.test(text(row))
        )
          yield { message: `${row.name} needs the previous version, which the feed doesn't have`, at: row.at };
      }
    },
  },
  {
    id: 'F5',
    title: 'A change that the feed returns twice counts once',
    severity: 'error',
    source: SOURCES.feed,
    why: 'The feed returns each change at least once. After a crash `+=` counts a change again, unless the projection stores the contribution or the version of each source document.',
    hint: 'Store the contribution of each source document, or check its version before adding.',
    needs: [PROJECTIONS],
    *check(facts) {
      const adds = /\+=|\bincrement|\bcounter\b|累加/i;
      const guarded = /contribution|version guard|idempot|guard|exactly[- ]once|dedup/i;
      for (const row of facts.rows) {
        if (adds.test(text(row)) && !guarded.test(text(row)))
          yield {
            message: `${row.name} adds without a guard, so a change that the feed returns twice counts twice`,
            at: row.at,
          };
      }
      for (const { text: words, label, at, section } of facts.prose) {
        if (section !== 'projections' && /change feed|变更源/i.test(words) && adds.test(words) && !guarded.test(words))
          yield { message: `${label ?? 'This text'} adds changes of the feed without a guard`, at };
      }
    },
  },
  {
    id: 'F6',
    title: 'Every consumer has separate leases',
    severity: 'error',
    source: SOURCES.feed,
    why: 'Two consumers with the same leases share the changes, so each sees about half of them.',
    hint: 'Use a separate lease prefix or lease container for each consumer.',
    needs: [PROJECTIONS],
    *check(facts) {
      const leased = facts.rows.filter(({ lease }) => lease !== undefined && lease !== '');
      if (leased.length === 0) {
        yield missing('a column Lease');
        return;
      }
      for (const [index, row] of leased.entries()) {
        const before = leased
          .slice(0, index)
          .find((other) => other.lease === row.lease && other.source?.container === row.source?.container);
        if (before)
          yield {
            message: `${row.name} and ${before.name} read ${row.source?.container ?? ''} with the same leases ${row.lease ?? ''}`,
            at: row.at,
            related: [before.at],
          };
      }
    },
  },
  {
    id: 'F7',
    title: 'The number of workers is at most the number of leases',
    severity: 'warning',
    source: SOURCES.feed,
    why: 'There is one lease for each physical partition, and a worker without a lease has no work.',
    hint: 'Run at most as many workers as there are physical partitions.',
    needs: [PROJECTIONS],
    *check(facts) {
      const piece = facts.prose.find(
        ({ text: words }) =>
          /\b\d+ (feed )?(workers|hosts|instances|processors)\b/i.test(words) &&
          /feed|processor|projection|lease/i.test(words),
      );
      const workers = Number(
        /\b(\d+) (?:feed )?(?:workers|hosts|instances|processors)\b/i.exec(piece?.text ?? '')?.[1],
      );
      if (!piece || Number.isNaN(workers)) {
        yield missing('a number of workers');
        return;
      }
      const sources = [...new Set(facts.rows.map(({ source }) => facts.detail(source?.container)))].filter(
        (detail) => detail !== undefined,
      );
      const leases = sources.reduce((total, detail) => total + facts.partitions(detail), 0);
      if (workers > leases)
        yield {
          message: `${workers} workers share ${leases} leases, so ${workers - leases} of them have no work`,
          at: piece.at,
          evidence: sources.map((detail) => `${detail.container.name} ${facts.partitions(detail)}`).join(' + '),
        };
    },
  },
  {
    id: 'F8',
    title: 'The throughput of a source includes reading its feed',
    severity: 'warning',
    source: SOURCES.feed,
    why: 'Feed reads, leases and sink writes cost RU like other requests. The rule warns if the throughput planning of a source doesn’t mention the feed.',
    hint: 'Add a term for the feed to the throughput planning of the source.',
    needs: [PROJECTIONS],
    *check(facts) {
      const sources = new Set(
        facts.rows.flatMap(({ source, joins }) => [source, ...joins]).map((of) => facts.detail(of?.container)),
      );
      for (const detail of sources) {
        if (!detail) continue;
        const planning = facts.labelled(detail, /throughput|ru planning|吞吐量/i);
        if (!planning) yield missing(`the throughput planning of ${detail.container.name}`);
        else if (!saysFeed(planning))
          yield {
            message: `Projections read ${detail.container.name}, but its throughput planning has no term for the feed`,
            at: planning.at,
          };
      }
    },
  },
  {
    id: 'F9',
    title: 'A projection starts with the existing data',
    severity: 'warning',
    source: `${SOURCES.feed}; ${SOURCES.microsoft('Change feed processor in Azure Cosmos DB')}`,
    why: 'A processor that starts now never sees the documents that were written before.',
    hint: 'Write `backfill` into Start, or write there that the source is empty.',
    needs: [PROJECTIONS],
    *check(facts) {
      for (const { name, start, at } of facts.rows) {
        if (start === '') yield { message: `${name} doesn't state where it starts`, at };
        else if (
          /\bnow\b|latest|from today|new (changes|documents) only|现在/i.test(start) &&
          !/empty|backfill/i.test(start)
        )
          yield { message: `${name} starts now, so it misses the existing documents`, at };
      }
    },
  },
  {
    id: 'F10',
    title: 'Projections don’t rely on the order within a transaction or on timestamps',
    severity: 'warning',
    source: MODES,
    why: 'Writes of a batch, a bulk request or a stored procedure have the same timestamp, and the feed returns them in any order. `_ts` has whole seconds.',
    hint: 'Order by a field of the document that only grows.',
    needs: [PROJECTIONS],
    *check(facts) {
      for (const row of facts.rows) {
        if (/\b_ts\b|\bby timestamp\b|\bby _lsn\b/i.test(`${text(row)} ${row.sourceText}`))
          yield {
            message: `${row.name} orders by a timestamp, but documents of one transaction have the same one`,
            at: row.at,
          };
      }
      for (const { row } of facts.accesses) {
        if (
          row.queries.some(({ order }) => order.some(({ path }) => path === '_ts')) &&
          facts.accesses.some(
            (other) => other.detail === facts.detail(row.containers[0]) && other.row.operations.includes('batch'),
          )
        )
          yield {
            message: `Row ${row.printed} orders by _ts, but documents of one batch have the same _ts`,
            at: row.at,
          };
      }
    },
  },
  {
    id: 'F11',
    title: 'An account with projections has one write region',
    severity: 'error',
    source: SOURCES.microsoft('Conflict types and resolution policies'),
    why: 'With several write regions, the versions of a document have no single order, and a condition on an ETag holds in one region only. Millrace refuses such accounts. Without projections the rule only warns, because conflicts need a policy.',
    hint: 'Write in one region. Read in several if you need to.',
    *check(facts) {
      const where = facts.prose.filter(
        ({ section }) => section === 'distribution' || section === 'overview' || section === 'considerations',
      );
      if (where.length === 0) {
        yield missing('the global distribution strategy');
        return;
      }
      const multi =
        /multi[- ]region writes?|multi[- ]master|multiple write regions|writes? in (all|every|several|multiple|both) regions|active[- ]active|多区域写入/i;
      for (const { text: words, label, at, heading } of where) {
        const found = multi.exec(words) ?? multi.exec(label ?? '');
        const denied =
          /\b(no|not|never|without|disabled|off|single)\b[^.;:]{0,40}(multi[- ](region|master)|multiple write)|multi[- ]region writes?\W{0,4}(no|off|disabled|false|none|not)\b/i.test(
            `${label ?? ''} ${words}`,
          );
        const later = /\b(if|later|future|consider|planned|phase [2-9])\b/i.test(`${heading} ${label ?? ''} ${words}`);
        if (found && !denied && !later)
          yield {
            severity: facts.rows.length > 0 ? 'error' : 'warning',
            message: `${found[0]}: the versions of a document then have no single order${facts.rows.length > 0 ? ', which projections need' : ''}`,
            at,
          };
      }
    },
  },
  {
    id: 'F12',
    title: 'A total that is derived from the feed isn’t counted up',
    severity: 'error',
    source: SOURCES.feed,
    why: 'The feed delivers a change at least once, and doesn’t show the document before it. A counter that each change increments or decrements counts twice after a redelivery, and can’t subtract the old value. The rule reads sentences that name the change feed and a counter; it accepts those that say how a repeated change is recognised. It warns of numbers in examples whose comment says that the feed updates them.',
    hint: 'Store the contribution of each source document beside the total, and replace it. Or compute the total from the documents. A projection of the kind `aggregate` does the first.',
    *check({ prose, design }) {
      let known = false;
      for (const { text: words, label, at } of prose) {
        const all = `${label ?? ''} ${words}`;
        if (!/change feed|变更源/i.test(all)) continue;
        known = true;
        const counts = /\b(increment|decrement)\w*|\+=|\bcounters?\b/i.exec(all);
        const safe =
          /idempot|contribution|exactly once|dedup|recomput|version|etag|processed ids?|previous (value|image)/i;
        if (counts && !safe.test(all))
          yield {
            message: `"${counts[0]}" by the change feed counts a change twice when it is delivered twice`,
            at,
          };
      }
      const headings = design?.headings ?? [];
      for (const [index, line] of (design?.lines ?? []).entries()) {
        if (!/\bop"?\s*:\s*["']incr/i.test(line)) continue;
        const above = headings.findLast(({ at }) => at.line <= index + 1);
        if (!above || !/change feed|变更源/i.test(above.text)) continue;
        known = true;
        yield {
          message: 'An increment by the change feed counts a change twice when it is delivered twice',
          at: { file: above.at.file, line: index + 1 },
        };
      }
      // A number in an example whose comment says what keeps it.
      const lines = [...(design?.lines ?? []).entries()].filter(([, line]) => COUNTED.test(line));
      const isRecognised = design?.lines.some((line) => RECOGNISED.test(line)) ?? false;
      if (!isRecognised)
        for (const found of together(
          lines.map(([index]) => ({ at: { file: design?.file ?? '', line: index + 1 } })),
          'The change feed keeps this number, delivers a change again after a failure, and shows every update of a document: nothing says how it counts once',
        ))
          yield { severity: 'warning', ...found };
      if (!known && lines.length === 0) yield missing('a sentence about the change feed');
    },
  },
];
