// Rules that were removed. Their ids are never used again. Old reports and waivers may name them, so `model explain` says
// why they were removed.
import { type Rule, SOURCES } from './rule.ts';

export interface Withdrawn extends Omit<Rule, 'severity' | 'check'> {
  readonly severity: 'withdrawn';
}

const withdrawn = (rule: Pick<Rule, 'id' | 'title' | 'source' | 'why'>): Withdrawn => ({
  ...rule,
  severity: 'withdrawn',
  hint: 'Remove the waivers that name it.',
});

export const WITHDRAWN: readonly Withdrawn[] = [
  withdrawn({
    id: 'A10',
    title: 'More than 10,000 writes a second have an answer about binning',
    source: SOURCES.seed,
    why: 'The rule looked for words such as bin or chunk anywhere in the documents. One such word was enough, and a good answer in other words failed.',
  }),
  withdrawn({
    id: 'A13',
    title: 'All three large-scale questions are answered above 10,000 writes/s',
    source: SOURCES.seed,
    why: 'The rule looked for one word of each question. So it checked that the word occurred, not that the question was answered.',
  }),
  withdrawn({
    id: 'G3',
    title: 'The document allows a copy of every copied field',
    source: 'the modelling prompt’s upstream template',
    why: 'The rule looked for words such as avoid, rarely or behind. G10 checks how old a copy may be, if a pattern states this as a figure.',
  }),
];
