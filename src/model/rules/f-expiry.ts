// F13 and F14: what expiry and a restarted reader lose.
import { linesOf } from './declared.ts';
import { type Rule, DESIGN, SOURCES, missing } from './rule.ts';

const EXPIRY = String.raw`\b(?:ttl|time to live|expir(?:y|e|es|ation))\b`;
const ARCHIVES = new RegExp(`${EXPIRY}[^.|]{0,60}\\barchiv|\\barchiv\\w*[^.|]{0,60}${EXPIRY}`, 'i');
/** Words for something that copies the document before it expires. */
const COPIED =
  /\bfeed\b|\bbefore\b|\bexport|\bcop(y|ied)|\bsweep|\bblob|\bsynapse|\banalytical store|\bfunction|\bjob\b|\bnot?\b|\bor\b|\binstead\b|\bmoved?\b/i;

/** A transition of a drawing: the states are apart, and something else may bring a document from one into the next. */
const STATES = /--?>|→/;

const FROM_NOW =
  /\bstartTime:\s*new Date\(\)|ChangeFeedStartFrom\.Now\(|\bstart_time\s*=\s*["']Now["']|StartFrom\.now\(|WithStartTime\(DateTime\.(Utc)?Now/i;

export const EXPIRES: readonly Rule[] = [
  {
    id: 'F13',
    title: 'Expired documents are archived before they expire',
    severity: 'error',
    source: SOURCES.microsoft('Time to Live (TTL) in Azure Cosmos DB'),
    why: 'TTL deletes. It moves nothing anywhere, and the latest-version feed doesn’t show the deletion. A design that says "archived by TTL" loses the documents. The rule accepts a sentence that names what copies them before, and a projection of the kind archive.',
    hint: 'Declare an archive, which copies documents and then lets them expire. Or write "deleted" instead of "archived".',
    needs: [DESIGN],
    *check({ design, rows, containers, annotations }) {
      if (!design) return;
      // Somebody has read the document and found no TTL: then a period is over, and something else archives.
      const isTtl =
        annotations === undefined ||
        annotations.of('container').some(({ ttl }) => ttl !== undefined && ttl !== 'off') ||
        annotations.of('retention').some(({ by }) => by === 'ttl') ||
        /\bttl\b|time[- ]to[- ]live/i.test(design.lines.join('\n'));
      if (!isTtl) return;
      const archives = rows
        .filter(({ kind }) => kind === 'archive')
        .map(({ source }) => source?.container.toLowerCase());
      const spans = containers
        .filter(({ container }) => !archives.includes(container.name.toLowerCase()))
        .map((detail) => linesOf(design, detail));
      // Where there is an archive, only the sections of other containers are certain to mean something else.
      const isOwn = (line: number): boolean =>
        archives.length === 0 || spans.some(({ from, to }) => line >= from && line < to);
      const [first, ...others] = design.lines.flatMap((line, index) =>
        ARCHIVES.test(line) && !COPIED.test(line) && !STATES.test(line) && !line.startsWith('#') && isOwn(index + 1)
          ? [{ file: design.file, line: index + 1 }]
          : [],
      );
      if (first) yield { message: 'TTL deletes these documents; it doesn’t archive them', at: first, related: others };
    },
  },
  {
    id: 'F14',
    title: 'A reader of the feed continues where it stopped',
    severity: 'error',
    source: SOURCES.microsoft('Change feed pull model in Azure Cosmos DB'),
    why: 'A reader that starts at the current time misses the documents that exist, and after each restart it misses the changes since it stopped. The rule reads code in the document: `startTime: new Date()`, `ChangeFeedStartFrom.Now()`. It accepts code that has a lease container or stores a continuation.',
    hint: 'Use the change feed processor, or store the continuation token and start from it. Begin with the existing documents.',
    needs: [DESIGN],
    *check({ design }) {
      const lines = design?.lines ?? [];
      const found = lines.flatMap((line, index) => (FROM_NOW.test(line) ? [index] : []));
      if (!lines.some((line) => /change ?feed/i.test(line))) {
        yield missing('code that reads the change feed');
        return;
      }
      for (const index of found) {
        const near = lines.slice(Math.max(0, index - 15), index + 25).join('\n');
        if (!/\blease|continuation(Token)?\b\s*[:=]|saveContinuation|storeContinuation/i.test(near))
          yield {
            message: 'A reader of the feed starts now each time, so it misses all changes before it starts',
            at: { file: design?.file ?? '', line: index + 1 },
          };
      }
    },
  },
];
