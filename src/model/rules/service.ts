// A16, B21 and F15: what documents say of the service must be true of it.
import type { Design } from '../documents.ts';
import type { Place } from '../model.ts';
import { cheapIn, eitherIn } from './autoscale.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, n, together } from './rule.ts';

const DENIED =
  /\b(no|not|never|without|instead of|rather than|unlike|vs\.?|isn['’]t|doesn['’]t|don['’]t|can['’]?t|cannot)\b/i;

/** Lines that say something, without headings. */
export const saying = ({ lines, file }: Design, words: RegExp): { text: string; at: Place }[] =>
  lines.flatMap((text, index) =>
    text.length <= 600 && !text.startsWith('#') && words.test(text) ? [{ text, at: { file, line: index + 1 } }] : [],
  );

/** The account is serverless: not one of several environments, and no alternative. */
const SERVERLESS =
  /\bserverless\b\W{0,4}(mode|account|capacity|container|tier|billing)|\b(capacity mode|mode|tier)\b\W{1,6}(?:select\W{1,3})?serverless|EnableServerless/i;
const CHOSEN_ELSEWHERE =
  /\b(dev|development|test|testing|staging|alternative|option|consider|future|later|could|or provisioned)\b/i;
const REGIONS =
  /\b(multi-?region|multiple regions|several regions|active-active|multi-?master|geo-?replicat\w*|read replicas?|globally replicated|database (?:is )?replicated|replicat\w+ (?:the )?(?:data )?across (?:multiple )?regions|m[uú]ltiplas regi(?:ões|ones))\b|\bm[uú]ltiples regiones\b|\bexpand to \w+ regions|\b(?:automatic|regional) fail-?over\b/i;
/** Another service's, or a person's Azure account's. */
const ELSEWHERE =
  /\bAzure (?:free )?account\b|\b(?:app service|static web app|functions|redis|sql server|ai search|active users|authentication|entra|b2c)\b/i;

/** What a serverless account hasn't; each with the words that claim it. */
const NOT_SERVERLESS: readonly { readonly claim: RegExp; readonly truth: string }[] = [
  { claim: REGIONS, truth: 'A serverless account has one region' },
  {
    claim:
      /\bguarantee\w*\b[^.]{0,40}\b(latency|millisecond|throughput)|\b(latency|throughput)\b[^.]{0,20}\bguarantee/i,
    truth: 'A serverless container guarantees neither latency nor throughput',
  },
  {
    claim:
      /\bfree[- ]tier\b|\bfirst \d+ ?GB\b\W{0,3}(?:of storage )?(?:is |are )?\bfree\b|\b(?:1,?000 RU\/s|25 ?GB)(?:\W{1,3}(?:y|e|and|et|und|of storage))?(?: [\d$,]+ ?(?:RU\/s|GB))?\W{1,3}(?:for free|gratis|gr[aá]tis|gratuit\w*|kostenlos)\b/i,
    truth: 'The free tier isn’t offered for a serverless account',
  },
  { claim: /\bserverless\b[^.|]{0,60}\b50 ?GB\b/i, truth: 'A serverless container holds 1 TB, not 50 GB' },
  {
    claim: /\b99\.999 ?%/,
    truth: '99.999 % takes several regions, and a serverless account has one',
  },
  {
    claim: /^\s*--(?:max-)?throughput\s+\d|\bdedicated throughput\b|\bthroughput dedicado\b/i,
    truth: 'A serverless container takes no throughput',
  },
  {
    claim: /\b5,?000 RU\/s per (operation|request|query)/i,
    truth: '5,000 RU/s is the limit of a serverless container, not of a request',
  },
];

/** Plans, options and settings that are off claim nothing. */
const PLANNED =
  /\b(one|single) region\b|\boption \d|\bevaluate|\bif\b|\brevisit\b|\bwe (?:want|need|grow)\b|^\s*[-*] \[ \]|\bfuture\b|\bfalse\b|\b(?:disabled|off|none|n\/a)\b/i;

/** False sentences about TTL; each with the words that claim it. */
const TTL: readonly { readonly claim: RegExp; readonly truth: string; readonly severity: 'error' | 'warning' }[] = [
  {
    claim: /\bTTL\b[^.|]{0,60}\bonly\b[^.|]{0,30}\b(new|future)\b[^.|]{0,15}\b(writes?|documents?|items?|records?)\b/i,
    truth: 'A TTL of the container also expires documents that exist, by the time of their last change',
    severity: 'error',
  },
  {
    claim:
      /\b(TTL|time to live|expir\w+)\b[^.]{0,80}\b(change feed|feed) (shows?|emits?|captures?|publishes|contains|includes|receives)\b|\bchange feed\b[^.|]{0,40}\b(captures?|shows?|emits?|detects?|receives?|triggers? on)\b[^.|]{0,30}\b(TTL|expir\w+|delet\w+)\b/i,
    truth: 'The latest-version feed shows neither deletes nor what TTL deletes',
    severity: 'error',
  },
  {
    claim:
      /\bTTL\b[^|]{0,100}\bfor free\b|\bTTL\b[^.]{0,60}(\bis free\b|\(free\)|\b(0|zero) RUs?\b)|\b(0|zero) RUs?\b[^.]{0,60}\bTTL\b/i,
    truth: 'Deletion by TTL takes RU: what requests leave over, and in a serverless account as much as a delete',
    severity: 'warning',
  },
];

