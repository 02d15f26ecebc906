import { type KeyLevel } from '../base/key-level.ts';
import type { Doc } from './specs.ts';

/** One write of an example's or test's input; what `load(options)` of a pipeline's `input.ts` and `workload.ts` yields. */
export type Step =
  | { readonly container: string; readonly upsert: Doc & { readonly id: string } }
  | {
      readonly container: string;
      readonly delete: { readonly key: readonly KeyLevel[]; readonly id: string };
    };

/** An event that a producer sends to an event hub, for an ingest to read. */
export interface EventStep {
  readonly hub: string;
  /** Sent as JSON. Two events with the same `messageId` are one event that was sent twice. */
  readonly send: { readonly body: unknown; readonly partitionKey: string; readonly messageId?: string };
}

export interface LoadOptions {
  /** The same seed yields the same steps. Steps of one document come in the order in which they must be applied. */
  readonly seed: number;
}

/**
 * The shape of the `load` that `input.ts` and `workload.ts` export. They may also export `now`, a date: the archive's
 * rules use it as the present for a history with fixed dates.
 */
export type Load = (options: LoadOptions) => AsyncGenerator<Step | EventStep, void, undefined>;
