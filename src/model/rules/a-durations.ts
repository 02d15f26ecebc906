// A15: one time in two units.
import { type Rule, SOURCES, n, quoted } from './rule.ts';

const SECONDS: Readonly<Record<string, number>> = {
  second: 1,
  sec: 1,
  minute: 60,
  min: 60,
  hour: 3600,
  day: 86_400,
  week: 604_800,
  month: 2_592_000,
  year: 31_536_000,
  yr: 31_536_000,
};
const TIME = /(\d[\d,_]*(?:\.\d+)?)[\s-]?(second|sec|minute|min|hour|day|week|month|year|yr)s?\b/gi;
/** A time alone in brackets, or after `=`, says the time before it in another unit. */
const AGAIN =
  /(?:[(（]\s*[~≈]?\s*|=\s*[~≈]?)\d[\d,_.]*[\s-]?(?:second|sec|minute|min|hour|day|week|month|year|yr)s?\s*(?:in \w+)?\s*(?:[)）]|$|[,;.])/i;
const COMMENTED = /["']?ttl["']?\s*[:=]\s*(\d[\d_]*)\s*,?\s*(?:\/\/|#)\s*(?<rest>.*)$/i;

const secondsOf = (text: string): { readonly seconds: number; readonly unit: string }[] =>
  [...text.matchAll(TIME)].map(([, number = '', unit = '']) => ({
    seconds: Number(number.replaceAll(/[,_]/g, '')) * (SECONDS[unit.toLowerCase()] ?? 1),
    unit: unit.toLowerCase(),
  }));

/** A year may have 365 or 366 days, and a month 28 to 31. */
const agree = (one: number, other: number): boolean => Math.abs(one - other) <= 0.035 * Math.max(one, other);

export const DURATIONS: readonly Rule[] = [
  {
    id: 'A15',
    title: 'A time that is written in two units is one time',
    severity: 'error',
    source: SOURCES.ours,
    why: 'The code takes one of the two figures, and the reader believes the other. The rule compares them where a text about TTL or retention has two times and one of them is alone in brackets or after an equals sign, and where `"ttl": 2592000` has a comment with a time.',
    hint: 'Correct the wrong figure: a day has 86,400 seconds, a year 365 days.',
    *check({ prose, design, requirements }) {
      for (const { text, label, at } of prose) {
        const all = `${label ?? ''}: ${text}`;
        if (!/\bttl\b|retention|retain|time to live|expir/i.test(all) || !AGAIN.test(all)) continue;
        const [one, other, third] = secondsOf(all);
        if (one && other && !third && one.unit !== other.unit && !agree(one.seconds, other.seconds))
          yield {
            message: `The two times aren't equal: ${quoted(all)}`,
            at,
            evidence: `${n(one.seconds)} s ≠ ${n(other.seconds)} s`,
          };
      }
      for (const document of [requirements, design]) {
        for (const [index, line] of (document?.lines ?? []).entries()) {
          const match = COMMENTED.exec(line);
          const [said, more] = match ? secondsOf(match.groups?.['rest'] ?? '') : [];
          const seconds = Number((match?.[1] ?? '').replaceAll('_', ''));
          if (said && !more && seconds > 0 && !agree(seconds, said.seconds))
            yield {
              message: `ttl is ${n(seconds)} s, and the comment says ${n(said.seconds)} s`,
              at: { file: document?.file ?? '', line: index + 1 },
            };
        }
      }
    },
  },
];
