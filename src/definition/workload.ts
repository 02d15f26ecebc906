import type { Doc } from './specs.ts';

/** One write of an example's or test's input; what `load(options)` of a pipeline's `input.ts` and `workload.ts` yields. */
export type Step =
  | { readonly container: string; readonly upsert: Doc & { readonly id: string } }
  | {
      readonly container: string;
      readonly delete: { readonly key: readonly (string | number | boolean | null)[]; readonly id: string };
    };

/** An event that somebody sends to an event hub: what an ingest is to find there. */
export interface EventStep {
  readonly hub: string;
  /** Sent as JSON. A `messageId` tells an event that is sent twice from two. */
  readonly send: { readonly body: unknown; readonly partitionKey: string; readonly messageId?: string };
}

export interface LoadOptions {
  /** The same seed yields the same steps. Steps of one document come in the order in which they must be applied. */
  readonly seed: number;
}

/**
 * The shape of the `load` that `input.ts` and `workload.ts` export. They may export `now` too, a date: when the archive's
 * rules look at a history whose dates are fixed.
 */
export type Load = (options: LoadOptions) => AsyncGenerator<Step | EventStep, void, undefined>;
