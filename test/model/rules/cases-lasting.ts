// Cases of what a document leaves out or supposes: retention, indexes of large fields, lists, derived figures, numbers of
// the service, and places that disagree.
import type { Case, Edit } from './base.ts';

const said = (sentence: string): Edit => ['', sentence];

export const LASTING_CASES: readonly Case[] = [
  {
    rule: 'B24',
    given: [said('Each sign-in with the key /email would be a cross-partition query.')],
    wrong: [['would be', 'is']],
    at: 'Each sign-in',
  },
];
