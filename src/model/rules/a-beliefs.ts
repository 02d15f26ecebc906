// A18: sentences that are false of every account: partitions, transactions, joins, the feed, autoscale, sizes.
import type { Design } from '../documents.ts';
import type { Place } from '../model.ts';
import { textAround } from './said.ts';
import { saying } from './service.ts';
import type { Facts } from './facts.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, together } from './rule.ts';

interface Belief {
  readonly claim: RegExp;
  /** Words with which the sentence is true, or isn't about this. */
  readonly unless?: RegExp;
  readonly truth: string;
  /** Words of the lines around it, with which the sentence is about this. */
  readonly beside?: RegExp;
  /** The false sentence is itself a denial. */
  readonly denies?: true;
}

const LIMITED = String.raw`(?:max\w*|limit\w*|up to|at most|cap(?:s|ped|acity)?|supports?|can hold|holds|exceeds?)`;

const BELIEFS: readonly Belief[] = [
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
      /\b(?:single|each|one|every)\b[^.|]{0,60}\blogical partition\b[^.|]{0,90}\b(?:multiple|several|one or more|more than one|many) physical partitions?\b/i,
    unless: /hierarch|sub-?partition/i,
    truth: 'A logical partition lies in one physical partition, which gives it 10,000 RU/s',
  },
  {
    claim: /\bjoins?\b[^.|]{0,30}\b(?:within|in|to) (?:the |a )?(?:same|single|one) (?:logical )?partition\b/i,
    truth: 'A JOIN stays within one document; it doesn’t combine documents, also not those of one partition',
  },
  {
    claim:
      /\b(?:enables?|supports?|allows?|efficient)\b[^.|]{0,60}\b(?:join\w*\b[^.|]{0,40}\b(?:across|between|multiple|several|different|with)\b|cross-(?:container|collection) joins?)/i,
    unless:
      /\b(?:application|client|code|memory|synapse|spark|manual|sql server|relational|within (?:a|one|the same) document)\b/i,
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
      /\bstored procedures?\b[^.|]{0,60}\b(?:across|over|all|multiple) (?:partitions|partition keys|containers)\b/i,
    truth: 'A stored procedure runs in one logical partition of one container',
  },
  {
    claim: /\bchange feed\b[^.|]{0,60}\bexactly[- ]once\b/i,
    unless: /\bidempoten|at[- ]least[- ]once/i,
    truth: 'The change feed delivers at least once',
  },
  {
    claim: /\bchange feed\b[^.|]{0,60}\b(?:global|globally|total|strict) order/i,
    unless: /\bper partition|each partition|within a partition/i,
    truth: 'The change feed has an order only within a partition key',
  },
  {
    // The readers of one value aren't two, but as many as ask at that time.
    claim:
      /\b(?:two|both|concurrent|simultaneous)\b[^.|]{0,60}\bread\w*\b[^.|]{0,40}\bsame (?:count|value|number|counter|balance)\b[^.|]{0,60}\b(?:one|a single) (?:extra|more|additional)\b/i,
    truth:
      'As many requests as run at the same time read the same count, not two: an atomic increment (a patch) or an ETag stops them',
  },
  {
    claim: /\bautoscale\b[^.|]{0,40}\b(?:down )?to (?:zero|0)\b(?! ?%)/i,
    truth: 'Autoscale goes down to a tenth of its maximum, and bills that',
  },
  {
    claim:
      /\bpartition key\b[^.|]{0,30}\bcan be (?:changed|updated|modified) (?:later|afterwards|at any time|anytime)\b/i,
    truth: 'The partition key of a container is fixed when it is created, and the value in a document too',
  },
  {
    claim: /\b(?:document|item)s?\b[^.|]{0,40}\b(?:max\w*|limit\w*|up to)\b[^.|]{0,20}\b(?:4|16) ?MB\b/i,
    unless: /\bmongo/i,
    truth: 'A document has at most 2 MB',
  },
  {
    claim:
      /\b(?:storage|size|limit)\b[^.|]{0,20}\bper partition\b[^.|]{0,50}\b50 ?GB\b|\b(?:maximum|max\.?) partition (?:size|storage)\b[^.|]{0,20}\b50 ?GB\b/i,
    unless: /\bphysical/i,
    truth: 'A value of the partition key has at most 20 GB; 50 GB is what a physical partition holds',
  },
  {
    claim:
      /\bunlimited (?:scal\w+|storage|growth|size|throughput|data)\b[^.|]{0,30}\b(?:per|for (?:each|every|a)|within (?:a|each|one)) (?:tenant|customer|user|organi[sz]ation|company|(?:logical )?partition)\b/i,
    unless: /\b(?:hierarch|sub-?partition|database per|container per|account per)/i,
    truth: 'A value of the partition key is one logical partition, with 20 GB and 10,000 RU/s',
  },
  {
    claim:
      /\bparallel (?:quer\w+|reads|execution|processing)\b[^.|]{0,20}\bwithin (?:a |each |one |the )?(?:tenant|customer|(?:logical )?partition)\b/i,
    truth: 'A logical partition lies in one physical partition, so a query in it isn’t spread',
  },
  {
    claim: /\bsession consistency\b[^.|]{0,40}\b(?:strong|immediate|strict) (?:data |read )?consistency\b/i,
    unless: /\b(?:own writes|within (?:a|the|its) session|instead|rather|vs)\b/i,
    truth: 'Session consistency shows a client its own writes; others may read older versions',
  },
  {
    claim:
      /\bno (?:ACID|multi-(?:document|item)) transactions?\b|\b(?:doesn['’]t|does not) support (?:ACID|multi-(?:document|item)) transactions?\b/i,
    unless: /\b(?:across|between|over|cross|containers?|partitions?)\b/i,
    denies: true,
    truth: 'Documents of one partition key are written in one transaction, by a transactional batch',
  },
  {
    claim: /\b(?:no|without) (?:additional|extra) RUs?\b[^.|]{0,40}\breplica/i,
    denies: true,
    truth: 'The throughput is provisioned and billed in each region, and a read there takes RU of it',
  },
  {
    claim:
      /\bcontinuous backups?\b[^.|]{0,30}\b(?:by default|the default)\b|\bbackups?\b[^.|]{0,20}\bdefault:? (?:\d+[- ]days? )?continuous\b/i,
    truth: 'An account has periodic backup unless continuous backup is chosen',
  },
  {
    claim: /\bmillions? (?:of )?RU\/s\b|\b\d+ ?M RU\/s\b[^.|]{0,12}(?:\$|free)/i,
    unless: /\b(?:scal\w+|throughput|up to|support\w*|handle\w*)\b/i,
    truth: 'RU/s is a rate; a serverless account bills the RU that requests take',
  },
  {
    claim:
      /\b(?:reads?|writes?|operations?|requests?)\b\W{0,6}[~≈]?\$ ?\d[\d.]*(?: USD)? (?:per|\/) ?(?:1 )?(?:million|M) (?:operations?|requests?|reads?|writes?)\b/i,
    unless: /\b(?:functions?|storage account|blob|api management|event (?:hub|grid)s?|service bus|signalr)\b/i,
    truth:
      'Requests are billed by their RU, not by their number: a read of 1 KB takes 1 RU, and a write about 5 or more',
  },
  {
    claim:
      /\$ ?\d[\d.,]* (?:por|pro|par) (?:1 )?(?:mill[oó]n(?:es)?|milh[aã]o|million) (?:de |d['’])?(?:operaciones|opera[cç][oõ]es|opérations)\b/i,
    unless: /\b(?:functions?|storage account|blob|event (?:hub|grid)s?|service bus|signalr)\b/i,
    truth: 'Serverless is billed by the RU that requests take, and a request takes one or many',
  },
  {
    claim:
      /\bchange feed\b[^.|;]{0,30}\b(?:is|are|comes?) (?:for )?(?:free\b(?! of)|at no (?:extra |additional )?cost|without (?:extra |additional )?costs?)/i,
    denies: true,
    truth: 'Reading the feed takes RU: each poll, each page, and the leases',
  },
  {
    claim: /^\s*["']?_ts["']?\s*[:=]\s*(?:Date\.now|Math\.|new Date|int\(|time\.|datetime|DateTime)/,
    truth: 'The service sets _ts at each write; a value that the application writes is replaced',
  },
  {
    claim: /\/id\b[`*\s]{0,4}\([^)|]{0,20}\bsingle partition\b/i,
    truth: 'With the key /id each document is a logical partition of its own',
  },
  {
    claim:
      /\b(?:independent|separate|individual) backups? (?:per|for each|of each) (?:tenant|database|container)|\bbackups? (?:independientes|separados) por (?:tenant|database|base)/i,
    truth: 'Backup is a setting of the account, and has all its databases',
  },
  {
    claim:
      /\b(?:no|lacks?|without|(?:doesn['’]t|does not|not) (?:have|support|offer|provide))\b (?:any )?(?:built-in |native )?full-?text (?:search|index\w*)\b/i,
    unless: /\b(?:mongo\w*|table api|cassandra|gremlin|emulator|yet|sqlite|this (?:phase|version)|mvp)\b/i,
    denies: true,
    truth: 'A container with a full-text policy and index has FULLTEXTCONTAINS, and FULLTEXTSCORE ranks by BM25',
  },
  {
    claim:
      /\bautomatic(?:ally)? retr(?:y|ies|ied)\b[^.|]{0,30}\bchange feed\b|\bchange feed\b[^.|]{0,40}\b(?:automatic(?:ally)? retr(?:y|ies)|retries automatically)\b/i,
    unless: /\b(?:retry polic\w+|maxRetryCount|fixed_?delay|exponential|rethrow\w*|throws?)\b/i,
    truth:
      'The trigger goes on with the next page when the function returns; without a retry policy also when it throws',
  },
  {
    claim:
      /\b(?:ceiling|limit|maximum|minimum|range|constraint|rule|invariant|reject\w*|[≤≥].{0,40})\b[^.|]{0,60}\b(?:at|by|in) the (?:data|database|storage) (?:layer|level)\b(?! code)|\breject\w* at the (?:data|database|storage) (?:layer|level)\b/i,
    unless:
      /\b(?:unique\w*|repositor\w+|data access|service|application|throughput|RU\/s|tenant|isolat\w+|row[- ]level|stored procedure|trigger|sql|postgres\w*)\b/i,
    truth: 'Cosmos DB checks no values: beside the id, the key and unique keys, each program can write anything',
  },
  {
    claim:
      /\b(?:create|insert|upsert|update|replace|writes?|delete)s?\b(?:(?!\b(?:read|get|quer\w+|RUs?)\b)[^.|;,\d]){0,40}[:=–—(-]\W{0,6}~?1(?:\.0)? RUs?\b(?!\/s)/i,
    unless: /\b(?:feed|poll|lease)\b/i,
    truth:
      'A write of 1 KB takes about 5 RU or more, and the more properties are indexed; 1 RU is a point read of 1 KB',
  },
  {
    claim: /\bauto-?pause\b/i,
    unless: /\b(?:sql (?:database|server)|azure sql|postgres\w*|synapse|databricks|cluster)\b/i,
    truth: 'Cosmos DB doesn’t pause; a serverless account costs its storage alone without requests',
  },
  {
    claim: /\bNormalizedRUConsumption\b[^|]{0,12}>=?\s*(?:[2-9]\d\d|1[1-9]\d|10[1-9]|\d{4,})/i,
    truth: 'NormalizedRUConsumption is a percentage, and never above 100',
  },
  {
    claim: /\bTotalRequestUnits?\b/,
    beside: /\b\d+ ?% of\b[^\n]{0,30}(?:\d{3}|max|provisioned|RU\/s)/i,
    truth: 'TotalRequestUnits is a sum over the window of the alert, not RU/s: NormalizedRUConsumption shows the share',
  },
  {
    claim: /\bindexing(?:_?mode)?["'`]?\s*[:=]\s*["'`]lazy\b/i,
    denies: true,
    truth: 'New containers can’t have lazy indexing, and with it queries miss documents: write consistent or none',
  },
  {
    claim:
      /\b(?:ensur\w+|support\w*|enabl\w+|guarante\w+|provid\w+|enforc\w+)\b[^.|]{0,40}\b(?:data )?(?:sovereignty|residency)\b/i,
    unless: /\b(?:region\w*|accounts?|geo\w*|country)\b/i,
    beside: /\bpartition(?:ing|ed|s| key)?\b/i,
    truth: 'A partition key doesn’t decide where data lies: all data of an account is in each of its regions',
  },
  {
    claim: /\bpoint[- ]reads?\b\W{0,3}(?:(?:quer(?:y|ies)|lookups?)\s+)?by (?:the |only the )?partition key\b/i,
    unless: /\bids?\b/i,
    truth: 'A point read names the id and the partition key; by the key alone it is a query',
  },
  {
    claim: /\bcomposite ind(?:ex|exes|ices)\b[^.|`]{0,30}`ORDER BY (?:c\.)?\w+(?: (?:ASC|DESC))?`/i,
    truth: 'An ORDER BY of one property needs the range index of it, and no composite index',
  },
];

/** So many lines around a sentence show what it is about. */
const [ABOVE, BELOW] = [4, 3];

const DENIED =
  /\b(no|not|never|without|instead of|rather than|unlike|avoid\w*|would|isn['’]t|doesn['’]t|don['’]t|can['’]?t|cannot|unsupported)\b/i;

interface Said {
  readonly text: string;
  readonly at: Place;
}

/** Each line, without the dots that end no sentence. */
const sentencesIn = (design: Design): Said[] =>
  saying(design, /./).map(({ text, at }) => ({ text: text.replaceAll(/\b(?:e\.g|i\.e)\.,?/g, ''), at }));

/** The lines that claim it, and deny it neither in the claim nor in the sentence before it. */
const claimed = (lines: readonly Said[], { claim, denies }: Belief): Said[] =>
  lines.filter(({ text }) => {
    const found = claim.exec(text);
    if (!found || denies) return found !== null;
    const before =
      text
        .slice(0, found.index)
        .split(/[.;](?!\d)/)
        .at(-1) ?? '';
    return !DENIED.test(`${before} ${found[0]}`);
  });

/** Keys by which documents of different types never share a partition. */
const BY_TYPE = /^\/(?:type|collection|entityType|entity_type|docType|documentType|kind)$/;
const OVER_TYPES =
  /\btransaction\w*\b[^.|]{0,60}\b(?:different|several|multiple|all) (?:document |entity )?(?:types|collections|entities|kinds)\b/i;

function* overTypes(design: Design, { containers }: Facts): Iterable<RuleResult> {
  const [only, ...others] = containers;
  if (!only || others.length > 0 || !BY_TYPE.test(only.container.partitionKey.join())) return;
  for (const { at, text } of saying(design, OVER_TYPES))
    if (!DENIED.test(text))
      yield {
        message: `With the key ${only.container.partitionKey.join()} each type is a partition of its own, and a transaction has one partition`,
        at,
        related: [only.container.places.partitionKey ?? only.container.at],
      };
}

export const BELIEFS_OF_SERVICE: readonly Rule[] = [
  {
    id: 'A18',
    title: 'What the document says of partitions, transactions, joins and the feed is true of Cosmos DB',
    severity: 'error',
    source: SOURCES.microsoft('Partitioning and horizontal scaling in Azure Cosmos DB'),
    why: 'A design that rests on a false sentence fails when it is built: a JOIN over documents is refused, a transaction over partitions too, and a logical partition is full at 20 GB (ASM-E121, ASM-E130, ASM-E132). Others cost more than was planned: the change feed takes RU, and serverless is billed by RU (ASM-E143). The trigger of a function doesn’t repeat a page (ASM-E157), and no value is checked (ASM-E158). Lazy indexing can’t be chosen for new containers (ASM-E154). The rule reads single sentences. It passes over those that deny the claim.',
    hint: 'Correct the sentence, and what rests on it.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const { design } = facts;
      if (!design) return;
      const lines = sentencesIn(design);
      for (const belief of BELIEFS) {
        const { unless, beside, truth } = belief;
        yield* together(
          claimed(lines, belief).filter(
            ({ text, at }) =>
              !unless?.test(text) && (!beside || beside.test(textAround(design, at.line, ABOVE, BELOW))),
          ),
          truth,
        );
      }
      yield* overTypes(design, facts);
    },
  },
];
