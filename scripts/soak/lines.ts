/** A line of a soak's log, by one process; times of one machine's monotonic clock, milliseconds. */
export type SoakLine =
  | { readonly kind: 'acquired'; readonly at: number; readonly tenure: string; readonly lease: string }
  | {
      readonly kind: 'delivered';
      readonly at: number;
      readonly tenure: string;
      readonly min: string;
      readonly max: string;
      /** Ids with their lsns. */
      readonly changes: readonly (readonly [string, number])[];
    }
  | { readonly kind: 'event'; readonly at: number; readonly name: string; readonly event: Record<string, unknown> };
