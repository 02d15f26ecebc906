// F: what the change feed does and doesn't give, against what the projections count on.
import type { ProjectionRow, Prose, Reference } from '../documents.ts';
import type { Place } from '../model.ts';
import { duration } from '../reader/quantity.ts';
import type { Facts } from './facts.ts';
import { type Need, type Rule, SOURCES, missing, n } from './rule.ts';

const MODES = SOURCES.microsoft('Change feed modes in Azure Cosmos DB');
const PROJECTIONS: Need = {
  what: 'projections (section "Change Feed Projections")',
  there: ({ rows }) => rows.length > 0,
};
const text = (row: ProjectionRow): string => `${row.keyText} ${row.fieldsText} ${row.deletes} ${row.start}`;

const duringOf = (ms: number): string =>
  ms >= 172_800_000 ? `${n(ms / 86_400_000)} d` : ms >= 3_600_000 ? `${n(ms / 3_600_000)} h` : `${n(ms / 1000)} s`;

/** The longest time nobody reads the feed, as the documents say, or the setting. */
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
const allVersions = (facts: Facts): boolean =>
  facts.prose.some(
    ({ text: words }) =>
      /all[- ]versions/i.test(words) && !/\b(no|not|without)\b[^.]{0,20}all[- ]versions/i.test(words),
  );

const saysFeed = ({ text: words }: Prose): boolean => /\bfeed\b|变更源|更改源/i.test(words);

