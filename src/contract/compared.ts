// A row and a declaration that are compared, and what is said of them.
import type { ProjectionRow } from '../model/documents.ts';
import type { Facts } from '../model/rules/facts.ts';
import type { RuleResult } from '../model/rules/rule.ts';
import type { Contract, Declared } from './declared.ts';

export type ColumnRule = 'G1' | 'G2' | 'G5' | 'G7' | 'G9' | 'G10' | 'G16';
export type Said = Exclude<RuleResult, { readonly missing: string }>;

/** What is compared, and where a finding stands. */
export interface Compared {
  readonly facts: Facts;
  readonly contract: Contract;
  readonly row: ProjectionRow;
  readonly declared: Declared;
}