/** What they say that a TTL can't do, and it can. */
const SAME_FOR_ALL =
  /\b(?:cannot|can['’]t|can not|unable to)\b[^.|]{0,30}\b(?:different|separate|own|individual)\b[^.|]{0,20}\b(?:TTL|time[- ]to[- ]live)\b[^.|]{0,30}\b(?:per|for each|by) (?:collection|type|document|item|entity|kind)\b/i;

const throughputOf = (word: string): RegExp =>
  new RegExp(String.raw`^[^\d|]{0,12}\b${word}\w*\b[^\d|]{0,20}\bRU(?:\/s)?\b\D{0,8}(\d[\d,]*)`, 'i');
const LEAST = throughputOf('min');
const MOST = throughputOf('max');

/** `Minimum RU/s: 400` above `Maximum RU/s: 1,000`, beside a word about autoscale; each with a least that isn't a tenth. */
function rangesOf({ lines, file }: Design): { low: number; high: number; at: Place; maximum: Place }[] {
  const figure = (line: string | undefined, form: RegExp): number | undefined => {
    const [, digits] = (line?.includes('RU') ? form.exec(line) : null) ?? [];
    return digits === undefined ? undefined : Number(digits.replaceAll(',', ''));
  };
  return lines.flatMap((line, index) => {
    const low = figure(line, LEAST);
    const high = low === undefined ? undefined : figure(lines[index + 1], MOST);
    if (low === undefined || high === undefined || low * 10 === high) return [];
    const near = lines.slice(Math.max(0, index - 3), index + 5).join('\n');
    return /auto-?scale/i.test(near)
      ? [{ low, high, at: { file, line: index + 1 }, maximum: { file, line: index + 2 } }]
      : [];
  });
}

export const SERVICE: readonly Rule[] = [
  {
    id: 'A16',
    title: 'What the document says of a serverless account is true of one',
    severity: 'error',
    source: SOURCES.microsoft('Azure Cosmos DB serverless account performance'),
    why: 'A serverless account has one region, at most 1 TB and 5,000 RU/s or more for a container, no throughput that is set, and no guarantee of latency (ASM-E98, ASM-E110, ASM-E111). A design that needs one of these needs provisioned throughput.',
    hint: 'Choose autoscale, or delete the sentence.',
    needs: [DESIGN],
    *check({ design, containers, annotations }): Iterable<RuleResult> {
      if (!design) return;
      // Another mode is for another size, time or environment, and the sentence may be about that.
      if (annotations?.of('throughput').some(({ mode }) => mode === 'autoscale' || mode === 'manual')) {
        yield missing('a serverless account');
        return;
      }
      const chosen = saying(design, SERVERLESS).find(
        ({ text }) =>
          !DENIED.test(text) &&
          !PLANNED.test(text) &&
          (!CHOSEN_ELSEWHERE.test(text) || /\ball environments\b/i.test(text)),
      );
      if (!chosen) {
        yield missing('a serverless account');
        return;
      }
      // A table of modes has one of them in each row.
      const isMode = ({ text, at }: { readonly text: string; readonly at: Place }): boolean =>
        text.trimStart().startsWith('|') &&
        design.lines.slice(Math.max(0, at.line - 4), at.line + 3).some((line) => /^\s*\|\W*serverless\b/i.test(line));
      for (const { claim, truth } of NOT_SERVERLESS) {
        const found = saying(design, claim).filter(
          (said) => !DENIED.test(said.text) && !PLANNED.test(said.text) && !isMode(said) && !ELSEWHERE.test(said.text),
        );
        yield* together(found, truth, [chosen.at]);
      }
      const set = containers.find(({ container }) => container.throughput !== undefined);
      if (set)
        yield {
          message: `${set.container.name} has a throughput, which a serverless account doesn't take`,
          at: set.container.places.throughput ?? set.container.at,
          related: [chosen.at],
        };
    },
  },
  {
    id: 'B21',
    title: 'What the free tier covers is enough, if the document counts on it',
    severity: 'warning',
    source: SOURCES.microsoft('Azure Cosmos DB lifetime free tier'),
    why: 'The free tier covers the first 1,000 RU/s and 25 GB of one account of a subscription, for as long as the account exists (ASM-E111). Containers with throughput of their own add up. The rule adds the manual throughput, and the maximum of autoscale, of all containers.',
    hint: 'Share the throughput of the database among the containers, or state what the rest costs.',
    needs: [DESIGN],
    *check({ design, containers }): Iterable<RuleResult> {
      if (!design) return;
      const claims = saying(design, /\bfree[- ]tier\b/i).filter(({ text }) => !DENIED.test(text));
      const [claim] = claims;
      if (!claim) {
        yield missing('a sentence about the free tier');
        return;
      }
      const shared = design.lines.some((line) =>
        /\bshar(e|es|ed|ing)\b[^.]{0,30}\bthroughput\b|\bshared (across|between|among)|\bdatabase[- ]level\b/i.test(
          line,
        ),
      );
      const parts = containers.flatMap(({ container: { name, throughput, places, at } }) =>
        throughput ? [{ name, ru: throughput.max, at: places.throughput ?? at }] : [],
      );
      const total = parts.reduce((all, { ru }) => all + ru, 0);
      if (!shared && total > 1000)
        yield {
          message: `The free tier covers 1,000 RU/s; the containers have ${n(total)}`,
          at: claim.at,
          related: [...claims.slice(1), ...parts].map(({ at }) => at),
          evidence: `${parts.map(({ name, ru }) => `${name} ${n(ru)}`).join(' + ')} = ${n(total)} RU/s`,
        };
    },
  },
  {
    id: 'B22',
    title: 'What a sentence says of autoscale is possible: its maximum, and its price beside manual throughput',
    severity: 'warning',
    source: SOURCES.microsoft('Provision autoscale throughput'),
    why: 'The maximum of autoscale is at least 1,000 RU/s (ASM-E98). "400 RU/s autoscale" is refused; 400 RU/s is the least of manual throughput. In an account with one write region an RU/s of autoscale costs 1.5 times a manual one (ASM-E145), so autoscale from 400 RU/s can’t begin at the price of manual 400 RU/s. B12 checks the containers’ own throughput.',
    hint: 'Write "autoscale, maximum 1,000 RU/s", or "400 RU/s manual".',
    needs: [DESIGN],
    *check({ design, containers }): Iterable<RuleResult> {
      if (!design) return;
      const checked = new Set(
        containers.flatMap(({ container }) =>
          container.throughput === undefined ? [] : [container.places.throughput?.line],
        ),
      );
      const all = saying(design, /\bautoscale\b/i).filter(({ at }) => !checked.has(at.line));
      if (all.length === 0) yield missing('a sentence about autoscale');
      for (const { text, at } of all) {
        const rates = [...text.matchAll(/(\d[\d,]*)\s*(?:[-–]\s*(\d[\d,]*)\s*)?RU\/s/gi)].map(([, low, high]) =>
          Number((high ?? low ?? '').replaceAll(',', '')),
        );
        const [only] = rates;
        if (
          rates.length === 1 &&
          only !== undefined &&
          only < 1000 &&
          !DENIED.test(text) &&
          !/\bmanual|\bmin|\bbilled|\bfloor|\bor\b(?! serverless\b)/i.test(text)
        )
          yield { message: `An autoscale maximum of ${n(only)} RU/s isn’t possible; the least is 1,000`, at };
      }
      yield* together(
        eitherIn(design),
        'Manual throughput begins at 400 RU/s; the maximum of autoscale is at least 1,000',
      );
      const cheap = cheapIn(design);
      yield* together(
        cheap.map(({ scaled }) => scaled),
        'An RU/s of autoscale costs 1.5 times a manual one, so its lowest price is no less than that of the same manual throughput',
        cheap.map(({ manual }) => manual.at),
      );
      const [first, ...others] = rangesOf(design);
      if (first)
        yield {
          message: `With an autoscale maximum of ${n(first.high)} RU/s the least is ${n(first.high / 10)}, not ${n(first.low)}`,
          at: first.at,
          related: [first.maximum, ...others.flatMap(({ at, maximum }) => [at, maximum])],
          evidence: [first, ...others]
            .map(({ low, high }) => `0.1 × ${n(high)} = ${n(high / 10)}, not ${n(low)}`)
            .join('; '),
        };
    },
  },
  {
    id: 'F15',
    title: 'What the document says of TTL is true',
    severity: 'error',
    source: SOURCES.microsoft('Time to Live (TTL) in Azure Cosmos DB'),
    why: 'A TTL counts from the last change of a document, also of documents that are older than the setting. Its deletions take RU, and the latest-version feed doesn’t show them (ASM-E112). A design that rests on the contrary loses documents, or never removes what is derived from them.',
    hint: 'Correct the sentence, and what rests on it.',
    needs: [DESIGN],
    *check({ design }): Iterable<RuleResult> {
      if (!design) return;
      if (!design.lines.some((line) => /\bTTL\b|time to live/i.test(line))) {
        yield missing('a sentence about TTL');
        return;
      }
      for (const { claim, truth, severity } of TTL) {
        const said = saying(design, claim).filter(({ text }) => !DENIED.test(text) && !/all[- ]versions/i.test(text));
        for (const found of together(said, truth)) yield { severity, ...found };
      }
      for (const { at } of saying(design, SAME_FOR_ALL))
        yield {
          severity: 'warning',
          message: 'Each document may have a ttl of its own, so types in one container may live for different times',
          at,
        };
    },
  },
];
