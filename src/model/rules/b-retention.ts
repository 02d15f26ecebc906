// B25: documents that become more every day, in a text that says nothing of their end.
import type { ContainerDetail, Design } from '../documents.ts';
import { endlessIn } from './b-endless.ts';
import { MARKED } from './f-removed.ts';
import { isForATime } from './f-temporary.ts';
import { type Facts, examplesIn, fieldsIn, valueAt } from './facts.ts';
import { fieldsOf } from './fields.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';
import { isSaid, linesSaying, textAround } from './said.ts';

/** Things of which use makes more, and which nobody deletes one by one. */
const ACCUMULATES =
  /^(?:audits?|logs?|events?|activit(?:y|ies)|telemetry|histor(?:y|ies)|notifications?|readings?|metrics?|measurements?|messages?|transcripts?|chats?|conversations?|communications?|interactions?|visits?|clicks?|views|searches|jobs?|runs?|executions?|operations?|requests?|submissions?|snapshots?|alerts?|incidents?|scans?|crawls?|emails?|mails?|attempts?|analytics|feeds?|outbox|availability)$/;
/** A document for each person or kind, though it is called like what accumulates. */
const STANDING =
  /^(?:preferences?|settings?|templates?|configs?|configurations?|types?|definitions?|leases?|schemas?)$/;
const OF_A_DAY = /^\/(?:date|day|month|year_?month|week|bucket|(?:event|log|created)_?(?:date|day|month))$/i;

/** Any word about an end, wherever the document has it. */
const ENDS =
  /\bTTL\b|time[- ]to[- ]live|default_?ttl|"ttl"|\bretention|\bretain|\bpurg(?:e|ing)|\barchiv(?:e|al|ing)\b|\bclean[- ]?ups?\b|\bexpir(?:y|e|es|ed|ation) (?:of )?(?:documents?|items?|data)|\bdata lifecycle|\b(?:delet|remov|prun)\w+[^.|]{0,40}\b(?:after|older|old)\b|\bolder than\b|\b(?:kept|keep|stored|preserved?)\b[^.|]{0,30}\b(?:for ?ever|permanent\w*|indefinite\w*|\d+ (?:days|months|years))|\bimmutable\b|\bappend[- ]only\b|\bevent[- ]?(?:sourc\w+|stores?)\b|保存期間|保持期間|保留|retenci[oó]n|reten[cç][aã]o|conservaci[oó]n|Aufbewahrung/i;
/** The end of something else. */
const OF_OTHERS =
  /backup|バックアップ|log analytics|app(?:lication)? insights|\bblob|\bcache|\bredis|resource group|\btest|\btoken|\bcookie|\bsas\b|certificate|\bkey vault|\bsecret/i;

const words = (name: string): string[] =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split(/[-_ ]/);

/** Fields that mark a document as deleted. */
const MARK = /^(?:is_?|soft_?)?deleted(?:_?(?:at|on|date|by))?$/i;

/** An event may be one of a calendar. */
const EVENTS = /^events?$/i;
const TRACKED = /\b(?:log\w*|track\w*|audit\w*|telemetry|analytics|stream\w*|record\w*|event_?type)\b/i;

const isAccumulating = (design: Design, detail: ContainerDetail): boolean => {
  const { name, partitionKey } = detail.container;
  const named = words(name);
  if (EVENTS.test(name) && !isSaid(design, detail, TRACKED)) return false;
  return (
    !named.some((word) => STANDING.test(word)) &&
    (named.some((word) => ACCUMULATES.test(word)) || OF_A_DAY.test(partitionKey[0] ?? ''))
  );
};

/** Nothing but the mark ends them. Sentences about a soft delete have a rule of their own. */
const isOnlyMarked = (facts: Facts, design: Design, detail: ContainerDetail): boolean =>
  linesSaying(design, MARKED).length === 0 && fieldsOf(facts, detail).some(({ field }) => MARK.test(field));

const saysAnEnd = (design: Design): boolean => linesSaying(design, ENDS).some(([, text]) => !OF_OTHERS.test(text));

/** `ttl` of a document: seconds, or for ever. */
function lifeOf(one: Readonly<Record<string, unknown>>): number {
  const { ttl } = one;
  return typeof ttl === 'number' && ttl > 0 ? ttl : Infinity;
}

/** Documents of one partition of which the parent, whose id is the key, stays when its children go, or the reverse. */
function* parted(facts: Facts): Iterable<RuleResult> {
  for (const { container } of facts.containers) {
    const [key = ''] = container.partitionKey;
    const all = examplesIn(container).filter((one) => typeof valueAt(one, key) === 'string');
    const isParent = (one: (typeof all)[number]): boolean => valueAt(one, key) === one['id'];
    const parent = all.find(isParent);
    const child = all.find((one) => !isParent(one));
    if (key === '/id' || !parent || !child || lifeOf(parent) === lifeOf(child)) continue;
    const ends = lifeOf(parent) > lifeOf(child);
    yield {
      message: `${container.name}: the documents of one ${key.slice(1)} expire${ends ? '' : ' never'}, and the one that they belong to ${ends ? 'stays without them' : 'expires'}`,
      at: facts.field(parent, 'ttl', container.at),
      related: [facts.field(child, 'ttl', container.at)],
      hint: 'Give both the same ttl, and write the parent again with each child, so that its time begins again.',
    };
  }
}

