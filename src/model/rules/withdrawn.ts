// Rules that there were: their numbers are never given again, and who meets one in an old report or waiver is told why.
import { type Rule, SOURCES } from './rule.ts';

export interface Withdrawn extends Omit<Rule, 'severity' | 'check'> {
  readonly severity: 'withdrawn';
}

const withdrawn = (rule: Pick<Rule, 'id' | 'title' | 'source' | 'why'>): Withdrawn => ({
  ...rule,
  severity: 'withdrawn',
  mend: 'Remove the waivers that name it.',
});

export const WITHDRAWN: readonly Withdrawn[] = [
  withdrawn({
    id: 'A10',
    title: 'More than 10,000 writes a second have an answer about binning',
    source: SOURCES.seed,
    why: 'It looked for words such as bin or chunk anywhere in the documents: one of them was enough, and a good answer in other words was none.',
  }),
  withdrawn({
    id: 'A13',
    title: 'All three large-scale questions are answered above 10,000 writes/s',
    source: SOURCES.seed,
    why: 'It looked for a word of each question, so it told who had used the word and not who had answered.',
  }),
  withdrawn({
    id: 'G3',
    title: 'What is copied may be copied',
    source: 'the modelling prompt’s upstream template',
    why: 'It looked for words such as avoid, rarely or behind. How old a copy may be is held by G10, where a pattern says it as a figure.',
  }),
];
