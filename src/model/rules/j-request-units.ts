// J47 and J49: what the document says that requests cost, and what a limit that it states means for what grows.
import { type Annotations, fieldOf, same } from '../annotations/annotations.ts';
import {
  type MergedType,
  accessesTo,
  alike,
  describedType,
  linesOf,
  plain,
  typesIn,
} from '../annotations/described.ts';
import { listed } from '../annotations/merged.ts';
import { isExisting } from '../annotations/scale.ts';
import type { Place } from '../model.ts';
import {
  type Found,
  type Rule,
  type RuleResult,
  ANNOTATIONS,
  SOURCES,
  hinted,
  missing,
  n,
  quoted,
  together,
} from './rule.ts';

const HOUR = 3600;
type Line = { readonly at: Place; readonly text: string };
const linesSaying = ({ lines, file }: Annotations, words: RegExp): Line[] =>
  lines.flatMap((text, index) => (words.test(text) ? [{ text, at: { file, line: index + 1 } }] : []));

/** `1,440,000 operations/hour` beside 400 RU/s: one RU for each. */
function* oneEach(annotations: Annotations): Iterable<Found> {
  const rates = annotations.of('throughput').filter(({ ru }) => ru !== undefined);
  const all = rates.flatMap((rate) => {
    const hourly = new RegExp(
      String.raw`\b${n((rate.ru ?? 0) * HOUR)}\b[^|]{0,20}\b(?:operations?|ops|requests?|reads?|writes?)\b`,
      'i',
    );
    return linesSaying(annotations, hourly).map(({ at }) => ({ at, rate }));
  });
  const [first] = all;
  if (!first) return;
  const ru = first.rate.ru ?? 0;
  yield* hinted(
    together(
      all,
      `${n(ru * HOUR)} operations an hour of ${n(ru)} RU/s count one RU for each. That is a point read of 1 KB: an indexed write takes 5 RU and more, and a query 3 and more, so the capacity and the share that is used are several times off`,
      [first.rate.at],
    ),
    `Count RU: reads × their RU + writes × 6 or more, and compare with ${n(ru)} RU/s at the peak.`,
  );
}

const LESS_TTL = /\b(?:reduc|lower|shorten|decreas)\w*\s+(?:the\s+|its\s+)?(?:ttl|time[- ]to[- ]live)\b/i;

function* ttlForLoad(annotations: Annotations): Iterable<Found> {
  const all = linesSaying(annotations, LESS_TTL).filter(
    ({ text }) => /\bRUs?(?:\/s)?\b|\bthroughput\b|\bthrottl/i.test(text) && !/\bstorage\b/i.test(text),
  );
  yield* hinted(
    together(
      all,
      `A shorter TTL is the answer to RU use (${linesOf(all)}). TTL reduces storage. Writes and point reads cost the same, and the deletions take RU as well, so the load stays`,
    ),
    'Reduce writes (fewer or larger documents, fewer indexed paths) and queries without the key, or raise the throughput.',
  );
}

/** A number of a vector as JSON. */
const DIGITS = 15;
const STATED = /(?:~|≈|about |around )?\b(\d+(?:\.\d+)?)\s*RUs?\b(?!\/s)/i;

function* vectors(annotations: Annotations): Iterable<Found> {
  const dimensions = Math.max(
    0,
    ...linesSaying(annotations, /\b\d{3,4}[- ]?(?:d\b|dim)/i).map(({ text }) =>
      Number(/\b(\d{3,4})[- ]?(?:d\b|dim)/i.exec(text)?.[1] ?? 0),
    ),
  );
  if (dimensions < 500) return;
  const vectorOf = (types: readonly MergedType[]): string | undefined =>
    types
      .flatMap(({ type, fields }) =>
        fields
          .filter(
            ({ path, types: sorts }) => sorts.some((one) => one.type === 'vector') || /vector|embedding/i.test(path),
          )
          .map(({ path }) => `${type}.${path}`),
      )
      .at(0);
  const all = annotations
    .of('access')
    .filter(({ operation }) => operation === 'point-read')
    .flatMap((access) => {
      const own = describedType(annotations, access.type);
      const container = annotations.containerOf(access);
      const field = vectorOf(own ? [own] : container === undefined ? [] : typesIn(annotations, container));
      const ru = Number(STATED.exec(annotations.lines[access.at.line - 1] ?? '')?.[1] ?? Number.NaN);
      return field !== undefined && ru <= 1.5 ? [{ access, at: access.at, ru, field }] : [];
    });
  const [first] = all;
  if (!first) return;
  const kb = Math.round((dimensions * DIGITS) / 1000);
  yield* hinted(
    together(
      all,
      `${listed(all.map(({ access }) => `"${quoted(access.name)}"`))} for ${n(first.ru)} RU: a document with ${first.field}, a vector of ${n(dimensions)} numbers, is about ${n(kb)} KB as JSON, and 1 RU is a point read of 1 KB. The read takes several RU, and the write far more, because the vector index changes too`,
    ),
    `Count with the size of the whole document, and keep ${first.field} in a document of its own where reads don’t need it.`,
  );
}

