import { CAPACITY_QUESTIONS } from './k-capacity.ts';
import { DERIVED_QUESTIONS } from './k-derived.ts';
import { KEY_QUESTIONS } from './k-keys.ts';
import { LIFE_QUESTIONS } from './k-life.ts';
import { QUERY_QUESTIONS } from './k-queries.ts';
import { SHAPE_QUESTIONS } from './k-shape.ts';
import { TRUST_QUESTIONS } from './k-trust.ts';
import { WRITE_QUESTIONS } from './k-writes.ts';
import type { Question } from './question.ts';

/** All questions of a review, in the order in which they are asked. */
export const QUESTIONS: readonly Question[] = [
  ...KEY_QUESTIONS,
  ...WRITE_QUESTIONS,
  ...DERIVED_QUESTIONS,
  ...LIFE_QUESTIONS,
  ...SHAPE_QUESTIONS,
  ...QUERY_QUESTIONS,
  ...CAPACITY_QUESTIONS,
  ...TRUST_QUESTIONS,
];