export const FEED: readonly Rule[] = [
  {
    id: 'F1',
    title: 'Changes are read before they expire',
    severity: 'error',
    source: SOURCES.feed,
    why: 'An expired document leaves the feed; if nobody read it before, its change is lost unseen. It fails where a document lives no longer than the projection’s lag and the longest outage together, and warns below twice that. The outage is what the documents say ("the outage planned for is 7 days"), else a setting, one day.',
    mend: 'Let documents live longer, or plan for a shorter outage.',
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
              message: `${life.what} expire after ${duringOf(life.ms)}; ${row.name} may be ${duringOf(need)} behind: ${life.ms <= need ? 'changes vanish unseen' : 'less than twice that is close'}`,
              at: row.at,
              related: [life.at],
              evidence: `lag ${duringOf(row.lagMs)} + outage ${duringOf(planned.ms)}${planned.stated ? '' : ' (setting)'} = ${duringOf(need)}; ${duringOf(life.ms)} < ${life.ms <= need ? '' : '2 × '}${duringOf(need)}`,
            };
      }
    },
  },
  {
    id: 'F2',
    title: 'Deletes are marked, since the feed doesn’t show them',
    severity: 'error',
    source: `${SOURCES.feed}; ${MODES}`,
    why: 'The latest-version feed has no deletes and no expiries. A document that is deleted stays in every copy and sum, unless it is marked and given a ttl instead. The all-versions mode shows deletes; it is a preview and needs continuous backup.',
    mend: 'Replace the delete by a marker (`deletedAt`) and a ttl.',
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
            message: `Row ${row.printed} deletes from ${detail.container.name}, and no example has a delete marker and a ttl: ${source.name} won't see it`,
            at: row.at,
            related: [source.at],
          };
      }
    },
  },
  {
    id: 'F3',
    title: 'Order is relied on only within one partition key value',
    severity: 'error',
    source: SOURCES.feed,
    why: 'Changes of one key value come in order, others in any. A projection that needs the order (last value, sequence, previous state) must be grouped within the source’s key.',
    mend: 'Group by the source’s whole key, or take what doesn’t depend on order.',
    needs: [PROJECTIONS],
    *check(facts) {
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
            message: `${row.name} depends on order, but isn't grouped by ${lacking.join(', ')} of ${row.source?.container ?? ''}'s key`,
            at: row.at,
          };
      }
    },
  },
  {
    id: 'F4',
    title: 'A projection that needs the state before keeps it itself',
    severity: 'error',
    source: SOURCES.feed,
    why: 'The feed has the latest version alone; versions between two reads are gone. A delta, a transition or a difference needs the contribution that was stored before.',
    mend: 'Store each document’s contribution, as Millrace’s aggregates do.',
    needs: [PROJECTIONS],
    *check(facts) {
      for (const row of facts.rows) {
        if (
          /\b(delta|transition|difference|change in|changes? of|previous value|before\/after)\b|增量/i.test(
            row.fieldsText,
          ) &&
          !/contribution|before[- ]image|stored (previous|before)|previous .* stored/i.test(text(row))
        )
          yield { message: `${row.name} works with differences, but the feed has no version before`, at: row.at };
      }
    },
  },
  {
    id: 'F5',
    title: 'A change that comes twice counts once',
    severity: 'error',
    source: SOURCES.feed,
    why: 'The feed delivers at least once. `+=` counts a change again after a crash, unless each source document’s contribution or version is kept.',
    mend: 'Keep contributions by source document, or a guard by version.',
    needs: [PROJECTIONS],
    *check(facts) {
      const adds = /\+=|\bincrement|\bcounter\b|累加/i;
      const guarded = /contribution|version guard|idempot|guard|exactly[- ]once|dedup/i;
      for (const row of facts.rows) {
        if (adds.test(text(row)) && !guarded.test(text(row)))
          yield { message: `${row.name} adds up without a guard: a change that comes twice counts twice`, at: row.at };
      }
      for (const { text: words, label, at, section } of facts.prose) {
        if (section !== 'projections' && /change feed|变更源/i.test(words) && adds.test(words) && !guarded.test(words))
          yield { message: `${label ?? 'This'} adds up from the change feed without a guard`, at };
      }
    },
  },
  {
    id: 'F6',
    title: 'Every consumer has leases of its own',
    severity: 'error',
    source: SOURCES.feed,
    why: 'Two consumers with the same leases split the changes between them, and each sees about half.',
    mend: 'Give each its own lease prefix or container.',
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
    title: 'There are no more workers than leases',
    severity: 'warning',
    source: SOURCES.feed,
    why: 'A lease is a physical partition’s; a worker without one waits.',
    mend: 'Run as many workers as there are partitions, or fewer.',
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
          message: `${workers} workers for ${leases} leases: ${workers - leases} have nothing to do`,
          at: piece.at,
          evidence: sources.map((detail) => `${detail.container.name} ${facts.partitions(detail)}`).join(' + '),
        };
    },
  },
  {
    id: 'F8',
    title: 'Reading the feed is part of a source’s throughput',
    severity: 'warning',
    source: SOURCES.feed,
    why: 'Feed reads, leases and sink writes cost RU like any other. It warns where a source’s throughput planning doesn’t speak of the feed.',
    mend: 'Add a term for the feed to the source’s sum.',
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
            message: `${detail.container.name} is read by projections, and its throughput has no term for the feed`,
            at: planning.at,
          };
      }
    },
  },
  {
    id: 'F9',
    title: 'A projection starts with the data that is there',
    severity: 'warning',
    source: `${SOURCES.feed}; ${SOURCES.microsoft('Change feed processor in Azure Cosmos DB')}`,
    why: 'A processor that begins now never sees what was written before.',
    mend: 'Write `backfill` into Start, or say that the source is empty.',
    needs: [PROJECTIONS],
    *check(facts) {
      for (const { name, start, at } of facts.rows) {
        if (start === '') yield { message: `Where ${name} starts isn't stated`, at };
        else if (
          /\bnow\b|latest|from today|new (changes|documents) only|现在/i.test(start) &&
          !/empty|backfill/i.test(start)
        )
          yield { message: `${name} starts now, and misses what is there already`, at };
      }
    },
  },
  {
    id: 'F10',
    title: 'Nothing relies on the order of one transaction or of timestamps',
    severity: 'warning',
    source: MODES,
    why: 'Writes of a batch, a bulk or a stored procedure share a timestamp, and their order in the feed is free; `_ts` has whole seconds.',
    mend: 'Order by a field of your own that only grows.',
    needs: [PROJECTIONS],
    *check(facts) {
      for (const row of facts.rows) {
        if (/\b_ts\b|\bby timestamp\b|\bby _lsn\b/i.test(`${text(row)} ${row.sourceText}`))
          yield { message: `${row.name} orders by a timestamp, which one transaction’s documents share`, at: row.at };
      }
      for (const { row } of facts.accesses) {
        if (
          row.queries.some(({ order }) => order.some(({ path }) => path === '_ts')) &&
          facts.accesses.some(
            (other) => other.detail === facts.detail(row.containers[0]) && other.row.operations.includes('batch'),
          )
        )
          yield { message: `Row ${row.printed} orders by _ts, which documents of one batch share`, at: row.at };
      }
    },
  },
  {
    id: 'F11',
    title: 'No multi-region writes under projections',
    severity: 'error',
    source: SOURCES.microsoft('Conflict types and resolution policies'),
    why: 'With several write regions a document’s versions have no one order, and a condition on an ETag holds in its region only; Millrace refuses such accounts. Without projections it is a warning: conflicts need a policy.',
    mend: 'Write in one region, read in several.',
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
      for (const { text: words, label, at } of where) {
        const found = multi.exec(words) ?? multi.exec(label ?? '');
        const denied =
          /\b(no|not|never|without|disabled|off|single)\b[^.;:]{0,40}(multi[- ](region|master)|multiple write)|multi[- ]region writes?\W{0,4}(no|off|disabled|false|none|not)\b/i.test(
            `${label ?? ''} ${words}`,
          );
        if (found && !denied)
          yield {
            severity: facts.rows.length > 0 ? 'error' : 'warning',
            message: `${found[0]}: versions of a document then have no one order${facts.rows.length > 0 ? ', and projections need it' : ''}`,
            at,
          };
      }
    },
  },
];
