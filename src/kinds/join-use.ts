/** The state of a joined document that a copy was made with. */
export interface JoinUse {
  /** Identifies the joined document: a digest of its identity. */
  readonly ref: string;
  /** Identifies its content: a digest of its ETag, or `none`. */
  readonly mark: string;
  /** Its version, where the feed has delivered it; null before that. */
  readonly version: { readonly epoch: number; readonly lsn: number } | null;
}

export type JoinUses = Readonly<Record<string, JoinUse>>;

/** Joined states without what isn't stored. */
export const usesOf = (joins: JoinUses): JoinUses =>
  Object.fromEntries(Object.entries(joins).map(([name, { ref, mark, version }]) => [name, { ref, mark, version }]));

/** Whether `a` is an older state of the same joined document than `b`. A state that the feed hasn't delivered is oldest. */
export function isOlderUse(a: JoinUse, b: JoinUse): boolean {
  if (a.mark === b.mark || b.version === null) return false;
  if (a.version === null) return true;
  return a.version.epoch === b.version.epoch ? a.version.lsn < b.version.lsn : a.version.epoch < b.version.epoch;
}

/** Compares joined states with stored ones, for joins that name the same document in both. */
export function compareUses(joins: JoinUses, stored: JoinUses | undefined): 'older' | 'same' | 'newer' {
  let changed = false;
  for (const [name, state] of Object.entries(joins)) {
    const before = stored?.[name];
    if (before?.ref === state.ref && isOlderUse(state, before)) return 'older';
    if (before?.ref !== state.ref || before.mark !== state.mark) changed = true;
  }
  return changed ? 'newer' : 'same';
}
