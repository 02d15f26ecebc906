// A field that a document declares, without a value.
import type { Place } from '../model.ts';

export interface Declared {
  readonly field: string;
  readonly array: boolean;
  readonly optional: boolean;
  /** The entity of a diagram, of an item or of a row that has it. */
  readonly entity?: string;
  readonly at: Place;
}