const STATED =
  /\b(?:retention(?: period)?|retain(?:ed)?|kept|keep|stored|append-only|recoverable)\b[^.|]{0,30}\b\d+[- ](?:day|month|year)s?\b|\b\d+[- ](?:day|month|year)s? (?:of )?retention\b/i;
/** What does it: a TTL, or a program that deletes. */
const DOES =
  /\bTTL\b|time[- ]to[- ]live|default_?ttl|"ttl"|\blifecycle polic|\b(?:timer|schedul\w+|cron\w*|nightly|jobs?|functions?|sweep\w*|workers?|tasks?|scripts?)\b[^.|]{0,60}\b(?:delet|remov|purg|prun|clean|archiv)|\b(?:delet|remov|purg|prun|clean|archiv)\w*\b[^.|]{0,60}\b(?:timer|schedul\w+|cron\w*|nightly|jobs?|functions?|sweep\w*|workers?|tasks?|scripts?)\b/i;

/** The retention of backups stands in a list below that word. */
const ABOVE = 4;

/** A retention in words, and nothing that ends a document. */
function* undone(design: Design, isEnded: boolean): Iterable<RuleResult> {
  if (isEnded || linesSaying(design, DOES).some(([, text]) => !OF_OTHERS.test(text))) return;
  const stated = linesSaying(design, STATED).filter(
    ([line, text]) => !OF_OTHERS.test(text) && !/\bbackups?\b/i.test(textAround(design, line, ABOVE, 0)),
  );
  yield* together(
    stated.map(([line]) => ({ at: { file: design.file, line } })),
    'A retention is stated, and no TTL, job or deletion ends the documents',
  );
}

/** Small, or meant to stay. */
const SMALL = /daily|weekly|monthly|yearly|stats|statistic|analytics|summar/i;
const STAYS = /expir|permanent|for ?ever|indefinite|durable|complian|\blegal|\btax\b|\bkeep|\bkept/i;

/** Others have a TTL, and neither its section nor a line with its name speaks of an end. */
const isForgotten = ({ containers }: Facts, design: Design, detail: ContainerDetail): boolean =>
  containers.some(({ container }) => (container.defaultTtl ?? 0) > 0) &&
  detail.container.defaultTtl === undefined &&
  !fieldsIn(detail.container).has('ttl') &&
  !SMALL.test(detail.container.name) &&
  ![ENDS, STAYS].some((said) => isSaid(design, detail, said));

export const RETENTION: readonly Rule[] = [
  {
    id: 'B25',
    title: 'A document that designs what accumulates says how long it is kept',
    severity: 'warning',
    source: SOURCES.microsoft('Time to Live (TTL) in Azure Cosmos DB'),
    why: 'Events, messages, logs, jobs and the documents of past days become more every day. Without a TTL or a deletion they are stored, indexed and billed for ever, queries over them become dearer, and personal data among them is kept without a reason (ASM-E140). The rule knows such containers by their names, by a key that is a day, and by a field that only marks a document as deleted. It is silent if any sentence of the document speaks of a TTL, a retention, an archive or a cleanup; where some containers have a TTL, it asks for those that no sentence about an end names. It also compares the `ttl` of documents in one partition: messages that expire leave their session behind, with a count that is wrong. And it finds a retention in words that no TTL, job or deletion carries out.',
    hint: 'State beside each container how long its documents are kept, and set `defaultTtl` to that. Or write that they stay, and why.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const { design } = facts;
      if (!design) return;
      const others = new Set([
        ...endlessIn(facts),
        ...facts.containers.filter((detail) => detail.derived || isForATime(facts, detail)),
      ]);
      const all = facts.containers.filter(
        (detail) => isAccumulating(design, detail) || isOnlyMarked(facts, design, detail),
      );
      if (all.length === 0) yield missing('a container whose documents accumulate');
      const isEnded = facts.containers.some(
        ({ container }) => container.defaultTtl !== undefined || fieldsIn(container).has('ttl'),
      );
      yield* parted(facts);
      yield* undone(design, isEnded);
      const silent = !isEnded && !saysAnEnd(design);
      const open = all.filter((detail) => !others.has(detail) && (silent || isForgotten(facts, design, detail)));
      yield* together(
        open.map((detail) => ({ at: facts.place(detail, 'partitionKey') })),
        `${open.map(({ container }) => container.name).join(', ')}: no sentence says how long the documents are kept, and nothing ends them`,
        open.map(({ container }) => container.at),
      );
    },
  },
];
