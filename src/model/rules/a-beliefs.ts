// A18: false beliefs about the service. The only rule that reads sentences.
import type { Design, Prose } from '../documents.ts';
import type { SourceLine } from '../model.ts';
import { type Rule, DESIGN, SOURCES, together } from './rule.ts';

interface Belief {
  readonly claim: RegExp;
  readonly truth: string;
  /** Words with which the sentence is true, or isn't about this. */
  readonly unless?: RegExp;
  /** The false sentence is itself a denial, or says what isn't needed. */
  readonly denies?: true;
}

const LIMITED = String.raw`(?:max\w*|limit\w*|up to|at most|cap(?:s|ped|acity)?|supports?|can hold|holds)`;

export const BELIEFS: readonly Belief[] = [
  {
    claim: new RegExp(
      String.raw`\bphysical partitions?\b(?:(?!logical)[^.;|]){0,60}\b${LIMITED}\b(?:(?!logical)[^.;|]){0,30}\b(?:10|20) ?GB\b|\b(?:10|20) ?GB\b(?:(?!logical)[^.;|]){0,20}\b(?:per|each|a) physical partition`,
      'i',
    ),
    truth: 'A physical partition holds 50 GB; 20 GB is the limit of a logical one',
  },
  {
    claim: new RegExp(
      String.raw`\blogical partitions?\b(?:(?!physical)[^.;|]){0,60}\b${LIMITED}\b(?:(?!physical)[^.;|]){0,30}\b(?:50|100) ?GB\b|\b(?:50|100) ?GB\b(?:(?!physical)[^.;|]){0,20}\b(?:per|each|a) logical partition`,
      'i',
    ),
    truth: 'A logical partition holds at most 20 GB; 50 GB is what a physical one holds',
  },
  {
    claim:
      /\b(?:single|each|one|every|a)\b[^.|]{0,60}\blogical partition\b[^.|]{0,90}\b(?:multiple|several|one or more|more than one|many) physical partitions?\b/i,
    unless: /hierarch|sub-?partition/i,
    truth: 'A logical partition lies in one physical partition, which gives it 10,000 RU/s',
  },
  {
    claim:
      /\bunlimited (?:scal\w+|storage|growth|size|throughput|data)\b[^.|]{0,30}\b(?:per|for (?:each|every|a)|within (?:a|each|one)) (?:tenant|customer|user|organi[sz]ation|company|(?:logical )?partition)\b/i,
    unless: /\b(?:hierarch|sub-?partition|database per|container per|account per)/i,
    truth: 'A value of the partition key is one logical partition, with 20 GB and 10,000 RU/s',
  },
  {
    claim: /\bjoins?\b[^.|]{0,30}\b(?:within|in|to) (?:the |a )?(?:same|single|one) (?:logical )?partition\b/i,
    truth: 'A JOIN stays within one document; it doesn’t combine documents, also not those of one partition',
  },
  {
    claim:
      /\b(?:enables?|supports?|allows?|efficient)\b[^.|]{0,60}\b(?:join\w*\b[^.|]{0,40}\b(?:across|between|multiple|several|different)\b|cross-(?:container|collection) joins?)/i,
    unless:
      /\b(?:application|client|code|memory|synapse|spark|manual|sql server|relational|postgres\w*|within (?:a|one|the same) document)\b/i,
    truth: 'A JOIN stays within one document; it doesn’t combine documents or containers',
  },
  {
    claim:
      /\bcross-(?:container|partition) transactions?\b|\b(?:transactions?|transactional batch\w*|atomic\w*)\b[^.|]{0,40}\b(?:across|over|between|spanning) (?:multiple |several |different |all )?(?:containers|partitions|partition keys)\b/i,
    unless: /\b(?:same|single|one) (?:logical )?partition\b|\b(?:saga|outbox|compensat|eventual)/i,
    truth: 'A transaction has the documents of one partition key in one container',
  },
  {
    claim:
      /\bno (?:ACID|multi-(?:document|item)) transactions?\b|\b(?:doesn['’]t|does not) support (?:ACID|multi-(?:document|item)) transactions?\b/i,
    unless: /\b(?:across|between|over|cross|containers?|partitions?)\b/i,
    denies: true,
    truth: 'Documents of one partition key are written in one transaction, by a transactional batch',
  },
  {
    claim:
      /\bstored procedures?\b[^.|]{0,60}\b(?:across|over|all|multiple) (?:partitions|partition keys|containers)\b/i,
    truth: 'A stored procedure runs in one logical partition of one container',
  },
  {
    claim: /\bchange feed\b[^.|]{0,60}\bexactly[- ]once\b/i,
    unless: /\bidempoten|\bat[- ]least[- ]once/i,
    truth: 'The change feed delivers at least once',
  },
  {
    claim: /\bchange feed\b[^.|]{0,60}\b(?:global|globally|total|strict) order/i,
    unless: /\b(?:per|each|a|one) (?:logical )?partition|\bpartition key/i,
    truth: 'The change feed has an order only within a partition key',
  },
  {
    claim:
      /\bchange feed\b[^.|]{0,40}\b(?:captures?|shows?|emits?|detects?|receives?|publishes|contains|includes)\b[^.|]{0,30}\b(?:TTL|expir\w+|delet\w+)\b/i,
    unless: /\ball[- ]versions\b|\b(?:soft|logical)\b|\bmark|\bdeletedAt\b/i,
    truth: 'The latest-version feed shows neither deletes nor what TTL deletes',
  },
  {
    claim:
      /\bchange feed\b[^.|;]{0,30}\b(?:is|are|comes?) (?:for )?(?:free\b(?! of)|at no (?:extra |additional )?cost|without (?:extra |additional )?costs?)/i,
    denies: true,
    truth: 'Reading the feed takes RU: each poll, each page, and the leases',
  },
  {
    claim:
      /\bTTL\b[^.|]{0,60}\bonly\b[^.|]{0,30}\b(?:new|future)\b[^.|]{0,15}\b(?:writes?|documents?|items?|records?)\b/i,
    truth: 'A TTL of the container also expires documents that exist, by the time of their last change',
  },
  {
    claim: /\bTTL\b[^.|]{0,60}(?:\bis free\b|\(free\)|\bfor free\b|\b(?:0|zero) RUs?\b)/i,
    truth: 'Deletion by TTL takes RU: what requests leave over, and in a serverless account as much as a delete',
  },
  {
    claim:
      /\b(?:TTL|time to live|expired?)\b[^.;|]{0,60}\b(?:physically|permanently|immediately|instantly|at once)\b[^.;|]{0,30}\b(?:delet|remov|purg|gone|eras)|\b(?:TTL|expired?)\b[^.;|]{0,60}\b(?:delet|remov|purg|eras)\w*[^.;|]{0,20}\b(?:immediately|instantly|physically|at once)\b/i,
    unless: /\b(?:later|hidden|hides?)\b/i,
    truth: 'An expired document is hidden immediately, but deleted later, when RU are unused',
  },
  {
    claim: /\bautoscale\b[^.|]{0,40}\b(?:down )?to (?:zero|0)\b(?! ?%)/i,
    truth: 'Autoscale goes down to a tenth of its maximum, and bills that',
  },
  {
    claim: /\bpartition key\b[^.|]{0,30}\bcan be (?:changed|updated|modified)\b(?! only by)/i,
    truth: 'The partition key of a container is fixed when it is created, and the value in a document too',
  },
  {
    claim: /\b(?:document|item)s?\b[^.|]{0,40}\b(?:max\w*|limit\w*|up to)\b[^.|]{0,20}\b(?:4|16) ?MB\b/i,
    unless: /\bmongo/i,
    truth: 'A document has at most 2 MB',
  },
  {
    claim: /\bsession consistency\b[^.|]{0,40}\b(?:strong|immediate|strict) (?:data |read )?consistency\b/i,
    unless: /\b(?:own writes|within (?:a|the|its) session|instead|rather|vs)\b/i,
    truth: 'Session consistency shows a client its own writes; others may read older versions',
  },
  {
    claim: /\b(?:no|without) (?:additional|extra) (?:RUs?|throughput|costs?)\b[^.|]{0,40}\b(?:replica|region)/i,
    denies: true,
    truth: 'The throughput is provisioned and billed in each region, and a read there takes RU of it',
  },
  {
    claim: /\bserverless\b[^.|]{0,60}\b(?:multi-?region|multiple regions|several regions|geo-?replicat\w*)/i,
    truth: 'A serverless account has one region',
  },
  {
    claim: /\bserverless\b[^.|]{0,60}\bguarantee\w*\b[^.|]{0,40}\b(?:latency|throughput)/i,
    truth: 'A serverless container guarantees neither latency nor throughput',
  },
  {
    claim: /[$€£]\s?0\.0\d*\s*(?:\/|per )\s*RU\b(?!\/s)[^.|]{0,20}\bhour/i,
    truth: 'This price for one RU an hour is a hundred times too high: it is the price of 100 RU/s an hour',
  },
  {
    claim:
      /\b(?:each|a|every|one) query\b[^.|;]{0,30}\bcosts?:? (?:only |about )?[~≈]?(?:1|one) RU\b(?! per (?:document|item|KB))/i,
    truth: 'A query costs at least 2 RU; only a point read of 1 KB costs 1',
  },
  {
    claim: /\bpoint[- ]reads?\b\W{0,3}(?:(?:quer(?:y|ies)|lookups?)\s+)?by (?:the |only the )?partition key\b/i,
    unless: /\bids?\b/i,
    truth: 'A point read names the id and the partition key; by the key alone it is a query',
  },
  {
    claim: /\bcomposite ind(?:ex|ices)\w*\b[^.;|]{0,60}\b(?:unique|uniqueness|prevents? duplicates?)\b/i,
    truth: 'A composite index makes nothing unique; a unique key does, within one value of the partition key',
  },
];

const DENIED =
  /\b(?:no|not|never|none|nor|neither|nobody|nothing|without|instead of|rather than|unlike|avoid\w*|unsupported|cannot|wrong\w*|false\w*|untrue|myth\w*|mistak\w*|misread\w*|misconception)\b|n['’]t\b/i;
/** A question, or what would be. */
const SUPPOSED =
  /\b(?:if|unless|whether|would|could|might|should|suppose\w*|assum\w+|imagin\w+|hypothetic\w*|what-if|had we|were (?:the|a|we|it))\b|\?/i;
const PAST =
  /\b(?:was|were|had|did|used to|until|before|formerly|previously|earlier|originally|old|legacy|last (?:year|month|week)|prototype|draft|in (?:19|20)\d\d)\b/i;
/** Somebody's words. */
const REPORTED =
  /\b(?:said|says|wrote|writes|asked|asks|claim(?:s|ed)?|thinks?|thought|believe[sd]?|promise[sd]?|told|heard|rumou?r\w*|quot\w+|slide|leaflet|brochure|wiki|blog|ticket|according to)\b/i;
const IN_QUOTES = /"[^"]*"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|‘[^’]*’(?!\w)|(?<!\w)'[^']*'(?!\w)|`[^`]*`/g;
/** Takes back the sentence before it. */
const TAKEN_BACK =
  /^\W*(?:that|this|it|which|the answer|we)\b.{0,40}(?:\b(?:wrong|false|no|not|never|myth|mistake|untrue|dropped|rejected|removed)\b|n['’]t\b)|^\W*(?:no|not so|wrong|false|but)\b/i;

interface Sentence {
  readonly text: string;
  readonly next: string;
  readonly at: SourceLine;
}

/** Sentences of paragraphs, items and cells, without what is quoted. */
function sentencesOf({ lines }: Design, { text, label, at }: Prose): Sentence[] {
  const plain = `${label === undefined ? '' : `${label}: `}${text}`.replaceAll(
    /\b(?:e\.g|i\.e|approx|max|min)\./gi,
    ' ',
  );
  const all = plain.replaceAll(IN_QUOTES, ' ').split(/(?<=[.!?;])\s+(?=\S)/);
  return all.map((sentence, index) => ({
    text: sentence,
    next: all[index + 1] ?? '',
    at: { ...at, line: lineOf(lines, at.line, sentence) },
  }));
}

/** A paragraph has no more lines. */
const LONGEST = 20;

/** The line of a paragraph in which the sentence begins. */
function lineOf(lines: readonly string[], first: number, sentence: string): number {
  const begin = sentence.trim().split(/\s+/).slice(0, 3).join(' ');
  const offset = lines.slice(first - 1, first - 1 + LONGEST).findIndex((line) => line.includes(begin));
  return first + Math.max(0, offset);
}

/** Whether the sentence asserts the belief: it isn't denied, quoted, past or supposed. */
function asserts({ text, next }: Sentence, { claim, unless, denies }: Belief): boolean {
  const found = claim.exec(text);
  if (!found || unless?.test(text)) return false;
  const rest = denies ? text.replace(found[0], ' ') : text;
  return ![DENIED, SUPPOSED, PAST, REPORTED].some((words) => words.test(rest)) && !TAKEN_BACK.test(next);
}

export const BELIEFS_OF_SERVICE: readonly Rule[] = [
  {
    id: 'A18',
    title: 'What the document says of partitions, transactions, joins, the feed and TTL is true of Cosmos DB',
    severity: 'warning',
    source: SOURCES.microsoft('Partitioning and horizontal scaling in Azure Cosmos DB'),
    why: 'A design that rests on a false sentence fails when it is built: a JOIN over documents is refused, a transaction over partitions too, and a logical partition is full at 20 GB (ASM-E121, ASM-E130, ASM-E132). Others cost more than was planned: the change feed takes RU (ASM-E143), and so does deletion by TTL (ASM-E112). A serverless container guarantees no latency (ASM-E110). The rule has a table of false beliefs, and reads single sentences. It passes over a sentence that denies the belief, quotes it, tells of the past, or supposes.',
    hint: 'Correct the sentence, and what rests on it.',
    needs: [DESIGN],
    *check({ design }) {
      if (!design) return;
      const sentences = design.prose.flatMap((piece) => sentencesOf(design, piece));
      for (const belief of BELIEFS)
        yield* together(
          sentences.filter((sentence) => asserts(sentence, belief)),
          belief.truth,
        );
    },
  },
];