/** RU for each KB that a query reads and returns, at least. */
const PER_KB = 0.1;
const KB = 1000;
const SLOW = 2;

/** Reads of all of a partition, by the size that the text allows, against the throughput. */
function* wholePartitions(annotations: Annotations): Iterable<Found> {
  const strong = annotations
    .of('setting')
    .find(({ setting, value }) => setting === 'consistency' && /strong|bounded/i.test(String(value)));
  for (const container of annotations.containers) {
    const key = annotations.keyOf(container)?.map(fieldOf) ?? [];
    const sizes = annotations.of('scale').filter(
      (one) =>
        one.totalBytes !== undefined &&
        (one.container === undefined || same(one.container, container)) &&
        // Less than the whole key has several partitions, and a request reads one.
        (one.within === undefined ||
          key.every((part) => one.within?.some((path) => alike(part, path) || plain(path) === 'id'))),
    );
    const rates = annotations
      .of('throughput')
      .filter(
        ({ ru, of, name, mode }) =>
          ru !== undefined &&
          mode !== 'limit' &&
          (of === 'container'
            ? name === undefined || same(name, container)
            : of === 'database' || annotations.containers.length === 1),
      );
    const reads = accessesTo(annotations, container).filter(
      ({ operation, equals, ranges = [], returns, paged, aim, often, type }) =>
        operation === 'query' &&
        (type === undefined || typesIn(annotations, container).length === 1) &&
        returns !== 'count' &&
        returns !== 'one' &&
        aim !== 'maintenance' &&
        often !== 'rarely' &&
        paged !== true &&
        ranges.length === 0 &&
        equals.every((path) => key.some((part) => alike(part, path))),
    );
    const [size] = sizes.toSorted((a, b) => (b.totalBytes ?? 0) - (a.totalBytes ?? 0));
    const ru = Math.max(0, ...rates.map((one) => one.ru ?? 0));
    if (!size || reads.length === 0 || ru === 0) continue;
    const cost = ((size.totalBytes ?? 0) / KB) * PER_KB * (strong ? 2 : 1);
    if (cost / ru < SLOW) continue;
    yield* hinted(
      together(
        reads,
        `${listed(reads.map(({ name }) => `"${quoted(name)}"`))} ${reads.length === 1 ? 'reads' : 'read'} all of a partition of ${container}, up to ${n((size.totalBytes ?? 0) / 1e6)} MB (line ${size.at.line}). That is ${n(cost)} RU and more${strong ? ` at ${String(strong.value)} consistency, which doubles reads` : ''}, and ${n(ru)} RU/s (${linesOf(rates.filter((one) => one.ru === ru).slice(0, 1))}) take ${n(cost / ru)} seconds for it. Long before the limit every request waits or gets 429`,
        [size, ...rates.slice(0, 1), ...(strong ? [strong] : [])].map(({ at }) => at),
      ),
      'Read the documents that a request needs by id or by type, or keep a summary; and set the limit by what the throughput reads in a second.',
    );
  }
}

const READS = /\b(?:reads?|reading|quer(?:y|ies)|look-?ups?|gets?|views?|searches)\b/i;
const WRITES =
  /\b(?:writes?|writing|updates?|inserts?|creates?|upserts?|ingest\w*|events?|messages?|readings|documents?|orders?|reservations?|appends?)\b/i;
/** What a write, or a read, of 1 KB takes at least. */
const [WRITE, READ] = [5, 1];
/** Below that the figures are rounded. */
const MORE = 1.2;

/** Stated rates of requests, at the least that each takes, against the most that is planned. */
function* tooMany(annotations: Annotations): Iterable<Found> {
  for (const container of annotations.containers) {
    const most = annotations
      .of('throughput')
      .filter(
        ({ ru, of, name, mode, environment }) =>
          ru !== undefined &&
          mode !== 'serverless' &&
          environment === undefined &&
          (of !== 'container' || name === undefined || same(name, container)),
      )
      .toSorted((a, b) => (b.ru ?? 0) - (a.ru ?? 0));
    const loads = annotations
      .of('scale')
      .filter(
        (one) =>
          one.perSecond !== undefined &&
          one.environment === undefined &&
          (one.within ?? []).length === 0 &&
          same(annotations.containerOf(one), container) &&
          (READS.test(one.words) || WRITES.test(one.words)),
      );
    const [top] = most;
    // A word of both is counted as what costs less.
    const largest = (isRead: boolean): (typeof loads)[number] | undefined =>
      loads
        .filter(({ words }) => READS.test(words) === isRead)
        .toSorted((a, b) => (b.perSecond ?? 0) - (a.perSecond ?? 0))[0];
    const [reads, writes] = [largest(true), largest(false)];
    const need = (reads?.perSecond ?? 0) * READ + (writes?.perSecond ?? 0) * WRITE;
    if (!top?.ru || need <= MORE * top.ru) continue;
    const parts = [
      ...(writes ? [`${n(writes.perSecond ?? 0)} writes a second (line ${writes.at.line}) of ${WRITE} RU`] : []),
      ...(reads ? [`${n(reads.perSecond ?? 0)} reads a second (line ${reads.at.line}) of ${READ} RU`] : []),
    ];
    yield* hinted(
      together(
        [writes, reads].filter((one) => one !== undefined),
        `${container}: ${listed(parts)} and more, the least for 1 KB, take ${n(need)} RU/s, and the most that is planned is ${n(top.ru)} RU/s (line ${top.at.line}). The rest gets 429, and the costs are counted too low`,
        [top.at],
      ),
      `Count the RU of each request by its size and its indexed paths, and plan and price at least ${n(need)} RU/s for the peak; what a cache answers, leave out, and say so.`,
    );
  }
}

