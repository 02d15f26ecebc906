// Facts of the requirements that stand in sentences: how long documents are kept, and how often a pattern is asked for.
import type { Prose, Requirements } from '../documents.ts';
import { namedLike } from '../reader/owners.ts';
import { SECONDS, duration } from '../reader/quantity.ts';

export interface Said {
  /** Milliseconds. */
  readonly value: number;
  readonly text: string;
  readonly line: number;
}

const TIME = String.raw`(?<time>[^.;,]*?\d[^.;,]*)`;
const KEPT: readonly RegExp[] = [
  new RegExp(
    String.raw`\b(?<noun>[\p{L}_]\w*)\s+(?:are|is)\s+(?:kept|retained|deleted|removed)\s+(?:for|after)\s+${TIME}`,
    'giu',
  ),
  new RegExp(
    String.raw`\b(?:keep|retain|delete|remove)\s+(?:each\s+|all\s+|the\s+|an?\s+)?(?<noun>[\p{L}_]\w*)\s+(?:for|after)\s+${TIME}`,
    'giu',
  ),
  new RegExp(String.raw`\b(?<noun>[\p{L}_]\w*)\s+expires?\s+after\s+${TIME}`, 'giu'),
  new RegExp(String.raw`\bretention\s+of\s+(?<noun>[\p{L}_]\w*)\s*(?::|is|=)\s*${TIME}`, 'giu'),
];

const isSentence = ({ kind }: Prose): boolean => kind !== 'cell';

/** `Readings are kept for 90 days.` Milliseconds; each different time once. */
export function keptIn(prose: readonly Prose[], entity: string): Said[] {
  const found = prose.filter(isSentence).flatMap(({ text, at }) =>
    KEPT.flatMap((form) =>
      [...text.replaceAll('`', '').matchAll(form)].flatMap(({ 0: whole, groups }): Said[] => {
        const value = duration(groups?.['time'] ?? '');
        return value !== undefined && namedLike(groups?.['noun'] ?? '', [{ name: entity }])
          ? [{ value, text: whole.trim(), line: at.line }]
          : [];
      }),
    ),
  );
  return found.filter(({ value }, index) => found.findIndex((other) => other.value === value) === index);
}

const PATTERN = /(?:\bpattern\s+#?|\bAP-?|#)0*(?<id>\d+)\b(?<rest>[^.;]*(?:\.\d[^.;]*)*)/giu;
const FIGURE =
  /(?<figure>\d[\d,]*(?:\.\d+)?)\s*(?:times\b|requests?\b|reads?\b|writes?\b|calls?\b)?\s*(?:\/\s?(?<short>s|min|h|d)\b|(?:an?|per|each|every)\s+(?<long>second|minute|hour|day)\b)?(?<after>[^\d]*)/giu;
interface Rates {
  readonly peak: number;
  readonly average: number;
}

/** `Pattern 3 is asked for 50 times a second at the peak, and 10 on average.` The period may be said once. */
export function ratesIn(prose: readonly Prose[], id: string): Rates[] {
  const found = prose.filter(isSentence).flatMap(({ text }) =>
    [...text.matchAll(PATTERN)].flatMap(({ groups }): Rates[] => {
      if (groups?.['id'] !== id) return [];
      let per: number | undefined;
      let peak: number | undefined;
      let average: number | undefined;
      for (const { groups: one } of (groups['rest'] ?? '').matchAll(FIGURE)) {
        const unit = one?.['short'] ?? one?.['long'];
        per = unit === undefined ? per : SECONDS[unit.toLowerCase()];
        if (per === undefined) continue;
        const rate = Number((one?.['figure'] ?? '').replaceAll(',', '')) / per;
        if (/\bpeak|\bat most\b|\bbusiest\b/i.test(one?.['after'] ?? '')) peak ??= rate;
        else if (/\baverage\b|\busually\b/i.test(one?.['after'] ?? '')) average ??= rate;
      }
      return peak === undefined || average === undefined ? [] : [{ peak, average }];
    }),
  );
  return found.filter(
    ({ peak, average }, index) => found.findIndex((one) => one.peak === peak && one.average === average) === index,
  );
}

/**
 * The text, with the rates that only sentences state written into the table: the proposal is written with it, and its cost
 * is that of its documents. Two sentences that differ leave the cell empty, so that it is asked for.
 */
export function withRates(text: string, { patterns, prose }: Pick<Requirements, 'patterns' | 'prose'>): string {
  const lines = text.split('\n');
  for (const { id, rate, cells, at } of patterns) {
    const column = Object.keys(cells).findIndex((header) => /\brps\b|\brate|\bpeak\b|requests/i.test(header));
    const [said, ...others] = rate === undefined ? ratesIn(prose, id) : [];
    if (!said || others.length > 0 || column < 0) continue;
    const row = (lines[at.line - 1] ?? '').split(/(?<!\\)\|/);
    // The row begins with a bar, or without one.
    const place = column + ((row[0] ?? '').trim() === '' ? 1 : 0);
    if (row[place]?.trim() === '') lines[at.line - 1] = row.with(place, ` ${said.peak}/${said.average} `).join('|');
  }
  return lines.join('\n');
}
