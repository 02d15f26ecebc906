import type { Doc } from '../../definition/specs.ts';
import type { Derived } from './own-part.ts';

export interface Difference {
  readonly projections: readonly string[];
  readonly container: string;
  /** The sink document's key values and id, as canonical JSON. */
  readonly document: string;
  readonly kind: 'missing' | 'unexpected' | 'different';
  /** Top-level fields that differ. */
  readonly fields: readonly string[];
  readonly expected?: Doc;
  readonly found?: Doc;
}

/** A difference with its evidence. If the same evidence is found again later, no write was on its way. */
export type Candidate = Difference & {
  readonly evidence: string;
  /** The projection and source of the expected document; absent if none is expected. */
  readonly derived?: Derived;
  /** Of a row in a table, whose key has no container: whose it is, as `Change.tenant` has it. */
  readonly tenant?: string;
};
