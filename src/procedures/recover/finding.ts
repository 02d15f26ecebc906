/** `recover`: a step of the recovery corrects it. `you`: a person must. `unknown`: Millrace can't tell what happened. */
export type Remedy = 'recover' | 'you' | 'unknown';

/** Something that does not fit together, with the observation that shows it. */
export interface RecoveryFinding {
  readonly about: string;
  readonly what: string;
  readonly remedy: Remedy;
  /** The command or the option that resolves it, for `you` and `unknown`. */
  readonly hint?: string;
  /** The containers for one of which the operator must say where its writers write. */
  readonly gates?: readonly string[];
}
