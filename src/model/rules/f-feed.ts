// F: the guarantees of the change feed, against the assumptions of the projections.
import type { Design, ProjectionRow, Reference } from '../documents.ts';
import type { SourceLine } from '../model.ts';
import { duration } from '../reader/text/quantity.ts';
import type { Facts } from './facts.ts';
import { fencedIn } from './fenced.ts';
import { type Found, type Need, type Rule, DESIGN, SOURCES, missing, n, part, together } from './rule.ts';

const MODES = SOURCES.microsoft('Change feed modes in Azure Cosmos DB');
const PROJECTIONS: Need = {
  what: 'projections (section "Change Feed Projections")',
  there: ({ rows }) => rows.length > 0,
};
const text = (row: ProjectionRow): string => `${row.keyText} ${row.fieldsText} ${row.deletes} ${row.start}`;

const durationText = (ms: number): string =>
  ms >= 172_800_000 ? `${n(ms / 86_400_000)} d` : ms >= 3_600_000 ? `${n(ms / 3_600_000)} h` : `${n(ms / 1000)} s`;

/** The longest time without a reader of the feed: `- **Outage planned for**: 7 days`; a day if nothing is stated. */
function outage(facts: Facts): { ms: number; stated: boolean } {
  const piece = facts.prose.find(({ label }) => /outage|downtime|中断/i.test(label ?? ''));
  const ms = piece && duration(piece.text);
  return ms === undefined ? { ms: 86_400_000, stated: false } : { ms, stated: true };
}

interface Life {
  readonly ms: number;
  readonly what: string;
  readonly at: SourceLine;
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

/** Deletes that the feed doesn't show. */
function* unmarked(facts: Facts): Iterable<Found> {
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
}

const ADDS = /\+=|\bincrement|\bcounter\b|累加/i;
const GUARDED = /contribution|version guard|idempot|guard|exactly[- ]once|dedup/i;

/** Whether a program of a fence reads the change feed. */
const READS_FEED = /change[- _]?feed|cosmosDBTrigger/i;
const SENDS =
  /\b(?:await )?(?:[\w.]*\.)?(?:send|push|notify|publish)(?:Push|Email|Sms|Notification|Message|Alert)\w*\(/i;
const COUNTS =
  /\bop["']?\s*:\s*["']incr|\b(?:await )?(?:[\w.]*\.)?(?:update|increment|add)(?:Realtime|Daily|Usage)?(?:Metrics|Counters?|Stats|Statistics|Totals?)\w*\(/i;
const SAFE =
  /\bidempoten|\bdedup|\bduplicate|\balready (?:sent|processed|handled)|\bprocessed(?:Events|Changes|Ids)?\b|\bexactly once\b|\bat[- ]least[- ]once\b|\betag\b|\bmessage ?id\b|\bevent ?id\b|\boutbox\b/i;

/** Calls that send or count in a program below a change feed, without anything that makes a repetition harmless. */
const repeatedIn = ({ lines, file, headings }: Design): { readonly at: SourceLine }[] =>
  fencedIn(lines).flatMap(({ begin, block }) =>
    [headings.findLast(({ at }) => at.line <= begin)?.text ?? '', ...block].some((line) => READS_FEED.test(line)) &&
    !block.some((line) => SAFE.test(line))
      ? block.flatMap((line, index) =>
          SENDS.test(line) || COUNTS.test(line) ? [{ at: { file, line: begin + 2 + index } }] : [],
        )
      : [],
  );

export const FEED: readonly Rule[] = [
  {
    id: 'F1',
    title: 'Changes are read before they expire, and deletes are marked',
    source: `${SOURCES.feed}; ${MODES}`,
    why: 'An expired document leaves the feed, and a change that was not read before is lost. The rule adds the projection’s lag and the longest outage. It fails if a document lives no longer than this sum, and warns below twice the sum. A bullet states the outage (`- **Outage planned for**: 7 days`); the default is a setting, one day. The latest-version feed shows no deletes and no expiry either, so a document that is deleted stays in every copy and sum, unless the application sets a marker and a ttl instead.',
    hint: 'Make the TTL longer, or plan for a shorter outage.',
    needs: [PROJECTIONS],
    *check(facts) {
      yield* part(unmarked(facts), 'error', 'Replace the delete by a marker (`deletedAt`) and a ttl.');
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
    id: 'F12',
    title: 'What a reader of the feed counts or sends may come twice',
    source: SOURCES.feed,
    why: 'The feed delivers a change at least once, and doesn’t show the document before it. A counter that each change increments counts twice after a redelivery, and can’t subtract the old value; a push is sent twice. The rule reads rows of projections that add without a guard, and programs in fences that send or count below a change feed; it passes over those that name what makes a repetition harmless.',
    hint: 'Store the contribution of each source document beside the total, and replace it: a projection of the kind `aggregate` does so. Send with a key that the receiver knows again, such as the id and version of the document.',
    needs: [DESIGN],
    *check({ rows, design }) {
      for (const row of rows)
        if (ADDS.test(text(row)) && !GUARDED.test(text(row)))
          yield {
            message: `${row.name} adds without a guard, so a change that the feed returns twice counts twice`,
            at: row.at,
          };
      for (const found of together(
        design ? repeatedIn(design) : [],
        'The feed may deliver a change again, and then this happens twice',
      ))
        yield { severity: 'warning', ...found };
    },
  },
];