const REFUSES = /\b(?:errors?|fails?|failing|reject\w*|refus\w*|throws?|stops?)\b/i;

const isForever = (annotations: Annotations, type: string): boolean =>
  annotations.of('retention').some((one) => one.forever === true && same(one.type, type));

/** A stated number of documents at which reads or writes end in an error, and types that only grow. */
function* reached(annotations: Annotations): Iterable<Found> {
  const limits = annotations
    .of('scale')
    .filter(
      ({ documents, totalBytes, at, bounded, words }) =>
        (documents !== undefined || totalBytes !== undefined) &&
        (bounded === true || /\bmax|\blimit|\bbound|\bat most\b|\bcap/i.test(words)) &&
        REFUSES.test(annotations.lines[at.line - 1] ?? ''),
    );
  for (const [container, own] of Map.groupBy(
    limits,
    (one) =>
      annotations.containerOf(one) ?? (annotations.containers.length === 1 ? annotations.containers[0] : undefined),
  )) {
    if (container === undefined || isExisting(annotations, { container })) continue;
    const growing = typesIn(annotations, container).filter(
      ({ type, purposes }) =>
        !purposes.has('reference') &&
        annotations
          .of('access')
          .some(
            (one) =>
              ['create', 'upsert', 'batch'].includes(one.operation) && (same(one.type, type) || one.type === undefined),
          ) &&
        !annotations.of('retention').some((one) => same(one.type, type) && one.seconds !== undefined),
    );
    const isKept = annotations
      .of('retention')
      .some((one) => one.by === 'ttl' || one.by === 'job' || one.by === 'archive');
    // Those that are kept for ever come first.
    growing.sort((a, b) => Number(isForever(annotations, b.type)) - Number(isForever(annotations, a.type)));
    if (growing.length === 0 || isKept) continue;
    const text = listed(
      own.map(({ documents, totalBytes }) =>
        documents === undefined ? `${n((totalBytes ?? 0) / 1e6)} MB` : `${n(documents)} documents`,
      ),
      'or',
    );
    yield* hinted(
      together(
        own,
        `At ${text} requests to ${container} end in an error (${linesOf(own)}), and nothing removes or archives ${listed(growing.map(({ type }) => type).slice(0, 4))}. When the number is reached, everything stops, and there is no way back under it`,
      ),
      `Say how ${container} stays below the limit: archive or delete what is old, and warn before it is reached.`,
    );
  }
}

export const REQUEST_UNITS: readonly Rule[] = [
  {
    id: 'J47',
    title: 'Stated costs of requests and their remedies are those of the service',
    severity: 'warning',
    source: SOURCES.microsoft('Request Units in Azure Cosmos DB'),
    why: '1 RU is a point read of 1 KB. A capacity that counts one RU for each operation is several times too high, and so is 1 RU for a document with an embedding, which is 20 to 30 KB as JSON (ASM-E165). A shorter TTL frees storage and no RU. The rule compares the throughput of annotations with numbers of operations in the text, and stated RU of point reads with vectors in the document.',
    hint: 'Count the RU by the size of the document and the kind of the request.',
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      if (annotations.of('throughput').length + annotations.of('access').length === 0)
        yield missing('throughput or an access in an annotation');
      yield* oneEach(annotations);
      yield* ttlForLoad(annotations);
      yield* vectors(annotations);
    },
  },
  {
    id: 'J49',
    title: 'What grows stays below the limits that the document states',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'A limit of documents or bytes that ends in an error is a date at which the application stops, if nothing keeps the data below it. And a size that one request may read must fit the throughput: 32 MB are some thousand RU, which 400 RU/s give in ten seconds. A stated rate of requests takes 1 RU a read and 5 RU a write at least. The rule compares the sizes and rates that annotations state with reads of a whole partition, the throughput, the consistency and the retention.',
    hint: 'Keep the data below the limit, and set the limit by the throughput.',
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      if (annotations.of('scale').length === 0) yield missing('a size or a number of documents in an annotation');
      yield* tooMany(annotations);
      yield* wholePartitions(annotations);
      yield* reached(annotations);
    },
  },
];
