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

/** A difference with what it was seen by: the same again later, it isn't on its way. */
export type Candidate = Difference & {
  readonly evidence: string;
  /** What must be there, and by whom; absent where nothing must. */
  readonly derived?: Derived;
};
