// E11 and E12: pages that read what they skip, and searches of text without an index for them.
import type { Design } from '../documents.ts';
import type { Place } from '../model.ts';
import { fieldsIn } from './facts.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';
import { linesSaying, wordsOf } from './said.ts';
import { saying } from './service.ts';

/** A first page alone skips nothing. */
const SKIPS =
  /\bOFFSET\s+(?:@\w+|\$?\{\w|[1-9]\d*\b)[^;]{0,40}\bLIMIT\b|\boffset[- ]based\b|\boffset pag(?:es|ing|ination)\b|\bpaginat\w+ (?:by|with|using) `?offset|[?&]page=\d+&(?:limit|size|page_?size)=/i;
const LIMITED = /\bmax_?item_?count\b\s*[:=]|\bMaxItemCount\s*=/i;
const FETCHES_ALL = /\.fetchAll\(/;
/** So many lines below its size a page is fetched. */
const BELOW = 6;

/** `maxItemCount: limit` above `.fetchAll()`: the limit is of a page, and all pages are read. */
const endlessIn = (design: Design): { at: Place }[] =>
  linesSaying(design, LIMITED).flatMap(([line]) => {
    const fetched = design.lines.slice(line - 1, line + BELOW).findIndex((text) => FETCHES_ALL.test(text));
    return fetched < 0
      ? []
      : [{ at: { file: design.file, line: line + fetched } }, { at: { file: design.file, line } }];
  });

/** A page with a number, of a known number of pages. */
const NUMBERED =
  /^\s*["'`]?(?:page|page_?(?:number|index|no)|current_?page)["'`]?\??\s*:|\bint\??\s+(?:Page|PageNumber|CurrentPage)\b/;
const PAGES_IN_ALL = /^\s*["'`]?(?:total_?pages|page_?count)["'`]?\??\s*:|\bint\??\s+(?:TotalPages|PageCount)\b/i;
/** Both are fields of one type. */
const BESIDE = 6;

function numberedIn(design: Design): { text: string; at: Place }[] {
  const numbers = linesSaying(design, NUMBERED);
  return linesSaying(design, PAGES_IN_ALL).flatMap(([line, text]) =>
    numbers.some(([other]) => Math.abs(other - line) <= BESIDE) ? [{ text, at: { file: design.file, line } }] : [],
  );
}

const AVOIDED = /\b(?:avoid\w*|not|never|instead of|rather than|bad|anti-?pattern|don['’]t|expensive|vs\.?)\b/i;

const FULL_TEXT = /\bfull[- ]text (?:search|quer|index)/i;
const ELSEWHERE =
  /\b(?:ai|cognitive|azure) search\b|\belastic|\bopensearch|\balgolia|\bmeilisearch|\btypesense|\blucene|\bfull[- ]?text[- ]?(?:polic|index(?:es)?\b)|\bFULLTEXT(?:CONTAINS|SCORE)/i;
/** An address with the words that a reader looks for. */
const BY_ADDRESS = /\b(?:GET|get)\b[^|]{0,80}\/\w|\/api\//;
const WORDS = /[?&](?:q|query|search|keyword|text)=/i;
const SCANS = /\bCONTAINS\(/;
/** Whatever answers a search by words. */
const SERVED = new RegExp(
  String.raw`${ELSEWHERE.source}|\b(?:CONTAINS|STARTSWITH|RegexMatch|VectorDistance)\(|\bvector search|\bprefix search`,
  'i',
);
const UNDECIDED = /\b(?:no|not|future|later|consider|could|phase|without|planned|optional|if)\b/i;

export const PAGES: readonly Rule[] = [
  {
    id: 'E11',
    title: 'Pages continue by a token or a value, not by an offset',
    severity: 'warning',
    source: SOURCES.microsoft('Pagination in Azure Cosmos DB for NoSQL'),
    why: 'OFFSET reads all documents that it skips: each page costs more than the one before it, and a write between two pages shifts the rest (ASM-E128). A continuation token, or a condition such as `c.createdAt < @last`, reads the page alone. The rule reads SQL whose offset isn’t 0, sentences about pages by offset, addresses with a page’s number (`?page=2&limit=12`), and types with the number of a page and of all pages, which need a COUNT of all too. It also reads `maxItemCount` above `fetchAll()`, which returns everything.',
    hint: 'Return the continuation token with the page, or filter by the last value of the sort order.',
    needs: [DESIGN],
    *check({ design }): Iterable<RuleResult> {
      if (!design) return;
      const all = [...saying(design, SKIPS), ...numberedIn(design)];
      const endless = endlessIn(design);
      yield* together(endless, 'fetchAll reads all pages: maxItemCount is the size of one page, and no limit');
      if (all.length + endless.length === 0) {
        yield missing('pages by an offset');
        return;
      }
      yield* together(
        all.filter(({ text }) => !AVOIDED.test(text)),
        'A page by OFFSET reads all that it skips',
      );
    },
  },
  {
    id: 'E12',
    title: 'A full-text search has a full-text policy and index, or another service',
    severity: 'warning',
    source: SOURCES.microsoft('Full-text search in Azure Cosmos DB for NoSQL'),
    why: 'A range index finds equal values and beginnings. Words within a text need a full-text policy of the container, a full-text index and FULLTEXTCONTAINS (ASM-E129). CONTAINS goes through the values of the property’s index instead, and its charge grows with their number. The rule reads sentences about a full-text search, in documents with a query by CONTAINS or with a field in the sentence, that name neither such a policy nor another search service. It also reads addresses such as `GET /api/files?q=` with the word search, in a document in which nothing answers them.',
    hint: 'State the full-text policy and index of the container, or the service that searches.',
    needs: [DESIGN],
    *check({ design, containers }): Iterable<RuleResult> {
      if (!design) return;
      const scans = linesSaying(design, SCANS);
      // Without a query, a field that the sentence names shows that these documents are meant.
      const fields = new Set(containers.flatMap(({ container }) => [...fieldsIn(container)]));
      const isMeant = (text: string): boolean =>
        scans.length > 0 || [...text.matchAll(/`(\w+)`/g)].some(([, name = '']) => fields.has(name));
      const all = saying(design, FULL_TEXT).filter(({ text }) => !UNDECIDED.test(text) && isMeant(text));
      const asked = linesSaying(design, WORDS).filter(
        ([, text]) =>
          BY_ADDRESS.test(text) && /\bsearch/i.test(text) && !UNDECIDED.test(text.replace(/\boptional\b/i, '')),
      );
      const searches = asked.map(([line]) => ({ at: { file: design.file, line } }));
      if (containers.length > 0 && linesSaying(design, SERVED).length === 0)
        yield* together(searches, `No index, no query and no service answers a search: ${wordsOf(design, searches)}`);
      const [first] = all;
      if (!first && asked.length > 0) return;
      if (!first) {
        yield missing('a full-text search');
        return;
      }
      if (linesSaying(design, ELSEWHERE).length === 0)
        yield* together(
          all,
          'A full-text search is stated, and no full-text policy and index',
          scans.map(([line]) => ({ ...first.at, line })),
        );
    },
  },
];
